"""Rows that are to be predicted: their features, encoded with what a log has taught, and perhaps their proxies."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import duckdb
import numpy as np

from presage.errors import DataError
from presage.logs.cleaning import feature_reasons, out_of_bounds
from presage.logs.columns import LABEL, WantedColumn, feature_name, wanted_features
from presage.logs.encoding import encoded_features, fetch, fetch_instances, filled, id_type
from presage.logs.engines import reading_of
from presage.logs.rows import MEMORY, opened_engine
from presage.logs.sources import open_source
from presage.logs.tables import sql_text
from presage.spaces import EMPTY, Array, Instance
from presage.task.features import Category, Number, SetFeature
from presage.task.signals import Labelled, Signal
from presage.task.task import Task, Vocabulary


class FeatureRows(NamedTuple):
    """N rows, as they came."""

    id: Array | None  # [N]: whole numbers or words; None where the rows name none
    instances: Instance  # EMPTY where a category is not in the vocabulary
    proxies: Array  # int32 [N]: EMPTY where there is none
    unseen: dict[str, int]  # how many rows have values that are not in the vocabulary, by feature


def read_features(
    task: Task, rows: Any, vocabularies: Mapping[str, Vocabulary], proxy: Signal | None = None
) -> FeatureRows:
    """The features of rows, and their values of `proxy` where one is named.

    Args:
        task: Says which columns are what.
        rows: A file or folder of Parquet, CSV or NDJSON, FILE.duckdb::TABLE, or a dataframe.
        vocabularies: What a log taught of each category and set.
        proxy: The signal whose column is read, too.
    """
    reading = reading_of(task, rows, None)._replace(where=None)  # every row gets a prediction
    with opened_engine(task, "duckdb", MEMORY, None, reading) as (connection, engine):
        wanted = _wanted(connection, task, rows, proxy)
        name = engine.read("predictions", rows, wanted)
        _check_features(connection, task, name)
        if proxy:
            _check_proxies(connection, name, wanted[-1].column, proxy)
        return _encoded(connection, task, vocabularies, proxy, {one.name for one in wanted})


def _wanted(
    connection: duckdb.DuckDBPyConnection, task: Task, rows: Any, proxy: Signal | None
) -> tuple[WantedColumn, ...]:
    wanted = wanted_features(task)
    there = open_source(connection, rows, "looked_at").types
    if task.log.id and task.log.id in there:
        wanted = (WantedColumn("id", task.log.id, LABEL, "log.id"), *wanted)
    if proxy:
        column = proxy.source.column if isinstance(proxy.source, Labelled) else proxy.name
        if column not in there:
            remedy = f"add one that holds the proxy of each row, such as {proxy.values[-1]}, or nothing"
            raise DataError(f"the rows have no column {column} for the now-cast", list(there), remedy)
        wanted = (*wanted, WantedColumn("proxy", column, LABEL, task.path(proxy)))
    return wanted


def _check_features(connection: duckdb.DuckDBPyConnection, task: Task, name: str) -> None:
    """Raise DataError if there are no rows, or if one lacks a feature: each is to get a prediction."""
    if not connection.execute("SELECT count(*) FROM predictions").fetchall()[0][0]:
        raise DataError(f"{name} holds no rows", 0, "give at least one row to predict")
    beyond = [out_of_bounds(feature) for feature in task.instance if isinstance(feature, Number)]
    for reason, wrong in feature_reasons(task):
        rows, first = connection.execute(f'SELECT count(*), min("row") FROM predictions WHERE {wrong}').fetchall()[0]
        if rows:
            remedy = "fill them in or leave them out, or declare in the task what stands for a missing value"
            if reason in beyond:
                remedy = 'correct them or leave them out, or declare outside = "clip" in the task'
            raise DataError(f"{name} has {reason}", f"{rows:,}, the first is row {first:,}", remedy)


def _check_proxies(connection: duckdb.DuckDBPyConnection, name: str, column: str, proxy: Signal) -> None:
    odd = f"SELECT min(proxy), count(*) FROM predictions WHERE proxy IS NOT NULL AND ({_symbol(proxy)}) IS NULL"
    value, rows = connection.execute(odd).fetchall()[0]
    if rows:
        given = "a number" if proxy.cuts else f"one of {', '.join(proxy.values)}"
        remedy = f"{rows:,} row{'s' * (rows > 1)} in all: give {given}, or leave it empty"
        raise DataError(f"column {column} of {name} holds values outside those of {proxy.name}", value, remedy)


def _symbol(proxy: Signal) -> str:
    """SQL for the symbol of a value, or of a number that is cut; NULL where it is neither."""
    if proxy.cuts:
        number = "try_cast(proxy AS DOUBLE)"
        reached = " + ".join(f"({number} >= {sql_text(repr(edge))}::DOUBLE)::INTEGER" for edge in proxy.cuts.edges)
        return f"CASE WHEN isfinite({number}) THEN {reached} END"
    cases = " ".join(f"WHEN {sql_text(value)} THEN {symbol}" for symbol, value in enumerate(proxy.values))
    return f"CASE proxy {cases} END"


def _encoded(
    connection: duckdb.DuckDBPyConnection,
    task: Task,
    vocabularies: Mapping[str, Vocabulary],
    proxy: Signal | None,
    names: set[str],
) -> FeatureRows:
    unseen = _learn_types(connection, task, vocabularies)
    encoded = encoded_features(task, vocabularies, known=False)
    chosen = list(encoded.columns)
    if "id" in names:
        chosen.append(f"{id_type(connection, 'predictions')} AS id")
    if proxy:
        chosen.append(f"coalesce({_symbol(proxy)}, {EMPTY})::INTEGER AS z")
    counted = {name: f"u{place}" for place, name in enumerate(unseen)}
    chosen += [f"({wrong}) AS {counted[name]}" for name, wrong in unseen.items()]
    source = encoded.source.format("predictions")
    connection.execute(f'CREATE TABLE ordered AS SELECT {", ".join(chosen)} FROM {source} ORDER BY "row"')
    rows = int(connection.execute("SELECT count(*) FROM ordered").fetchall()[0][0])
    odd = {
        n: connection.execute(f"SELECT count(*) FROM ordered WHERE {u}").fetchall()[0][0] for n, u in counted.items()
    }
    return FeatureRows(
        id=_filled(fetch(connection, "id")) if "id" in names else None,
        instances=fetch_instances(connection, task.features(vocabularies), rows),
        proxies=fetch(connection, "z") if proxy else np.full(rows, EMPTY, np.int32),
        unseen={name: count for name, count in odd.items() if count},
    )


def _learn_types(
    connection: duckdb.DuckDBPyConnection, task: Task, vocabularies: Mapping[str, Vocabulary]
) -> dict[str, str]:
    """The values of each category and set now stand as types; gives SQL that tells rows with others, by feature."""
    unseen = {}
    for place, feature in enumerate(task.instance):
        if not isinstance(feature, Category | SetFeature) or feature.hashed:
            continue
        ours, values = feature_name(place), vocabularies[feature.name].values
        if not values:  # every set of the log was empty
            unseen[feature.name] = f"len({ours}) > 0"
            continue
        connection.register(f"{ours}_known", {"v": np.array(values, object), "place": np.arange(len(values))})
        connection.execute(f"CREATE TYPE {ours}_values AS ENUM (SELECT v::VARCHAR FROM {ours}_known ORDER BY place)")
        if isinstance(feature, Category):
            value = filled(ours, feature.missing if isinstance(feature.missing, str) else None)
            unseen[feature.name] = f"try_cast({value} AS {ours}_values) IS NULL"
        else:
            unseen[feature.name] = f"len(list_filter({ours}, lambda word: try_cast(word AS {ours}_values) IS NULL)) > 0"
    return unseen


def _filled(ids: Array) -> Array:
    """Ids without gaps: empty words where there is none."""
    return np.where(np.ma.getmaskarray(ids), "", np.ma.getdata(ids).astype(object)) if np.ma.is_masked(ids) else ids
