"""A log read into arrays: predictions in the order of time, and when each proxy and outcome became known."""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from presage.errors import DataError
from presage.logs.broken import in_a_line
from presage.logs.encoded import fetch, fetch_instances, order_rows
from presage.logs.engines import engine_called
from presage.logs.exclusions import Exclusions
from presage.logs.joined import join_log
from presage.logs.judged import check_values, judge
from presage.logs.quoting import words
from presage.logs.room import check_room
from presage.logs.tables import connected
from presage.logs.vocabularies import learn_vocabularies
from presage.spaces import Array, Features, Instance
from presage.task.task import Task, Vocabulary

MEMORY = "2GB"
"""What DuckDB may use before it goes to the disk."""


class Revealed(NamedTuple):
    """One signal of every row."""

    name: str
    symbols: Array  # int32 [N]: -1 where censored
    known_at: Array  # int64 [N]: microseconds since 1970 UTC; NEVER_AT where censored
    position: Array | None = None  # int64 [N]: of a log that a service exported, that at which it became learnable


class LogRows(NamedTuple):
    """N predictions by shown_at; those of one instant in the order of their ids, or as they came."""

    id: Array  # [N]: whole numbers or words; the number of the row in the log where the task names no id
    shown_at: Array  # int64 [N]: microseconds since 1970 UTC
    instances: Instance  # symbols [N, S], the identity first; dense [N, F]
    proxies: tuple[Revealed, ...]
    outcome: Revealed
    group: Array | None  # int64 [N]: which predictions compete with each other
    features: Features
    vocabularies: dict[str, Vocabulary]  # by feature
    models: Array | None = None  # int64 [N]: of a log that a service exported, the position its model had learnt up to
    json: Array | None = None  # text [N]: the features as a JSON object by name, where they were asked for

    def proxy(self, name: str | None = None) -> Revealed:
        """A candidate by name; the first where no name is given."""
        for proxy in self.proxies:
            if name in (None, proxy.name):
                return proxy
        names = ", ".join(proxy.name for proxy in self.proxies)
        raise DataError("the log was read without this proxy", name, f"choose one of {names}")


def read_log(
    task: Task,
    log: Any,
    *,
    engine: str = "duckdb",
    moments: Any = None,
    memory: str = MEMORY,
    session: Any = None,
    raw: bool = False,
) -> tuple[LogRows, Exclusions]:
    """The rows of a log, and what was left out of it or stayed unknown.

    Args:
        task: Says which columns are what.
        log: A file or folder of Parquet, CSV or NDJSON, FILE.duckdb::TABLE, or a dataframe.
        engine: "duckdb" or "spark".
        moments: For raw events, the log of moments, where it is not the file that the task names.
        memory: What DuckDB may use before it goes to the disk.
        session: A Spark session; without one Spark is started, and stopped in the end.
        raw: Whether the features are wanted as JSON, too.
    """
    with tempfile.TemporaryDirectory(prefix="presage-") as scratch:
        folder = Path(scratch)
        with connected(memory_limit=memory, temp_directory=str(folder / "spill")) as connection:
            # In a file, unlike in memory, tables are compressed.
            connection.execute(f"ATTACH {words(str(folder / 'rows.duckdb'))} AS scratch")
            connection.execute("USE scratch")
            try:
                with engine_called(engine, connection, folder, session) as working:
                    name, unused = join_log(task, log, working, moments)
                    return _rows(connection, task, name, unused, raw)
            except duckdb.Error as error:
                remedy = "correct the log, or make room on the disk"
                raise DataError("the log cannot be read to its end", in_a_line(error), remedy) from error


def _rows(
    connection: duckdb.DuckDBPyConnection, task: Task, name: str, unused: dict[str, int], raw: bool
) -> tuple[LogRows, Exclusions]:
    judged = judge(connection, task, name)
    check_values(connection, task, name)
    vocabularies = learn_vocabularies(connection, task, name)
    features = task.features(vocabularies)
    check_room(name, judged.kept, features, len(task.signals))
    order_rows(connection, task, vocabularies, raw)
    served = task.log.model is not None
    revealed = tuple(
        Revealed(
            signal.name,
            fetch(connection, f"s{n}"),
            fetch(connection, f"k{n}"),
            fetch(connection, f"p{n}") if served else None,
        )
        for n, signal in enumerate(task.signals)
    )
    rows = LogRows(
        id=fetch(connection, "id"),
        shown_at=fetch(connection, "shown_at"),
        instances=fetch_instances(connection, features, judged.kept),
        proxies=revealed[:-1],
        outcome=revealed[-1],
        group=fetch(connection, "grp") if task.log.group else None,
        features=features,
        vocabularies=vocabularies,
        models=fetch(connection, "model") if served else None,
        json=fetch(connection, "json") if raw else None,
    )
    if rows.models is not None and (np.diff(rows.models) < 0).any():
        wrong, remedy = f"the models of {name} do not follow their predictions", "export the log again"
        raise DataError(wrong, int(rows.id[np.argmax(np.diff(rows.models) < 0)]), remedy)
    return rows, judged.excluded._replace(counts=unused | judged.excluded.counts)
