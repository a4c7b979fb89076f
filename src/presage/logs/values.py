"""How DuckDB makes one value of what stands in a column of a log, or NULL where it cannot."""

from presage.logs.kinds import TIME, Kind
from presage.logs.quoting import words
from presage.logs.wanted import FLAG, LABEL, TEXTS

WHOLE_IDS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
FLOATS = ("FLOAT", "DOUBLE", "DECIMAL")


def value(kind: Kind, column: str, declared: str, separator: str = ",") -> str:
    """SQL for a value: times as microseconds since 1970 UTC, labels as words, sets as lists of different words."""
    if kind is TIME:
        return f"epoch_us({_moment(kind, column, declared)})"
    if kind is LABEL:
        return _label(column, declared)
    if kind is TEXTS:
        return _texts(column, declared, separator)
    if kind is FLAG:
        return f"try_cast({column} AS BOOLEAN)"
    return kind.value(column, declared)


def _moment(kind: Kind, column: str, declared: str) -> str:
    if declared == "TIMESTAMP WITH TIME ZONE":
        return f"CASE WHEN isfinite({column}) THEN {column} END"
    if declared.startswith(("TIMESTAMP", "DATE")):  # UTC; by way of a zone it would take thrice the time
        return f"CASE WHEN isfinite({column}::TIMESTAMP) THEN {column}::TIMESTAMP END"
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
        parts = f"string_split({column}::VARCHAR, {words(separator)})"
    trimmed = f"list_transform({parts}, lambda word: trim(word::VARCHAR))"
    return f"coalesce(list_distinct(list_filter({trimmed}, lambda word: word <> '')), [])::VARCHAR[]"
