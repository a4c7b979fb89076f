"""Copies of data folders: backups, and what commands read while a service uses the folder itself."""

import tempfile
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

from presage.errors import DataError, StoreInUseError
from presage.files import write_file
from presage.journal.copying import WAL, bytes_of, copy_log
from presage.journal.head_marker import EPOCH
from presage.journal.interface import Head
from presage.journal.rewriting import Rewriting, RewrittenLog, rewrite_log
from presage.journal.sqlite import FILE, SqliteLog
from presage.journal.verify import verify_chain, verify_log
from presage.progress import Progress
from presage.service.folders import FORECASTER, TASK, horizons_of, made_folder, task_digest
from presage.task.task import load_task


def check_log(folder: Path) -> None:
    """Raise DataError if a folder has no log."""
    if not (folder / FILE).exists():
        raise DataError("there is no log in the data folder", str(folder), "give the folder that `presage serve` made")


def copy_task(folder: Path, target: Path) -> None:
    """Copy what a data folder has beside its log: the task file, and the record of the forecaster."""
    for name in (FORECASTER, TASK):
        if (folder / name).exists():
            write_file(target / name, (folder / name).read_bytes(), private=True)


def backup_folder(folder: Path, out: Path, progress: Progress) -> Head:
    """The head of a copy of a data folder, whether a service is using it or not; its chain of hashes is checked.

    It holds everything that was acknowledged before, and no snapshots.
    """
    check_log(folder)
    with made_folder(out) as waiting:
        copy_task(folder, waiting)
        with progress("log: bytes copied", bytes_of(folder)) as step:
            copy_log(folder, waiting, step)
        store = SqliteLog(waiting, task_digest(waiting), only_chain=True)
        try:
            with progress("log: entries checked", store.head.seq) as step:
                head = verify_chain(store, step)
        finally:
            store.close()
        (waiting / EPOCH).unlink()  # it belongs to a folder, not to a log
        if not (waiting / WAL).stat().st_size:
            (waiting / WAL).unlink()  # it was moved into the file
    return head


def rewrite_folder(folder: Path, out: Path, until: int | None, excluded: Set[str], progress: Progress) -> RewrittenLog:
    """The head of a new data folder in the newest format, with a log up to a position, without some ids.

    The new log is verified as a whole. It has no snapshots: what is left is folded when the folder is served.
    """
    check_log(folder)
    task, digest = load_task(folder / TASK), task_digest(folder)
    horizons = horizons_of(task)
    source = SqliteLog(folder, digest)
    try:
        if not source.head.seq:
            raise DataError("the log is empty", str(folder), "give a folder with a history")
        what = Rewriting(source.head.seq if until is None else until, excluded)
        with made_folder(out) as waiting:
            copy_task(folder, waiting)
            target = SqliteLog(waiting, digest, synced=False)
            try:
                with progress("log: entries rewritten", source.head.seq) as step:
                    written = rewrite_log(source, target, horizons, what, step)
                with progress("log: entries checked", written.head.seq) as step:
                    verify_log(target, horizons, step)
            finally:
                target.close()
    finally:
        source.close()
    return written


@contextmanager
def readable_log(folder: Path, progress: Progress, *, only_chain: bool = False) -> Iterator[SqliteLog]:
    """The log of a folder; where a service is using it, a copy in a temporary folder."""
    check_log(folder)
    digest = task_digest(folder)
    try:
        store = SqliteLog(folder, digest, only_chain=only_chain)
    except StoreInUseError:
        with tempfile.TemporaryDirectory(prefix="presage-") as place:
            with progress("the service is running: bytes of its log copied", bytes_of(folder)) as step:
                copy_log(folder, Path(place), step)
            yield from _until_closed(SqliteLog(Path(place), digest, only_chain=only_chain))
    else:
        yield from _until_closed(store)


def _until_closed(store: SqliteLog) -> Iterator[SqliteLog]:
    try:
        yield store
    finally:
        store.close()
