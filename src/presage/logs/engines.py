"""Engines that read a log and join its parts: DuckDB, or Spark for logs too large for one machine."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import duckdb

from presage import settings
from presage.errors import DataError
from presage.logs.cleaning import Exclusions
from presage.logs.columns import CELL, FLAG, LABEL, NUMBER, TEXTS, TIME, WHOLE, ColumnKind, WantedColumn, check_columns
from presage.logs.csv_errors import about_lines, one_line, unreadable_log
from presage.logs.log_condition import Condition, read_condition
from presage.logs.sources import SEPARATOR, Source, cleaned, open_source
from presage.logs.tables import quoted, sql_text
from presage.logs.time_columns import NO_TIMES, TimeColumn, TimeRules, check_rules, check_times
from presage.task.columns import EventColumns
from presage.task.features import Category, SetFeature
from presage.task.signals import CountedEvents, First, Labelled
from presage.task.task import Task

FLOATS = ("FLOAT", "DOUBLE", "DECIMAL")


def value(kind: ColumnKind, column: str, declared: str, separator: str = ",") -> str:
    """SQL for a value that is no time: labels as words, sets as lists of different words."""
    if kind in (LABEL, CELL):
        return _label(column, declared)
    if kind is TEXTS:
        return _texts(column, declared, separator)
    if kind is FLAG:
        return f"try_cast({column} AS BOOLEAN)"
    return kind.value(column, declared)


def _label(column: str, declared: str) -> str:
    if declared.startswith(FLOATS):  # whole numbers in which a gap has made floats of all
        whole = f"{column} = floor({column}) AND abs({column}) < 1e15"
        text = f"CASE WHEN {whole} THEN {column}::BIGINT::VARCHAR ELSE {column}::VARCHAR END"
        return f"CASE WHEN isfinite({column}::DOUBLE) THEN {text} END"
    return f"nullif(trim({column}::VARCHAR), '')"


def _texts(column: str, declared: str, separator: str) -> str:
    parts = column
    if not declared.endswith("[]"):
        parts = f"string_split({column}::VARCHAR, {sql_text(separator)})"
    trimmed = f"list_transform({parts}, lambda word: trim(word::VARCHAR))"
    return f"coalesce(list_distinct(list_filter({trimmed}, lambda word: word <> '')), [])::VARCHAR[]"


@contextmanager
def one_thread(connection: duckdb.DuckDBPyConnection, alone: bool) -> Iterator[None]:
    """One thread for a while, if `alone`: several may read the second of two files before the first."""
    threads = connection.execute("SELECT current_setting('threads')").fetchall()[0][0] if alone else None
    if alone:
        connection.execute("SET threads = 1")
    try:
        yield
    finally:
        if alone:
            connection.execute(f"SET threads = {threads}")


class LogReading(NamedTuple):
    """How the files of a log are read, as far as its task and the caller say so."""

    times: TimeRules = TimeRules()
    where: str | None = None
    skip_bad_lines: bool = False
    declared: Mapping[str, frozenset[str]] = MappingProxyType({})  # by column, the words that the task means by name
    files: tuple[Path, ...] = ()  # the logs: all that may be read while `where` is worked out


def reading_of(task: Task, source: Any, moments: Any = None, *, skip_bad_lines: bool = False) -> LogReading:
    """How a log and, where a task of events has one, its log of moments are read."""
    log, declared = task.log, dict[str, frozenset[str]]()
    if moments is None and isinstance(log, EventColumns) and log.moments:
        moments = task.folder / log.moments
    named = [(s.source.column, s.values) for s in task.signals if isinstance(s.source, Labelled)]
    named += [(f.column, f.values) for f in task.instance if isinstance(f, Category | SetFeature)]
    if isinstance(log, EventColumns) and log.kind:
        sources = [signal.source for signal in task.signals]
        named += [(log.kind, source.kinds) for source in sources if isinstance(source, CountedEvents | First)]
        named += [(log.kind, source.unless) for source in sources if isinstance(source, CountedEvents)]
        named += [(log.kind, log.moment)]
    for column, values in named:
        declared[column] = declared.get(column, frozenset()) | frozenset(values)
    files = tuple(Path(one) for one in (source, moments) if isinstance(one, str | Path))
    return LogReading(TimeRules(log.time_format, log.time_zone), log.where, skip_bad_lines, declared, files)


MISSING = ("NaN", "nan", "NULL", "null", "NA", "N/A", "n/a", "<NA>", "None", "\\N")
"""What stands in a CSV where nothing is, beside nothing at all; unless a task declares it among the values."""


def _present(column: str, declared: frozenset[str], measured: bool) -> str:
    """SQL for a text of a CSV, NULL where it means that there is none; `measured` is a number or a time."""
    missing = ", ".join(sql_text(word) for word in (*MISSING, *NO_TIMES * measured) if word not in declared)
    return f"CASE WHEN strlen({column}) < 8 AND trim({column}) IN ({missing}) THEN NULL ELSE {column} END"


ENGINES = ("duckdb", "spark")


class LogEngine(Protocol):
    """What reading a log asks of an engine."""

    @property
    def left_out(self) -> Exclusions:
        """What was left out while reading: lines that cannot be read, and rows that the task does not mean."""

    def read(self, name: str, log: Any, wanted: tuple[WantedColumn, ...]) -> str:
        """What errors call the log, whose wanted columns and "row" now stand, checked, under `name`."""

    def ask(self, query: str) -> list[int | None]:
        """The one row of whole numbers that a query gives."""

    def words(self, query: str) -> list[str]:
        """The one column of words that a query gives."""

    def join(self, query: str) -> None:
        """Nothing; what the query gives now stands in the DuckDB database under `joined`."""


@contextmanager
def engine_called(
    name: str,
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    session: Any = None,
    reading: LogReading = LogReading(),  # noqa: B008
) -> Iterator[LogEngine]:
    """The engine of that name. It may keep files in `folder`; Spark takes a `session`, or starts one of its own."""
    if settings.one_of("engine", name, ENGINES) == "duckdb":
        yield DuckDBEngine(connection, reading)
        return
    asked = {"log.where": reading.where, "log.time_format": reading.times.formats, "log.time_zone": reading.times.zone,
             "skip_bad_lines": reading.skip_bad_lines}  # fmt: skip
    for key, value_asked in asked.items():
        if value_asked:
            raise DataError(f"the engine spark knows no {key}", value_asked, "use the engine duckdb")
    from presage.logs.spark import spark_engine  # noqa: PLC0415 only those who have Spark can import it

    with spark_engine(connection, folder, session) as engine:
        yield engine


class DuckDBEngine:
    """DuckDB, within this process."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, reading: LogReading) -> None:
        self.connection, self.reading = connection, reading
        self.left_out = Exclusions({}, {})
        check_rules(connection, reading.times)
        if reading.where:
            self._lock()

    def read(self, name: str, log: Any, wanted: tuple[WantedColumn, ...]) -> str:
        """What errors call the log, whose wanted columns and "row" now stand, checked, under `name`.

        A log that must be parsed is parsed once and kept; others stay where they are.
        """
        columns, skip = list(dict.fromkeys(one.column for one in wanted)), self.reading.skip_bad_lines
        source = open_source(self.connection, log, f"given_{name}", columns, skip=skip)
        check_header(source, columns)
        check_columns(source.name, source.types, wanted)
        where = self.reading.where if name != "moments" else None  # it is about the columns of the log itself
        condition = self._condition(source, where)
        try:
            try:
                self._stand(name, source, wanted, condition)
            except duckdb.Error as error:
                if source.cheap or not about_lines(error) or source.bad.total:
                    raise
                self.connection.execute(f"DROP TABLE IF EXISTS raw_{name}")
                source = cleaned(self.connection, source, skip)
                self._stand(name, source, wanted, condition)
        except duckdb.ConversionException as error:
            if not where:
                raise unreadable_log(source.name, source.form, error) from error
            remedy = "use try_cast, which gives NULL where it cannot be done"
            raise DataError(
                f"log.where cannot be worked out on every row of {source.name}", one_line(error), remedy
            ) from error
        except duckdb.Error as error:
            raise unreadable_log(source.name, source.form, error) from error
        self._count(name, source, where)
        return source.name

    def _condition(self, source: Source, where: str | None) -> Condition | None:
        if where is None:
            return None
        return read_condition(self.connection, where, source.name, source.types, source.relation)

    def _stand(self, name: str, source: Source, wanted: tuple[WantedColumn, ...], condition: Condition | None) -> None:
        """Nothing; the wanted columns of the rows that the condition keeps stand, checked, under `name`."""
        # As text NDJSON's times keep their zones; what DuckDB guessed of them from the first lines does not.
        types = {
            c: source.types[c] for c in (*(one.column for one in wanted), *(condition.columns if condition else ()))
        }
        if source.form == "NDJSON":
            types = {c: "VARCHAR" if _is_time(declared) else declared for c, declared in types.items()}
        values = {one.name: self._value(one, types[one.column]) for one in wanted}
        ours = "="  # begins the names of columns that we add: none of the log's does
        while any(column.startswith(ours) for column in source.types):
            ours += "="
        kept, row = quoted(f"{ours} kept"), quoted(f"{ours} row")
        relation, test = source.typed(types), f"{condition.sql if condition else 'true'} AS {kept}"
        if not source.cheap:
            measured = {one.column for one in wanted if one.kind in (TIME, NUMBER, WHOLE)}
            present = {c: _present(quoted(c), self._declared(c), c in measured) for c in types}
            present = {c: quoted(c) for c in types} if source.form == "NDJSON" else present
            chosen = [f"{sql} AS {quoted(c)}" for c, sql in present.items()]
            parsed = {one.name: quoted(f"{ours} {one.name}") for one in wanted if one.kind is TIME}  # costly: done once
            chosen += [f"{values[theirs]} AS {column}" for theirs, column in parsed.items()]
            query = f"SELECT {', '.join(chosen)}, {test} FROM {relation}"
            with one_thread(self.connection, len(source.files) > 1):
                self.connection.execute(f"CREATE TABLE raw_{name} AS {query}")
            values |= parsed
            numbered = f"SELECT *, row_number() OVER () AS {row} FROM raw_{name}"
        else:
            numbered = f"SELECT *, {test}, row_number() OVER () AS {row} FROM {relation}"
        filtered = f"(SELECT * FROM ({numbered}) WHERE {kept})" if condition else f"({numbered})"
        self._check(source, filtered, wanted, types, values)
        standing = ", ".join(f"{sql} AS {column}" for column, sql in values.items())
        self.connection.execute(f'CREATE VIEW {name} AS SELECT {row} AS "row", {standing} FROM {filtered}')

    def _check(
        self,
        source: Source,
        relation: str,
        wanted: tuple[WantedColumn, ...],
        types: Mapping[str, str],
        values: Mapping[str, str],
    ) -> None:
        """Nothing, or the error of columns in which times or numbers are not written as they should be."""
        times = {one.column: one for one in wanted if one.kind is TIME}.values()
        written = [
            TimeColumn(one.column, one.key, types[one.column], values[one.name], one.key.endswith(".happened_at"))
            for one in times
        ]
        check_times(self.connection, source.name, relation, written, self.reading.times)
        for one in wanted:
            if one.kind in (NUMBER, WHOLE) and types[one.column] == "VARCHAR":
                self._refuse_commas(source, relation, one.column)

    def _refuse_commas(self, source: Source, relation: str, column: str) -> None:
        """Nothing, or the error of a column of numbers in which one has a decimal comma.

        To leave out those rows would leave out all numbers but whole ones.
        """
        comma = (
            f"contains({quoted(column)}, ',') AND regexp_full_match(trim({quoted(column)}), '[+-]?\\d[\\d.]*(,\\d+)+')"
        )
        found = f"SELECT {quoted(column)} FROM {relation} WHERE {comma} LIMIT 1"
        for (example,) in self.connection.execute(found).fetchall():
            remedy = "export them like 1234.5, with a point and without separators of thousands"
            raise DataError(f"column {column} of {source.name} writes numbers with a comma", example, remedy)

    def _value(self, one: WantedColumn, declared: str) -> str:
        if one.kind is TIME:
            return f"epoch_us({self.reading.times.moment(quoted(one.column), declared)})"
        return value(one.kind, quoted(one.column), declared, one.separator)

    def _declared(self, column: str) -> frozenset[str]:
        return self.reading.declared.get(column, frozenset())

    def _count(self, name: str, source: Source, where: str | None) -> None:
        """Nothing; what was left out of this log is counted. Refused if the condition leaves nothing."""
        counts, examples = dict(self.left_out.counts), dict(self.left_out.examples)
        if source.bad.total:
            reason = "lines that cannot be read"
            counts[reason] = counts.get(reason, 0) + source.bad.total
            examples[reason] = "; ".join(source.bad.first)
        if where:
            base = f"raw_{name}" if not source.cheap else source.relation
            total, kept = self.ask(f"SELECT (SELECT count(*) FROM {base}), (SELECT count(*) FROM {name})")
            if total and not kept:
                remedy = f"correct it; the log has {total:,} rows"
                raise DataError(f"log.where leaves no row of {source.name}", where, remedy)
            counts["rows that log.where leaves out"] = (total or 0) - (kept or 0)
        self.left_out = Exclusions(counts, examples)

    def _lock(self) -> None:
        """Nothing; from now on only the logs and our own folder can be read or written, and no setting changed.

        A condition cannot reach further in the first place: this is in case that it can.
        """
        spill = self.connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
        found = [p if p.exists() else Path(str(p).rpartition(SEPARATOR)[0] or p) for p in self.reading.files]
        folders = [Path(spill).parent, *(path for path in found if path.is_dir())]
        files = [path for path in found if not path.is_dir()]
        for setting, paths in (("allowed_directories", folders), ("allowed_paths", files)):
            listed = ", ".join(sql_text(str(path)) for path in paths)
            self.connection.execute(f"SET {setting} = [{listed}]")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def ask(self, query: str) -> list[int | None]:
        """The one row of whole numbers that a query gives."""
        return [None if one is None else int(one) for one in self.connection.execute(query).fetchall()[0]]

    def words(self, query: str) -> list[str]:
        """The one column of words that a query gives."""
        return [str(word) for (word,) in self.connection.execute(query).fetchall()]

    def join(self, query: str) -> None:
        """Nothing; what the query gives now stands in the DuckDB database under `joined`."""
        self.connection.execute(f"CREATE TABLE joined AS {query}")


def check_header(source: Source, columns: Collection[str]) -> None:
    """Nothing, or the error of a column that is wanted and there twice, in whatever letters."""
    names = [name.strip().lower() for name in source.header]
    for column in columns:
        if names.count(column.strip().lower()) > 1:
            wrong = f"{source.name} has more than one column {column}"
            raise DataError(wrong, list(source.header), "rename one of them, and export it again")


def _is_time(declared: str) -> bool:
    return declared.startswith(("TIMESTAMP", "DATE", "TIME"))
