"""The log of a service as a Parquet file: a row per prediction, with its feedback and the position of its model."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import duckdb
import msgspec
import numpy as np

from presage.errors import DataError, OutputError
from presage.files import rename
from presage.joining.entries import NOTHING, Entry, EntryKind, predicted_in
from presage.joining.join import Bin, Horizons, Known
from presage.joining.lessons import outcome_learnt
from presage.journal.interface import LogStore
from presage.journal.readers import PAGE
from presage.logs.tables import connected, quoted, sql_text
from presage.service.features import as_moment
from presage.task.exported_log import OURS, feature_column
from presage.task.features import Boolean, Category, Feature, SetFeature, Timestamp
from presage.task.task import Task

WHOLE = ("position", "model", "proxy_position", "outcome_position")
TIMES = ("shown_at", "proxy_at", "outcome_at")


class Exported(NamedTuple):
    """Counts of an export, and the mean loss."""

    rows: int
    scored: int  # with a learned outcome
    loss: float  # their mean log loss; NaN without any


def export_log(task: Task, store: LogStore, horizons: Horizons, out: Path, progress: Callable[[int], None]) -> Exported:
    """Write the predictions of a log to a Parquet file, in order; `progress` gets the number of entries read."""
    rows = scored = 0
    loss = 0.0
    try:
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=out.parent) as scratch:
            lines = Path(scratch) / "rows.ndjson"
            with lines.open("w", encoding="utf-8") as file:
                for row in _rows(task, store, horizons, progress):
                    rows += 1
                    scored += row["loss"] is not None
                    loss += row["loss"] or 0.0
                    _write(file, row)
            if not rows:
                raise DataError("the log holds no predictions", 0, "serve some first")
            _to_parquet(task, lines, Path(scratch) / "log.parquet")
            rename(Path(scratch) / "log.parquet", out)
    except OSError as error:
        remedy = f"free some space or choose another folder ({error.strerror})"
        raise OutputError("the log could not be exported", str(out), remedy) from error
    return Exported(rows, scored, loss / scored if scored else float("nan"))


def _rows(task: Task, store: LogStore, horizons: Horizons, progress: Callable[[int], None]) -> Iterator[dict[str, Any]]:
    after = 0
    while entries := store.read(after, PAGE):
        after = entries[-1].seq
        made = [entry for entry in entries if entry.kind == EntryKind.PREDICTED]
        found = store.find({entry.id for entry in made})
        settled = {seq for known in found.values() for seq in (known.proxy_seq, known.outcome_seq) if seq}
        at = {entry.seq: entry.at for entry in store.entries(sorted(settled))}
        for entry in made:
            yield _row(task, entry, found[entry.id], horizons, at)
        progress(len(entries))


def _row(task: Task, entry: Entry, known: Known, horizons: Horizons, at: dict[int, int]) -> dict[str, Any]:
    body = predicted_in(entry)
    values = msgspec.json.decode(body.features)
    row: dict[str, Any] = {feature_column(f.name): _given(f, values.get(f.name)) for f in task.instance}
    row |= {"id": entry.id, "shown_at": entry.at, "position": entry.seq, "model": body.model}
    signals = (
        ("proxy", task.proxy(), known.proxy, known.proxy_bin, known.proxy_seq),
        ("outcome", task.outcome, known.outcome, known.outcome_bin, known.outcome_seq),
    )
    for name, signal, symbol, bin, seq in signals:
        row[name] = signal.values[symbol] if bin is Bin.TRAINED else None
        row |= {f"{name}_at": at[seq] if seq else None, f"{name}_position": seq or None}
    answer, y = np.frombuffer(body.log_probabilities, "<f4"), outcome_learnt(known, horizons)
    loss = None if y == NOTHING else -float(answer[y])
    return row | {"loss": loss, "probabilities": np.exp(answer, dtype=np.float64).tolist()}


def _given(feature: Feature, value: Any) -> Any:
    if isinstance(feature, SetFeature) and isinstance(value, str):
        return [word.strip() for word in value.split(feature.separator) if word.strip()]
    if isinstance(feature, Timestamp) and value is not None:
        return as_moment(feature, value).isoformat()  # DuckDB reads fewer ways to write one
    return value


def _write(file: IO[str], row: dict[str, Any]) -> None:
    file.write(json.dumps(row) + "\n")


def _to_parquet(task: Task, lines: Path, out: Path) -> None:
    types = {feature_column(feature.name): _type(feature) for feature in task.instance}
    types |= dict.fromkeys(OURS, "VARCHAR") | dict.fromkeys((*WHOLE, *TIMES), "BIGINT")
    types |= {"loss": "DOUBLE", "probabilities": "DOUBLE[]"}
    moments = {feature_column(f.name) for f in task.instance if isinstance(f, Timestamp)}
    chosen = []
    for name in (*(name for name in types if name not in OURS), *OURS):
        value = f"make_timestamp({quoted(name)})" if name in TIMES else quoted(name)
        cast = f"{value}::TIMESTAMPTZ" if name in TIMES or name in moments else value
        chosen.append(f"{cast} AS {quoted(name)}")
    columns = ", ".join(f"{sql_text(name)}: {sql_text(declared)}" for name, declared in types.items())
    reader = f"read_json({sql_text(str(lines))}, format='newline_delimited', columns={{{columns}}})"
    with connected(memory_limit="2GB", temp_directory=str(lines.parent), preserve_insertion_order=True) as connection:
        query = f"SELECT {', '.join(chosen)} FROM {reader} ORDER BY position"
        try:
            connection.execute(f"COPY ({query}) TO {sql_text(str(out))} (FORMAT parquet, COMPRESSION zstd)")
        except duckdb.Error as error:
            why = " ".join(str(error).splitlines()[0].split())
            remedy = "free some space on the disk" if isinstance(error, duckdb.IOException) else "report this"
            raise OutputError("the log could not be exported", why, remedy) from error
    with out.open("rb") as file:
        os.fsync(file.fileno())


def _type(feature: Feature) -> str:
    if isinstance(feature, Category | Timestamp):
        return "VARCHAR"
    if isinstance(feature, SetFeature):
        return "VARCHAR[]"
    return "BOOLEAN" if isinstance(feature, Boolean) else "DOUBLE"
