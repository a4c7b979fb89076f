"""Whether the times of a log say their zone: all of them do, or none, which is UTC."""

from collections.abc import Iterable

import duckdb

from presage.errors import DataError
from presage.logs.kinds import TIME
from presage.logs.sources import Source
from presage.logs.tables import quoted
from presage.logs.wanted import Wanted

CLOCK = r"\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|UTC|GMT|[+-]\d\d(:?\d\d)?|[A-Za-z]+/[A-Za-z_/]+)$"


def check_zones(connection: duckdb.DuckDBPyConnection, source: Source, relation: str, wanted: Iterable[Wanted]) -> None:
    """Nothing, or the error that some times say their zone and others do not."""
    with_zone: dict[str, str] = {}
    without: dict[str, str] = {}
    for column in dict.fromkeys(one.column for one in wanted if one.kind is TIME):
        declared = source.types[column]
        if source.form == "NDJSON" or declared.startswith("VARCHAR"):
            zoned, plain = _text_times(connection, relation, column)
        else:
            zoned = declared if declared == "TIMESTAMP WITH TIME ZONE" else None
            plain = declared if declared.startswith(("TIMESTAMP", "DATE")) and not zoned else None
        with_zone |= {column: zoned} if zoned else {}
        without |= {column: plain} if plain else {}
    if with_zone and without:
        (there, zoned), (here, plain) = next(iter(with_zone.items())), next(iter(without.items()))
        found = f"{zoned} in {there}, {plain} in {here}"
        remedy = "give every time a zone, or none (then all are UTC)"
        raise DataError(f"{source.name} mixes times with and without a zone", found, remedy)


def _text_times(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> tuple[str | None, str | None]:
    """A time with a zone and one without, where there are such; whole numbers are seconds and have none."""
    text = f"trim({quoted(column)}::VARCHAR)"
    zoned = f"regexp_matches({text}, '{CLOCK}')"
    plain = f"NOT {zoned} AND try_cast({text} AS TIMESTAMP) IS NOT NULL"
    query = f"SELECT any_value({text}) FILTER ({zoned}), any_value({text}) FILTER ({plain}) FROM {relation}"
    found = connection.execute(query).fetchall()[0]
    return found[0], found[1]
