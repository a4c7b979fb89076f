"""What is dealt, written as a log: chunk by chunk into a file of a database, then in the order of time."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

from presage.logs.dealers.dealt import DAY, Chunk, Dealt
from presage.logs.quoting import words
from presage.logs.tables import Columns, connected, quoted

FORMATS = {".parquet": "FORMAT parquet, COMPRESSION zstd", ".csv": "FORMAT csv, HEADER"}
MEMORY = "1GB"


class Flaws(NamedTuple):
    """What is wrong with a simulated log: the shares of feedback that is missing and of rows that come twice."""

    missing: float = 0.0
    duplicates: float = 0.0


def write_log(dealt: Dealt, path: Path, flaws: Flaws, seed: int, progress: Callable[[int], None]) -> int:
    """How many rows come twice in the log that now lies at `path`, in the order of time."""
    draw = np.random.default_rng([seed, 2])
    rows = repeated = 0
    # One thread writes the same bytes on every machine; the file keeps what is dealt out of memory.
    with connected(threads=1, memory_limit=MEMORY, temp_directory=str(path.parent / "spill")) as connection:
        connection.execute(f"ATTACH {words(str(path.parent / 'rows.duckdb'))} AS scratch")
        for chunk in dealt.chunks:
            columns = _columns(dealt, chunk, rows, flaws.missing, draw)
            again = np.flatnonzero(draw.random(len(chunk.shown_at)) < flaws.duplicates)
            _keep(connection, columns)
            _keep(connection, {name: column[again] for name, column in columns.items()})
            rows, repeated = rows + len(chunk.shown_at), repeated + len(again)
            progress(len(chunk.shown_at))
        target = f"{words(str(path))} ({FORMATS[path.suffix]})"
        connection.execute(f"COPY (FROM scratch.log ORDER BY shown_at, id) TO {target}")
    return repeated


def _columns(dealt: Dealt, chunk: Chunk, first: int, missing: float, draw: np.random.Generator) -> Columns:
    size = len(chunk.shown_at)
    columns: Columns = {"id": first + np.arange(size), "shown_at": chunk.shown_at} | chunk.features
    for signal, values, symbols, days in (
        ("proxy", dealt.proxies, chunk.proxy, dealt.proxy_days),
        ("outcome", dealt.outcomes, chunk.outcome, dealt.outcome_days),
    ):
        gone = draw.random(size) < missing
        columns[signal] = np.array([*values, None], object)[np.where(gone, len(values), symbols)]
        columns[f"{signal}_at"] = np.ma.MaskedArray(chunk.shown_at + days * DAY, gone)
    if chunk.truth is not None:
        columns |= {f"truth_{value}": p for value, p in zip(dealt.outcomes, chunk.truth.T, strict=True)}
    return columns


def _keep(connection: duckdb.DuckDBPyConnection, columns: Columns) -> None:
    """Nothing; the columns now stand in the table of the log."""
    if not len(columns["id"]):
        return
    chosen = [f"make_timestamptz({quoted(n)}) AS {quoted(n)}" if n.endswith("_at") else quoted(n) for n in columns]
    connection.register("dealt", columns)
    query = f"SELECT {', '.join(chosen)} FROM dealt"
    connection.execute(f"CREATE TABLE IF NOT EXISTS scratch.log AS {query} LIMIT 0")
    connection.execute(f"INSERT INTO scratch.log {query}")
    connection.unregister("dealt")


def task_text(dealt: Dealt, log: str) -> str:
    """The task file of a log that is dealt."""
    lines = ["version = 1", f'name = "{dealt.name}"  # simulated: {log}', "", "[instance]", dealt.instance]
    for signal, values, days in (
        ("proxy", dealt.proxies, dealt.proxy_days),
        ("outcome", dealt.outcomes, dealt.outcome_days),
    ):
        listed = ", ".join(f'"{value}"' for value in values)
        lines += [f"[{signal}]", f"values = [{listed}]", f'horizon = "{days} day{"s" * (days > 1)}"', ""]
    lines += ["[log]", 'id = "id"', "", "[forecaster]", 'kind = "mixture"']
    return "\n".join([*lines, *([f"back_off = {dealt.back_off}"] if dealt.back_off else []), ""])
