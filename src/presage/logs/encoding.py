"""A joined log as NumPy columns in the order of time, its words as symbols."""

from collections.abc import Mapping
from typing import NamedTuple

import duckdb
import numpy as np

from presage.errors import DataError
from presage.logs.columns import feature_name
from presage.logs.signals import NEVER_AT
from presage.logs.tables import sql_text
from presage.spaces import EMPTY, Array, Features, Instance
from presage.task.features import (
    MOST_SCALES,
    Boolean,
    Category,
    Count,
    Feature,
    Number,
    SetFeature,
    Timestamp,
)
from presage.task.task import Task, Vocabulary

LARGEST = 1_000_000
"""Values of one category that are still told apart; beyond it they must be hashed."""
MOST_SLOTS = 64


class LearntVocabularies(NamedTuple):
    """The vocabularies of a log that was read up to a moment, in microseconds since 1970 UTC."""

    values: Mapping[str, Vocabulary]
    until: int


def learn_vocabularies(
    connection: duckdb.DuckDBPyConnection, task: Task, name: str, earlier: LearntVocabularies | None = None
) -> dict[str, Vocabulary]:
    """The vocabulary of each category and set by feature; their values now stand as the types <feature>_values.

    A value's symbol depends on nothing that comes after its first appearance: values new in the same instant follow
    each other by name. The values of an `earlier` part of the log keep their symbols, and what only its rows hold comes
    last.
    """
    learned = {}
    for place, feature in enumerate(task.instance):
        if not isinstance(feature, Category | SetFeature):
            continue
        column = feature_name(place)
        values = (
            feature.values if feature.hashed or feature.values else _values(connection, column, feature, name, earlier)
        )
        if values:
            listed = ", ".join(sql_text(value) for value in feature.values)
            listed = listed if feature.values else f"SELECT v FROM {column}_first ORDER BY symbol"
            connection.execute(f"CREATE TYPE {column}_values AS ENUM ({listed})")
        slots = _slots(connection, column, feature, name) if isinstance(feature, SetFeature) else 1
        slots = max(slots, earlier.values[feature.name].slots) if earlier else slots
        learned[feature.name] = Vocabulary(values, slots)
    return learned


def filled(column: str, missing: str | None) -> str:
    """SQL for a category in which `missing` stands where there is no value."""
    return column if missing is None else f"coalesce({column}, {sql_text(missing)})"


def _values(
    connection: duckdb.DuckDBPyConnection,
    column: str,
    feature: Category | SetFeature,
    name: str,
    earlier: LearntVocabularies | None,
) -> tuple[str, ...]:
    missing = feature.missing if isinstance(feature.missing, str) else None
    each = filled(column, missing) if isinstance(feature, Category) else f"unnest({column})"
    rows = f"SELECT {each} AS v, shown_at FROM kept"
    after = f"FILTER (shown_at > {earlier.until})" if earlier else ""
    since = f"SELECT v, min(shown_at) {after} AS since FROM ({rows}) GROUP BY v"
    connection.execute(f"CREATE TABLE {column}_since AS {since}")
    known = earlier.values[feature.name].values if earlier else ()
    joined = f"SELECT v, since, 0 AS place FROM {column}_since"
    if known:
        connection.register(f"{column}_known", {"v": np.array(known, object), "place": np.arange(len(known))})
        joined = f"SELECT v, since, place FROM {column}_since FULL JOIN {column}_known USING (v)"
    connection.execute(f"CREATE TABLE {column}_each AS {joined}")
    count = int(connection.execute(f"SELECT count(*) FROM {column}_each").fetchall()[0][0])
    if count > LARGEST:
        wrong = f"column {feature.column} of {name} has too many categories to tell apart"
        remedy = f"hash them: add hashed = 65536 to instance.{feature.name}"
        raise DataError(wrong, f"{count:,} of at most {LARGEST:,}", remedy)
    order = "ORDER BY place NULLS LAST, since NULLS LAST, v"
    numbered = f"SELECT v, row_number() OVER ({order}) AS symbol FROM {column}_each"
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


PART = {
    "hour": "hour({})", "weekday": "isodow({}) - 1", "day": "day({}) - 1", "week": "week({}) - 1",
    "month": "month({}) - 1", "quarter": "quarter({}) - 1",
}  # fmt: skip


def order_rows(
    connection: duckdb.DuckDBPyConnection,
    task: Task,
    vocabularies: Mapping[str, Vocabulary],
    raw: bool = False,
    extra: tuple[str, ...] = (),
) -> None:
    """Nothing; the rows of `kept` now stand under `ordered`, encoded: by shown_at, then id, then as they came.

    With `raw` their features stand there, too, as a JSON object by name; `extra` are columns that stay as they are.
    """
    encoded = encoded_features(task, vocabularies)
    number = id_type(connection, "kept") if task.log.id else '"row"'
    chosen = ["shown_at", f"{number} AS id", *encoded.columns]
    chosen += [f"s{n}::INTEGER AS s{n}, k{n}::BIGINT AS k{n}" for n in range(len(task.signals))]
    if task.log.model:
        chosen.append("model::BIGINT AS model")
        chosen += [f"coalesce(p{n}, {NEVER_AT})::BIGINT AS p{n}" for n in range(len(task.signals))]
    chosen += extra
    if raw:
        chosen.append(f"{_json(task)} AS json")
    if task.log.group:
        chosen.append("dense_rank() OVER (ORDER BY grp) - 1 AS grp")
    ties = f"{number}, " if task.log.id else ""
    query = f'SELECT {", ".join(chosen)} FROM {encoded.source.format("kept")} ORDER BY shown_at, {ties}"row"'
    connection.execute(f"CREATE TABLE ordered AS {query}")


class FeatureColumns(NamedTuple):
    """SQL for the features of an instance: the columns x<n> and d<n>, and what they are selected from."""

    columns: list[str]
    source: str  # in which {} is the relation that holds the features


def encoded_features(task: Task, vocabularies: Mapping[str, Vocabulary], known: bool = True) -> FeatureColumns:
    """SQL that encodes features; unless every value is `known`, one that is not becomes EMPTY and leaves a set."""
    symbols, slots, dense, codes = [], [], [], ["*"]
    for place, feature in enumerate(task.instance):
        column = feature_name(place)
        if isinstance(feature, SetFeature):
            vocabulary = vocabularies[feature.name]
            codes.append(f"{_codes(column, feature, vocabulary, known)} AS c{place}")
            slots += [f"coalesce(c{place}[{slot + 1}], {EMPTY})" for slot in range(feature.slots or vocabulary.slots)]
        elif isinstance(feature, Number):
            dense.append(_scaled(column, feature))
        else:
            symbols += _symbols(column, feature, known)
    columns = [f"({value})::INTEGER AS x{n}" for n, value in enumerate(symbols + slots)]
    columns += [f"{value} AS d{n}" for n, value in enumerate(dense)]
    return FeatureColumns(columns, f"(SELECT {', '.join(codes)} FROM {{}})")


def fetch(connection: duckdb.DuckDBPyConnection, column: str) -> Array:
    """One column of `ordered`."""
    return connection.execute(f"SELECT {column} FROM ordered").fetchnumpy()[column]


def fetch_instances(connection: duckdb.DuckDBPyConnection, features: Features, rows: int) -> Instance:
    """The instances of `ordered`, a column at a time."""
    symbols = np.empty((rows, features.slots), np.int32)
    for slot in range(features.slots):
        symbols[:, slot] = fetch(connection, f"x{slot}")
    dense = np.empty((rows, features.dense), np.float32)
    for place in range(features.dense):
        dense[:, place] = fetch(connection, f"d{place}")
    return Instance(symbols, dense)


def _json(task: Task) -> str:
    """SQL for the features of a row as a JSON object, as a service is sent them."""
    values = []
    for place, feature in enumerate(task.instance):
        value = feature_name(place)
        if isinstance(feature, Timestamp):
            value = f"strftime(make_timestamp({value}), '%Y-%m-%dT%H:%M:%S.%fZ')"
        elif isinstance(feature, Boolean):
            value = f"{value}::BOOLEAN"
        values.append(f"{sql_text(feature.name)}, {value}")
    return f"json_object({', '.join(values)})::VARCHAR"


def id_type(connection: duckdb.DuckDBPyConnection, relation: str) -> str:
    """SQL for an id: a whole number where all of them are, for words take ten times the memory."""
    odd = f"SELECT count(*) FROM {relation} WHERE try_cast(id AS BIGINT)::VARCHAR IS DISTINCT FROM id"
    return "id" if connection.execute(odd).fetchall()[0][0] else "id::BIGINT"


def _symbols(column: str, feature: Feature, known: bool) -> list[str]:
    """SQL for the symbols of a feature that is neither a set nor a number."""
    if isinstance(feature, Category):
        value = filled(column, feature.missing if isinstance(feature.missing, str) else None)
        hashed = f"md5_number_lower({value}) % {feature.hashed}"
        listed = f"enum_code({value}::{column}_values)"
        listed = listed if known else f"coalesce(enum_code(try_cast({value} AS {column}_values)), {EMPTY})"
        return [hashed if feature.hashed else listed]
    value = _filled(column, feature)
    if isinstance(feature, Count):
        return [" + ".join(f"({value} >= {edge})::INTEGER" for edge in feature.edges)]
    if isinstance(feature, Boolean):
        return [value]
    assert isinstance(feature, Timestamp)
    return [PART[part].format(f"make_timestamp({column})") for part in feature.parts]


def _codes(column: str, feature: SetFeature, vocabulary: Vocabulary, known: bool) -> str:
    if not feature.hashed and not vocabulary.values:  # every set of the log is empty
        return "[]::INTEGER[]"
    value = f"word::{column}_values" if known else f"try_cast(word AS {column}_values)"
    code = f"md5_number_lower(word) % {feature.hashed}" if feature.hashed else f"enum_code({value})"
    # Distinct values leave out what is NULL: a word that is not known.
    return f"list_sort(list_distinct(list_transform({column}, lambda word: ({code})::INTEGER)))"


def _scaled(column: str, feature: Number) -> str:
    """SQL for a number between its bounds, in scales from its centre."""
    value = _filled(column, feature)
    value = value if feature.least is None else f"greatest({value}, {feature.least}::DOUBLE)"
    value = value if feature.most is None else f"least({value}, {feature.most}::DOUBLE)"
    scaled = f"({value} - {feature.centre}::DOUBLE) / {feature.scale}::DOUBLE"
    return f"greatest(least({scaled}, {MOST_SCALES}::DOUBLE), -{MOST_SCALES}::DOUBLE)::FLOAT"


def _filled(column: str, feature: Feature) -> str:
    return column if feature.missing is None else f"coalesce({column}, {feature.missing})"
