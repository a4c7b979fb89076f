"""The values of categories and sets, learned from a log in the order in which they first appear in it."""

import duckdb

from presage.errors import DataError
from presage.logs.quoting import words
from presage.logs.wanted import feature_name
from presage.task.features import Category, SetFeature
from presage.task.task import Task, Vocabulary

LARGEST = 1_000_000
"""Values of one category that are still told apart; beyond it they must be hashed."""
MOST_SLOTS = 64


def learn_vocabularies(connection: duckdb.DuckDBPyConnection, task: Task, name: str) -> dict[str, Vocabulary]:
    """The vocabulary of each category and set by feature; their values now stand as the types <feature>_values.

    A value's symbol depends on nothing that comes after its first appearance: values new in the same instant follow
    each other by name.
    """
    learned = {}
    for place, feature in enumerate(task.instance):
        if not isinstance(feature, Category | SetFeature):
            continue
        column = feature_name(place)
        values = feature.values if feature.hashed or feature.values else _values(connection, column, feature, name)
        if values:
            listed = ", ".join(words(value) for value in feature.values)
            listed = listed if feature.values else f"SELECT v FROM {column}_first ORDER BY symbol"
            connection.execute(f"CREATE TYPE {column}_values AS ENUM ({listed})")
        slots = _slots(connection, column, feature, name) if isinstance(feature, SetFeature) else 1
        learned[feature.name] = Vocabulary(values, slots)
    return learned


def filled(column: str, missing: str | None) -> str:
    """SQL for a category in which `missing` stands where there is no value."""
    return column if missing is None else f"coalesce({column}, {words(missing)})"


def _values(
    connection: duckdb.DuckDBPyConnection, column: str, feature: Category | SetFeature, name: str
) -> tuple[str, ...]:
    missing = feature.missing if isinstance(feature.missing, str) else None
    each = filled(column, missing) if isinstance(feature, Category) else f"unnest({column})"
    rows = f"SELECT {each} AS v, shown_at FROM kept"
    connection.execute(f"CREATE TABLE {column}_since AS SELECT v, min(shown_at) AS since FROM ({rows}) GROUP BY v")
    count = int(connection.execute(f"SELECT count(*) FROM {column}_since").fetchall()[0][0])
    if count > LARGEST:
        wrong = f"column {feature.column} of {name} has too many categories to tell apart"
        remedy = f"hash them: add hashed = 65536 to instance.{feature.name}"
        raise DataError(wrong, f"{count:,} of at most {LARGEST:,}", remedy)
    numbered = f"SELECT v, row_number() OVER (ORDER BY since, v) AS symbol FROM {column}_since"
    connection.execute(f"CREATE TABLE {column}_first AS {numbered}")
    found = connection.execute(f"SELECT v FROM {column}_first ORDER BY symbol").fetchall()
    return tuple(str(value) for (value,) in found)


def _slots(connection: duckdb.DuckDBPyConnection, column: str, feature: SetFeature, name: str) -> int:
    fullest = int(connection.execute(f"SELECT max(len({column})) FROM kept").fetchall()[0][0]) or 1
    if fullest > (feature.slots or MOST_SLOTS):
        wrong = f"a set in column {feature.column} of {name} is larger than its slots"
        remedy = f"give instance.{feature.name} slots = {fullest}, or shorten the sets"
        raise DataError(wrong, f"{fullest} values in {feature.slots or MOST_SLOTS} slots", remedy)
    return feature.slots or fullest
