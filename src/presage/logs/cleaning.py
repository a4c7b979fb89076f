"""What is wrong with the rows of a joined log: refused in one line, or left out and counted by reason."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import duckdb

from presage.errors import DataError
from presage.logs.columns import feature_name
from presage.logs.signals import Fate
from presage.logs.tables import sql_text
from presage.task.columns import EventColumns, PredictionColumns
from presage.task.features import Category, Number, SetFeature
from presage.task.signals import HappenedAt, Signal
from presage.task.task import Task


class Exclusions(NamedTuple):
    """How many were left out for each reason, and one of them by name where they have names.

    Rows that were kept though a signal of theirs did not come in time are counted too; `kept` says what was made of
    that signal instead.
    """

    counts: dict[str, int]
    examples: dict[str, str]
    kept: Mapping[str, str] = MappingProxyType({})
    remedies: Mapping[str, str] = MappingProxyType({})  # by reason: what would keep them

    def lines(self) -> list[str]:
        """One line to print for each reason that left something out.

        >>> left_out({"shallow clones": ["a", "b"], "empty repositories": [], "commits after the snapshot": 7}).lines()
        ['shallow clones: 2, such as a', 'commits after the snapshot: 7']
        """
        return [self._line(reason) for reason, count in self.counts.items() if count]

    def told(self) -> list[str]:
        """The same lines, each with what became of those it counts.

        >>> Exclusions({"rows without a time": 2, "outcome came late": 1}, {}, {"outcome came late": "censored"}).told()
        ['left out: rows without a time: 2', 'censored: outcome came late: 1']
        """
        reasons = [reason for reason, count in self.counts.items() if count]
        hints = {reason: f" ({self.remedies[reason]})" for reason in reasons if reason in self.remedies}
        return [f"{self.kept.get(r, 'left out')}: {self._line(r)}{hints.get(r, '')}" for r in reasons]

    def plus(self, other: "Exclusions") -> "Exclusions":
        """Both, these first."""
        remedies = {**self.remedies, **other.remedies}
        kept = {**self.kept, **other.kept}
        return Exclusions(self.counts | other.counts, self.examples | other.examples, kept, remedies)

    def _line(self, reason: str) -> str:
        example = f", such as {self.examples[reason]}" if reason in self.examples else ""
        return f"{reason}: {self.counts[reason]:,}{example}"


def left_out(found: Mapping[str, Sequence[str] | int]) -> Exclusions:
    """Exclusions from the names, or the number, of what was left out for each reason."""
    counts = {reason: one if isinstance(one, int) else len(one) for reason, one in found.items()}
    examples = {reason: one[0] for reason, one in found.items() if not isinstance(one, int) and one}
    return Exclusions(counts, examples)


FATES = {
    Fate.SILENT: "{} did not come within {}",
    Fate.OPEN: "{} not yet known at the end of the log",
    Fate.LATE: "{} came later than {}",
    Fate.UNDATED: "{} has a value but no moment at which it became known",
}


class CleanedLog(NamedTuple):
    """How many rows there were and are left, and what was left out."""

    rows: int
    kept: int
    excluded: Exclusions


def clean_log(connection: duckdb.DuckDBPyConnection, task: Task, name: str, whole: bool = True) -> CleanedLog:
    """What is left of `joined`, which now stands under `kept`; rows that cannot be right are counted by reason.

    In a `whole` log every signal must become known at least once.
    """
    _check_labels(connection, task, name)
    _repeated(connection, task)
    reasons = dict(_reasons(task))
    cases = " ".join(f"WHEN {wrong} THEN {place}" for place, wrong in enumerate(reasons.values()))
    reason = f"CASE {cases} ELSE -1 END"
    found = connection.execute(f'SELECT {reason} AS reason, count(*), min("row") FROM joined GROUP BY 1').fetchall()
    total = sum(count for _, count, _ in found)
    if not total:
        raise DataError(f"{name} holds no predictions", 0, "give a log with at least one")
    by_reason = {place: (count, row) for place, count, row in found}
    kept = by_reason.pop(-1, (0, 0))[0]
    names = list(reasons)
    counts = {names[place]: by_reason[place][0] for place in sorted(by_reason)}
    examples = {names[place]: f"row {by_reason[place][1]:,}" for place in sorted(by_reason)}
    if not kept:
        raise DataError(
            f"every row of {name} had to be left out", counts, "correct the log, or the columns of the task"
        )
    connection.execute(f"CREATE VIEW kept AS SELECT * FROM joined WHERE {reason} = -1")
    fates = _fates(connection, task, name, whole)
    return CleanedLog(total, kept, Exclusions(counts | fates, examples, _kept_as(task), _remedies(task)))


def _check_labels(connection: duckdb.DuckDBPyConnection, task: Task, name: str) -> None:
    """Nothing, or the error of what cannot be a value of a signal."""
    for n, signal in enumerate(task.signals):
        if isinstance(task.log, PredictionColumns):
            odd = f"SELECT min(o{n}), count(*) FROM joined WHERE o{n} IS NOT NULL"
            value, rows = connection.execute(odd).fetchall()[0]
            if rows:
                wrong, remedy = _odd_values(connection, task, signal, n)
                lines = f"{rows:,} row{'s' * (rows > 1)} in all"
                raise DataError(wrong.format(name), value, f"{lines}: {remedy}")


def _odd_values(connection: duckdb.DuckDBPyConnection, task: Task, signal: Signal, n: int) -> tuple[str, str]:
    """What is wrong with the values of a signal that stand under o<n>, and what to do."""
    path = task.path(signal)
    if isinstance(signal.source, HappenedAt):
        remedy = "write a time where it happened, and nothing where it did not"
        return f"column {signal.source.column} of {{}} holds what is no time", remedy
    column = signal.columns["column"]
    if signal.cuts:
        return f"column {column} of {{}} holds what is no number", "correct the log, or leave the value empty"
    wrong = f"column {column} of {{}} holds values outside {path}.values"
    number = f"try_cast(o{n} AS DOUBLE)"
    looked = f"count(*) - count({number}), count(DISTINCT {number}), count(*) FILTER ({number} <> floor({number}))"
    words, different, fractions = connection.execute(f"SELECT {looked} FROM joined WHERE o{n} IS NOT NULL").fetchall()[
        0
    ]
    if not words and (fractions or different > MOST_NAMED):
        return wrong, f'this column is numeric: cut it with edges, such as {path}.edges = "quantiles:4"'
    return wrong, "add to it what is missing, or correct the log"


MOST_NAMED = 20
"""Different whole numbers that may still be names of values; beyond it they are rather numbers to cut."""


def _repeated(connection: duckdb.DuckDBPyConnection, task: Task) -> None:
    """Nothing; rows that give an id again, or the same one later, now stand under `repeated`."""
    if task.log.id is None:
        connection.execute('CREATE TABLE repeated ("row" BIGINT)')
        return
    twice = "SELECT id FROM joined WHERE id IS NOT NULL AND shown_at IS NOT NULL GROUP BY id HAVING count(*) > 1"
    nth = 'row_number() OVER (PARTITION BY id ORDER BY shown_at, "row")'
    again = f'SELECT "row", {nth} AS nth FROM (SELECT id, shown_at, "row" FROM joined SEMI JOIN ({twice}) USING (id))'
    connection.execute(f'CREATE TABLE repeated AS SELECT "row" FROM ({again}) WHERE nth > 1')


def _reasons(task: Task) -> Iterator[tuple[str, str]]:
    """Why a row may be left out, in words and in SQL."""
    log = task.log
    needed = {"shown_at": log.shown_at, "id": log.id, "grp": log.group}
    if isinstance(log, EventColumns):
        needed |= {"subject": log.subject, "instance": log.instance}
    for ours, column in needed.items():
        if column is not None:
            yield f"rows without a valid {column}", f"{ours} IS NULL"
    yield from feature_reasons(task)
    for n, signal in enumerate(task.signals):
        yield f"rows whose {signal.name} was known before the prediction", f"w{n} = {Fate.EARLY}"
    if log.id is not None:
        yield repeats(log.id), '"row" IN (FROM repeated)'


def repeats(column: str) -> str:
    """Why rows are left out that give an id again."""
    return f"rows that repeat the {column} of an earlier one"


def feature_reasons(task: Task) -> Iterator[tuple[str, str]]:
    """Why the features of a row may be no good, in words and in SQL."""
    for place, feature in enumerate(task.instance):
        ours = feature_name(place)
        if feature.missing is None and not isinstance(feature, SetFeature):
            yield f"rows without a valid {feature.column}", f"{ours} IS NULL"
        if isinstance(feature, Number) and feature.beyond and not feature.clips:
            bounds = ((feature.least, "<"), (feature.most, ">"))
            wrong = " OR ".join(f"{ours} {sign} {bound}::DOUBLE" for bound, sign in bounds if bound is not None)
            yield out_of_bounds(feature), f"coalesce({wrong}, false)"


def out_of_bounds(feature: Number) -> str:
    """Why rows are left out whose number the task refuses."""
    return f"rows whose {feature.column} is {feature.beyond}"


def _remedies(task: Task) -> dict[str, str]:
    """What would keep rows in which a feature is empty or out of bounds, by reason."""
    found = {}
    for one in task.instance:
        if not isinstance(one, SetFeature) and one.missing is None:
            found[f"rows without a valid {one.column}"] = f"to keep them, declare instance.{one.name}.missing"
        if isinstance(one, Number):
            found[out_of_bounds(one)] = f'to keep them, declare instance.{one.name}.outside = "clip"'
    return found


def _fates(connection: duckdb.DuckDBPyConnection, task: Task, name: str, whole: bool) -> dict[str, int]:
    """How often each signal stayed unknown and why; refused where it always did in a whole log."""
    counts: dict[str, int] = {}
    columns = ", ".join(f"w{n}" for n in range(len(task.signals)))
    combined = connection.execute(f"SELECT {columns}, count(*) FROM kept GROUP BY ALL").fetchall()
    for n, signal in enumerate(task.signals):
        found = {fate: sum(row[-1] for row in combined if row[n] == fate) for fate in Fate}
        found = {fate: count for fate, count in found.items() if count}
        known = found.get(Fate.KNOWN, 0) + (found.get(Fate.ABSENT, 0) + found.get(Fate.LATE, 0)) * bool(signal.absent)
        told = {why.format(signal.name, signal.horizon): found[fate] for fate, why in FATES.items() if fate in found}
        if whole and not known:
            remedy = f"check its columns and horizon ({signal.horizon}), or give a longer log"
            said = "; ".join(f"{reason}: {count:,}" for reason, count in told.items())
            raise DataError(f"no {signal.name} in {name} ever becomes known", said, remedy)
        counts |= told
    return counts


def _kept_as(task: Task) -> dict[str, str]:
    """What is made of a signal that did not come in time, by reason; its row is kept."""
    found = {}
    for signal in task.signals:
        for fate, why in FATES.items():
            late = fate == Fate.LATE and signal.absent
            found[why.format(signal.name, signal.horizon)] = f"taken as {signal.absent}" if late else "censored"
    return found


def check_values(connection: duckdb.DuckDBPyConnection, task: Task, name: str) -> None:
    """Nothing, or the error of a category outside the values that the task declares."""
    for place, feature in enumerate(task.instance):
        if isinstance(feature, Category | SetFeature) and feature.values:
            ours = feature_name(place)
            column = ours if isinstance(feature, Category) else f"unnest({ours})"
            listed = ", ".join(sql_text(value) for value in feature.values)
            query = f"SELECT v FROM (SELECT {column} AS v FROM kept) WHERE v NOT IN ({listed}) LIMIT 1"
            for (value,) in connection.execute(query).fetchall():
                remedy = f"add it to instance.{feature.name}.values, or correct the log"
                raise DataError(f"column {feature.column} of {name} holds a value not declared", value, remedy)
