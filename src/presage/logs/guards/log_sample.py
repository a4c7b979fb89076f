"""The rows of a log that are looked at for leaks: all of them, or a sample that is always the same one."""

from typing import NamedTuple

import duckdb
import numpy as np

from presage.logs.columns import feature_name
from presage.logs.signals import Fate
from presage.spaces import Array
from presage.task.task import Task

SAMPLE = 100_000
"""Rows that are looked at; a longer log is thinned to about as many, always the same ones."""


class LogSample(NamedTuple):
    """The rows that are looked at, in the order of time."""

    connection: duckdb.DuckDBPyConnection  # in which they stand under `looked`
    shown_at: Array  # int64 [N]: microseconds
    symbols: tuple[Array, ...]  # by signal, [N]: -1 where not known
    delay: Array  # int64 [N]: of the outcome
    fate: Array  # [N]: of the outcome
    ripe: Array  # bool [N]: shown long enough before the end of the log

    def column(self, value: str) -> Array:
        """What an SQL expression over the columns of `joined` gives in each row."""
        found = self.connection.execute(f"SELECT {value} AS v FROM looked").fetchnumpy()["v"]
        return np.ma.filled(found, 0) if isinstance(found, np.ma.MaskedArray) else np.asarray(found)


def log_sample(connection: duckdb.DuckDBPyConnection, task: Task) -> LogSample:
    """The rows that are looked at, out of the relation `joined`; they now stand under `looked`, too."""
    last = len(task.signals) - 1
    rows = int(connection.execute("SELECT count(*) FROM joined").fetchall()[0][0])
    # The same rows whatever machine reads the log: neither the first ones nor every tenth, as many logs have a rhythm.
    thin = f'("row" * 2654435761) % 4294967296 < {int(2**32 * min(1.0, SAMPLE / max(rows, 1)))}'
    columns = ", ".join(
        [
            *(feature_name(place) for place in range(len(task.instance))),
            *(f"s{n}" for n in range(last + 1)),
            f"k{last} - shown_at AS delay, w{last} AS fate",
        ]
    )
    there = f"shown_at IS NOT NULL AND w{last} <> {Fate.EARLY}"
    query = f'SELECT "row", shown_at, {columns} FROM joined WHERE {there} AND {thin} ORDER BY shown_at, "row"'
    connection.execute(f"CREATE TEMP TABLE looked AS {query}")
    signals = ", ".join(f"s{n}" for n in range(last + 1))
    found = connection.execute(f"SELECT shown_at, {signals}, delay, fate FROM looked").fetchnumpy()
    fate, shown_at = np.asarray(found["fate"]), np.asarray(found["shown_at"])
    pending = shown_at[fate == Fate.OPEN]
    ripe = shown_at < pending.min() if len(pending) else np.ones(len(fate), bool)
    symbols = tuple(np.asarray(found[f"s{n}"]) for n in range(last + 1))
    return LogSample(connection, shown_at, symbols, np.asarray(found["delay"]), fate, ripe)
