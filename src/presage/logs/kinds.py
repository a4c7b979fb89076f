"""What a column of a file may hold, and how DuckDB makes one value of it, or none."""

from typing import NamedTuple

WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
NUMBER_TYPES = (*WHOLE_TYPES, "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR")
TIME_TYPES = (*WHOLE_TYPES, "TIMESTAMP", "DATE", "VARCHAR")

LATEST = 2**33
"""Seconds since 1970 that are still taken for a time (the year 2242): beyond it they are rather milliseconds."""


class Kind(NamedTuple):
    """What a column holds, in words and as the types of DuckDB that are taken for it."""

    words: str
    types: tuple[str, ...]

    def takes(self, declared: str) -> bool:
        """Whether a column of this type, such as DECIMAL(4,2), may hold this kind."""
        return declared.startswith(self.types) and not declared.endswith("[]")

    def value(self, column: str, declared: str) -> str:
        """SQL for the value in a column, NULL where there is none of this kind."""
        if self is TIME:
            return _time(column, declared)
        if self in (WHOLE, NUMBER):
            number = f"try_cast({column} AS DOUBLE)"
            whole = f"AND {number} = floor({number})" if self is WHOLE else ""
            return f"CASE WHEN isfinite({number}) {whole} THEN {number} END::{'BIGINT' if whole else 'DOUBLE'}"
        return f"nullif({column}::VARCHAR, '')"


TEXT = Kind("text", ("VARCHAR",))
KEY = Kind("a name or a whole number", ("VARCHAR", "UUID", *WHOLE_TYPES))
TIME = Kind("a time (such as 2017-05-01 12:00:00 UTC, or seconds since 1970)", TIME_TYPES)
WHOLE = Kind("a whole number", NUMBER_TYPES)
NUMBER = Kind("a finite number", NUMBER_TYPES)


def _time(column: str, declared: str) -> str:
    # A time without a zone is UTC; so is the session that runs this.
    seconds = f"try_cast({column} AS BIGINT)"
    seconds = f"to_timestamp(CASE WHEN abs({seconds}) < {LATEST} THEN {seconds} END)"
    if declared.startswith(WHOLE_TYPES):
        moment = seconds
    elif declared.startswith("VARCHAR"):
        moment = f"coalesce(try_cast({column} AS TIMESTAMPTZ), {seconds})"
    else:
        moment = f"{column}::TIMESTAMPTZ"
    return f"CASE WHEN isfinite({moment}) THEN {moment}::TIMESTAMP END"
