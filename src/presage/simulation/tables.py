"""Simulated predictions as a table: drawn in chunks, spoilt if asked to be, and written to a file."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

from presage.dataframes import Columns
from presage.logs.tables import connected, quoted, sql_text
from presage.spaces import Array

CHUNK = 500_000
"""Rows dealt at once, at most."""
DAY = 86_400_000_000
"""Microseconds."""


class Chunk(NamedTuple):
    """Some predictions."""

    features: Columns
    shown_at: Array  # int64 [n]: microseconds since 1970 UTC
    proxy: Array  # [n]: symbols
    outcome: Array  # [n]
    truth: Array | None  # float64 [n, Y]: the world's true p(outcome)


def part_of(chunk: Chunk, rows: Array) -> Chunk:
    """Some rows of a chunk."""
    features = {name: column[rows] for name, column in chunk.features.items()}
    truth = None if chunk.truth is None else chunk.truth[rows]
    return Chunk(features, chunk.shown_at[rows], chunk.proxy[rows], chunk.outcome[rows], truth)


class SimulatedTable(NamedTuple):
    """A log that is dealt: what it is about, and its chunks."""

    name: str
    instance: str  # the [instance] table of its task file
    back_off: str
    proxies: tuple[str, ...]
    outcomes: tuple[str, ...]
    proxy_days: int
    outcome_days: int
    rows: int
    chunks: Iterator[Chunk]


FORMATS = {".parquet": "FORMAT parquet, COMPRESSION zstd", ".csv": "FORMAT csv, HEADER"}
MEMORY = "1GB"


class Flaws(NamedTuple):
    """What is wrong with a simulated log: the shares of feedback that is missing and of rows that come twice."""

    missing: float = 0.0
    duplicates: float = 0.0


def write_log(dealt: SimulatedTable, path: Path, flaws: Flaws, seed: int, progress: Callable[[int], None]) -> int:
    """How many rows come twice in the log that now lies at `path`, in the order of time."""
    draw = np.random.default_rng([seed, 2])
    rows = repeated = 0
    # One thread writes the same bytes on every machine; the file keeps what is dealt out of memory.
    with connected(threads=1, memory_limit=MEMORY, temp_directory=str(path.parent / "spill")) as connection:
        connection.execute(f"ATTACH {sql_text(str(path.parent / 'rows.duckdb'))} AS scratch")
        for chunk in dealt.chunks:
            columns = _columns(dealt, chunk, rows, flaws.missing, draw)
            again = np.flatnonzero(draw.random(len(chunk.shown_at)) < flaws.duplicates)
            _keep(connection, columns)
            _keep(connection, {name: column[again] for name, column in columns.items()})
            rows, repeated = rows + len(chunk.shown_at), repeated + len(again)
            progress(len(chunk.shown_at))
        target = f"{sql_text(str(path))} ({FORMATS[path.suffix]})"
        connection.execute(f"COPY (FROM scratch.log ORDER BY shown_at, id) TO {target}")
    return repeated


def _columns(dealt: SimulatedTable, chunk: Chunk, first: int, missing: float, draw: np.random.Generator) -> Columns:
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


def written_here(task: Path, log: str) -> bool:
    """Whether a task file is one of ours, beside a log that was simulated."""
    try:
        return SIMULATED.format(log=log) in task.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False


SIMULATED = "  # simulated: {log}\n"


def task_text(dealt: SimulatedTable, log: str) -> str:
    """The task file of a log that is dealt."""
    lines = ["version = 1", f'name = "{dealt.name}"{SIMULATED.format(log=log)}', "[instance]", dealt.instance]
    for signal, values, days in (
        ("proxy", dealt.proxies, dealt.proxy_days),
        ("outcome", dealt.outcomes, dealt.outcome_days),
    ):
        listed = ", ".join(f'"{value}"' for value in values)
        lines += [f"[{signal}]", f"values = [{listed}]", f'horizon = "{days} day{"s" * (days > 1)}"', ""]
    lines += ["[log]", 'id = "id"', "", "[forecaster]", 'kind = "mixture"']
    return "\n".join([*lines, *([f"back_off = {dealt.back_off}"] if dealt.back_off else []), ""])
