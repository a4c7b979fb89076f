"""Times of a log as they are written: with a zone or without, in a format of their own, or as a count since 1970."""

from collections.abc import Sequence
from typing import NamedTuple

import duckdb

from presage.errors import DataError
from presage.logs.columns import LATEST, TIME, WHOLE_TYPES, flag_remedy
from presage.logs.tables import quoted, sql_text
from presage.settings import nearest
from presage.task.columns import UNITS_SINCE_1970

CLOCK = r"\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|UTC|GMT|[+-]\d\d(:?\d\d)?|[A-Za-z]+/[A-Za-z_/]+)$"
NO_TIMES = ("-", "--", "?")
"""What stands in exports where there is no time; beside what means "missing" everywhere."""
FORMATS = (
    "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%d-%m-%Y", "%d-%m-%Y %H:%M:%S", "%d %b %Y",
    "%b %d, %Y", "%d/%b/%Y:%H:%M:%S %z", "%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y", "%Y%m%d%H%M%S",
    "%Y%m%d", "%Y%m%dT%H%M%S", "%Y/%m/%d %H:%M:%S", "%Y.%m.%d",
)  # fmt: skip
"""Formats to suggest, by an example."""


MOST_FLAGS = 5
"""Different words that a column which says whether something happened may hold."""


class TimeRules(NamedTuple):
    """How the times of a log are written, as far as its task says so."""

    formats: tuple[str, ...] = ()
    zone: str | None = None

    def moment(self, column: str, declared: str) -> str:
        """SQL for a moment in UTC (a TIMESTAMP with or without its zone), NULL where there is none."""
        if declared == "TIMESTAMP WITH TIME ZONE":
            return f"CASE WHEN isfinite({column}) THEN {column} END"
        if declared.startswith(("TIMESTAMP", "DATE")):  # UTC; by way of a zone it would take thrice the time
            moment = self._local(f"{column}::TIMESTAMP")
            return f"CASE WHEN isfinite({column}::TIMESTAMP) THEN {moment} END"
        if self.formats:
            moment = f"coalesce({', '.join(self._formatted(column, each) for each in self.formats)})"
        elif self.zone and declared.startswith("VARCHAR"):
            local = self._local(f"try_cast({column} AS TIMESTAMP)")
            moment = f"CASE WHEN {zoned(column)} THEN try_cast({column} AS TIMESTAMPTZ) ELSE {local} END"
            moment = f"coalesce({moment}, {_since_1970(column, 'seconds')})"
        else:
            return TIME.value(column, declared)
        return f"CASE WHEN isfinite({moment}) THEN {moment} END"

    def says_zone(self, column: str) -> str:
        """SQL that says whether a text tells its zone."""
        if not self.formats:
            return zoned(column)
        told = [self._formatted(column, each) for each in self.formats if _tells_zone(each)]
        return f"coalesce({', '.join(told)}) IS NOT NULL" if told else "false"

    def _formatted(self, column: str, each: str) -> str:
        if each in UNITS_SINCE_1970:
            return _since_1970(column, each)
        parsed = f"try_strptime(trim({column}::VARCHAR), {sql_text(each)})"
        return f"{parsed}::TIMESTAMPTZ" if _tells_zone(each) else self._local(parsed)

    def _local(self, moment: str) -> str:
        """A moment without a zone, in UTC; as TIMESTAMPTZ, so that all formats have one type."""
        zone = self.zone or ("UTC" if self.formats else None)
        return f"timezone({sql_text(zone)}, {moment})" if zone else moment


def _tells_zone(each: str) -> bool:
    return each in UNITS_SINCE_1970 or "%z" in each or "%Z" in each


def _since_1970(column: str, unit: str) -> str:
    """SQL for a whole number of units since 1970, NULL where it would be centuries away."""
    number, each = f"try_cast({column} AS HUGEINT)", UNITS_SINCE_1970[unit]
    inside = f"abs({number}) < {LATEST * 1_000_000 // each if each > 0 else LATEST * 1_000_000 * -each}"
    us = f"{number} * {each}" if each > 0 else f"{number} // {-each}"
    return f"CASE WHEN {inside} THEN make_timestamp(({us})::BIGINT)::TIMESTAMPTZ END"


def zoned(column: str) -> str:
    """SQL that says whether an ISO time in a text tells its zone."""
    return f"regexp_matches(trim({column}::VARCHAR), '{CLOCK}')"


def check_rules(connection: duckdb.DuckDBPyConnection, rules: TimeRules) -> None:
    """Nothing, or the error of a zone or a format that DuckDB does not know."""
    if rules.zone:
        names = [str(name) for (name,) in connection.execute("SELECT name FROM pg_timezone_names()").fetchall()]
        if rules.zone not in names:
            near = nearest(rules.zone, names)
            remedy = near if near.startswith("did you mean") else "name a place, such as Europe/Berlin, or UTC"
            raise DataError("log.time_zone is unknown", rules.zone, remedy)
    for each in rules.formats:
        if each not in UNITS_SINCE_1970:
            try:
                connection.execute(f"SELECT try_strptime('', {sql_text(each)})").fetchall()
            except duckdb.Error as error:
                remedy = "write it as for strptime, such as %d.%m.%Y %H:%M"
                raise DataError("log.time_format is no format of times", each, remedy) from error


class TimeColumn(NamedTuple):
    """A column of times: what it is called in the log and in the task, its type, and SQL for its parsed moments.

    In a column of moments of success words may say that there was none; to read those is for others to refuse.
    """

    column: str
    key: str
    declared: str
    parsed: str
    may_hold_words: bool = False


def check_times(
    connection: duckdb.DuckDBPyConnection, name: str, relation: str, columns: Sequence[TimeColumn], rules: TimeRules
) -> None:
    """Nothing, or the error that times are mostly unreadable, or that some say their zone and others do not."""
    with_zone: dict[str, str] = {}
    without: dict[str, str] = {}
    for one in columns:
        told = one.declared if one.declared == "TIMESTAMP WITH TIME ZONE" else None
        plain = one.declared if one.declared.startswith(("TIMESTAMP", "DATE")) and not told else None
        if not told and not plain:
            told, plain = _text_times(connection, name, relation, one, rules)
        with_zone |= {one.column: told} if told else {}
        without |= {one.column: plain} if plain else {}
    if with_zone and without and not rules.zone:
        (there, told), (here, plain) = next(iter(with_zone.items())), next(iter(without.items()))
        found = f"{told} in {there}, {plain} in {here}"
        remedy = 'give every time a zone, or none (then all are UTC), or say it: [log] time_zone = "Europe/Berlin"'
        raise DataError(f"{name} mixes times with and without a zone", found, remedy)


def _text_times(
    connection: duckdb.DuckDBPyConnection, name: str, relation: str, one: TimeColumn, rules: TimeRules
) -> tuple[str | None, str | None]:
    """A time with a zone and one without, where there are such; numbers since 1970 have none.

    Refused where most of what is there is no time.
    """
    raw, text = quoted(one.column), f"trim({quoted(one.column)}::VARCHAR)"
    nothing = ", ".join(sql_text(word) for word in ("", *NO_TIMES))
    wrong = f"{one.parsed} IS NULL AND {text} NOT IN ({nothing})"
    whole = one.declared.startswith(WHOLE_TYPES)
    told = "false" if whole else rules.says_zone(raw)
    counted_up = "true" if whole else f"try_cast({text} AS BIGINT) IS NOT NULL"
    plain = f"{one.parsed} IS NOT NULL AND NOT {told}" + ("" if rules.formats else f" AND NOT {counted_up}")
    plain = plain if not whole or rules.formats else "false"
    counted = f"count({one.parsed}), count(*) FILTER ({wrong}), any_value({text}) FILTER ({wrong})"
    query = f"SELECT {counted}, any_value({text}) FILTER ({told}), any_value({text}) FILTER ({plain}) FROM {relation}"
    read, odd, example, zone_told, zone_missing = connection.execute(query).fetchall()[0]
    if one.may_hold_words:
        _check_flags(connection, name, relation, one)
    number = str(example).removeprefix("-").isdecimal()
    if odd > read and (not one.may_hold_words or number or _fits(connection, example)):
        raise _unreadable(connection, name, one, example, rules)
    if not rules.formats:
        _check_days(connection, name, relation, one)
    return zone_told, zone_missing


def _check_flags(connection: duckdb.DuckDBPyConnection, name: str, relation: str, one: TimeColumn) -> None:
    """Nothing, or the error of a column of times of success that says whether, and not when."""
    text = f"trim({quoted(one.column)}::VARCHAR)"
    timeless = f"bool_and({one.parsed} IS NULL OR {one.parsed} IN (0, 1000000))"  # 0 and 1 would be seconds in 1970
    asked = f"count(DISTINCT {text}), min({text}), {timeless}"
    found = f"{text} <> '' AND {text} NOT IN ({', '.join(map(sql_text, NO_TIMES))})"
    different, example, none = connection.execute(f"SELECT {asked} FROM {relation} WHERE {found}").fetchall()[0]
    if none and 1 <= different <= MOST_FLAGS and not _fits(connection, example):
        wrong = f"column {one.column} of {name} says whether it happened and not when"
        raise DataError(wrong, example, flag_remedy(one.key, one.column))


def _unreadable(
    connection: duckdb.DuckDBPyConnection, name: str, one: TimeColumn, example: str, rules: TimeRules
) -> DataError:
    """What to raise where most of a column is no time, with what to write into the task."""
    wrong = f"most of column {one.column} of {name} cannot be read as times"
    if rules.formats:
        formats = " or ".join(rules.formats)
        return DataError(wrong, example, f"log.time_format says {formats}: correct it, or give a list of formats")
    digits = example.removeprefix("-")
    if digits.isdecimal() and len(digits) > 10 and not _fits(connection, example):
        unit = {12: "milliseconds", 13: "milliseconds", 15: "microseconds", 16: "microseconds"}
        since = unit.get(len(digits), "nanoseconds" if len(digits) > 16 else "milliseconds")
        wrong = f"column {one.column} of {name} seems to hold {since} since 1970"
        return DataError(wrong, example, f'say so in the task: [log] time_format = "{since}"')
    fits = _fits(connection, example)
    said = " or ".join(f'time_format = "{each}"' for each in fits[:2]) or 'time_format = "%d.%m.%Y %H:%M" or the like'
    return DataError(wrong, example, f"say in the task how they are written ([log] {said}), or correct {one.key}")


def _fits(connection: duckdb.DuckDBPyConnection, example: str) -> list[str]:
    """The usual formats in which this is a time."""
    tried = ", ".join(f"try_strptime({sql_text(example)}, {sql_text(each)}) IS NOT NULL" for each in FORMATS)
    return [each for each, fit in zip(FORMATS, connection.execute(f"SELECT {tried}").fetchall()[0], strict=True) if fit]


def _check_days(connection: duckdb.DuckDBPyConnection, name: str, relation: str, one: TimeColumn) -> None:
    """Nothing, or the error of days such as 20241231, which as seconds since 1970 would all lie in August 1970."""
    text = f"trim({quoted(one.column)}::VARCHAR)"
    low, high = connection.execute(f"SELECT min({one.parsed}), max({one.parsed}) FROM {relation}").fetchall()[0]
    if low is None or low < 19000101_000000 or high > 21001231_000000:  # microseconds
        return
    day = f"length({text}) = 8 AND try_strptime({text}, '%Y%m%d') IS NOT NULL"
    query = f"SELECT bool_and({day}), any_value({text}) FROM {relation} WHERE {one.parsed} IS NOT NULL"
    days, example = connection.execute(query).fetchall()[0]
    if days:
        wrong = f"column {one.column} of {name} seems to hold days"
        remedy = 'say in the task how they are written: [log] time_format = "%Y%m%d" (or "seconds" since 1970)'
        raise DataError(wrong, example, remedy)
