"""Bytes of the log per prediction, beside another version: `python -m benchmarks log_bytes FOLDER LOG=TASK ...`.

FOLDER is a checkout of the other version. Both import rows from all of each LOG with a task file that a service takes,
and nothing else differs. All feedback is in the log by then, and the file is counted after VACUUM.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw
import duckdb

from benchmarks.blocks import Tell, spread
from benchmarks.figures import Figure, Target
from benchmarks.served import ENTRY
from benchmarks.versions import environment
from presage.joining.entries import EntryKind

ROWS = 2_000
"""How many rows of a log, as far apart as each other, are imported."""
MOST = 2.0
"""How many times the bytes of the other version a prediction may take."""


class Taken(NamedTuple):
    """The bytes that a prediction takes."""

    file: float  # of the database, with the feedback and all indexes
    entry: float  # of what the log says of the prediction itself


def figures(arguments: list[str], tell: Tell) -> Iterator[Figure]:
    """This version against the one in the folder named first, on the logs named after it."""
    sources = {"this": Path(__file__).parents[1] / "src", "other": Path(arguments[0]).resolve() / "src"}
    for each in arguments[1:]:
        log, task = each.split("=", 1)
        name = Path(log).stem
        with TemporaryDirectory() as place:
            rows = Path(place) / "log.parquet"
            numbered = f"SELECT *, row_number() OVER () * {ROWS} AS place, count(*) OVER () AS of FROM '{log}'"
            some = f"SELECT * EXCLUDE (place, of) FROM ({numbered}) WHERE of <= {ROWS} OR place % of < {ROWS}"
            duckdb.sql(f"COPY ({some}) TO '{rows}' (FORMAT parquet)")
            found = {}
            for side, source in sources.items():
                tell(f"log_bytes/{name}: {side}")
                found[side] = taken(source, rows, Path(task), Path(place) / side)
        for part, ours, theirs in zip(Taken._fields, found["this"], found["other"], strict=True):
            against = f"the other {theirs:.0f}"
            yield Figure(
                f"log_bytes/{name}/{part}", spread([ours]), "bytes", against, spread([ours / theirs]),
                Target(MOST, at_most=True),
            )  # fmt: skip


def taken(source: Path, log: Path, task: Path, data: Path) -> Taken:
    """What the version in `source` takes for each row of a log."""
    command = [sys.executable, "-c", ENTRY, "log", "import", str(log), "--task", str(task), "--data", str(data)]
    subprocess.run(command, env=environment(source), check=True, stdout=subprocess.DEVNULL)
    database = apsw.Connection(str(data / "log.sqlite"))
    database.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    columns = {name for _, name, *_ in database.execute("PRAGMA table_info(log)")}
    said = " + ".join(f"length({name})" for name in ("envelope", "body") if name in columns)  # format 1 has no envelope
    query = f"SELECT count(*), sum({said}) FROM log WHERE kind = ?"
    ((count, entries),) = database.execute(query, (int(EntryKind.PREDICTED),))
    database.close()
    return Taken((data / "log.sqlite").stat().st_size / count, entries / count)
