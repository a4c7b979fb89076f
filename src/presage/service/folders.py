"""Data folders: their task and forecaster, and whether these still fit."""

import dataclasses
import difflib
import hashlib
import itertools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from presage.errors import DataError, OtherRevisionError, OtherTaskError, OutputError
from presage.files import check_empty_or_ours, check_folder, make_folder, rename, write_together
from presage.forecasters.catalogue import all_revisions, facts_of
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import revisions_of
from presage.joining.entries import NOTHING
from presage.joining.join import Horizons
from presage.spaces import Spaces
from presage.task.features import Category
from presage.task.task import Task, Vocabulary, load_task


def task_spaces(task: Task) -> Spaces:
    """The spaces of a task whose file declares all values of its features."""
    known = {f.name: Vocabulary(f.values, 1 if isinstance(f, Category) else f.slots or 1) for f in task.learned}
    return task.spaces(known)


def task_forecaster(task: Task) -> Forecaster:
    """The forecaster of a task, of the current revision."""
    return task_forecasters(task)[0]


def task_forecasters(task: Task) -> tuple[Forecaster, ...]:
    """The forecaster of a task, and then its older revisions that are kept."""
    return all_revisions(task.forecaster.kind, task_spaces(task), facts_of(task))


def horizons_of(task: Task) -> Horizons:
    """The horizons of the signals of a task."""
    proxy, outcome = task.proxy(), task.outcome
    absent = (NOTHING if s.absent_symbol is None else s.absent_symbol for s in (proxy, outcome))
    return Horizons(proxy.horizon.microseconds, outcome.horizon.microseconds, *absent)


TASK, FORECASTER, SNAPSHOTS = "task.toml", "forecaster.json", "snapshots"

FIRST = 1
"""The revision of every forecaster in version 0.1.0, which did not record it."""


class Recorded(msgspec.Struct, frozen=True):
    """The forecaster that a data folder was made with: its name, and its revisions as `revisions_of` gives them."""

    name: str
    revisions: dict[str, int]


class Refold(NamedTuple):
    """The rebuild of a data folder: the new place of the old one, and the place where the new one waits, complete."""

    aside: Path
    made: Path


def refolds(folder: Path) -> Iterator[Refold]:
    """All possible rebuilds of a data folder, the first one first."""
    for number in itertools.count(1):
        beside = folder.with_name
        yield Refold(beside(f"{folder.name}.before-{number}"), beside(f".{folder.name}.refolded-{number}"))


def check_new(folder: Path) -> None:
    """Raise OutputError if a folder holds anything."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError("the data folder is not empty", str(folder), "choose a new folder")


@contextmanager
def made_folder(folder: Path) -> Iterator[Path]:
    """A place for the files of a new data folder, which appears only if all goes well."""
    check_new(folder)
    waiting = folder.with_name(f".{folder.name}.unfinished")
    if waiting.exists():
        shutil.rmtree(waiting)
    try:
        make_folder(waiting, private=True)
        yield waiting
        if folder.exists():
            folder.rmdir()
        rename(waiting, folder)
    except OSError as error:
        remedy = f"choose another folder ({error.strerror})"
        raise OutputError("the data folder cannot be written", str(folder), remedy) from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


def same_task(task_file: Path, folder: Path) -> bool:
    """Whether a data folder is new or was made with this task."""
    return not (folder / TASK).exists() or _plain(load_task(folder / TASK)) == _plain(load_task(task_file))


def up_to_date(task_file: Path, folder: Path) -> bool:
    """Whether a data folder is new, or was made with this task and the current revision of its forecaster."""
    return same_task(task_file, folder) and not other_revision(folder)


def other_revision(folder: Path) -> str:
    """How a data folder's revisions differ from the current ones; empty if they do not, or if there is no folder."""
    if not (folder / TASK).exists():
        return ""
    current = revisions_of(task_forecaster(load_task(folder / TASK)))
    theirs = dict.fromkeys(current, FIRST) | _recorded(folder)
    differ = [(name, number) for name, number in theirs.items() if number != current.get(name)]
    return ", ".join(f"{name} revision {number} (now {current.get(name, 'not used')})" for name, number in differ)


def folder_forecaster(folder: Path) -> Forecaster:
    """The forecaster of a data folder: its task's, in the revision that made the folder.

    Raise OtherRevisionError if that revision is no longer kept, or newer than this version.
    """
    forecasters, recorded = task_forecasters(load_task(folder / TASK)), _recorded(folder)
    for forecaster in forecasters:
        ours = revisions_of(forecaster)
        if dict.fromkeys(ours, FIRST) | recorded == ours:
            return forecaster
    current = revisions_of(forecasters[0])
    if any(number > current.get(name, number) for name, number in recorded.items()):
        wrong = "the data folder was made with a newer revision of the forecaster"
        remedy = "use a newer version of presage, or rebuild the folder with `presage serve --refold`"
    else:
        wrong = "the data folder was made with an old revision of the forecaster that this version no longer has"
        remedy = "rebuild the folder with `presage serve --refold`, or use the version of presage that made it"
    raise OtherRevisionError(wrong, other_revision(folder), remedy)


def open_folder(task_file: Path, folder: Path) -> tuple[Task, bytes]:
    """The task of a folder and its digest; a missing folder is created, one with another task refused."""
    forecaster = task_forecaster(load_task(task_file))  # refused before anything is made
    if not folder.exists():
        for refold in itertools.takewhile(lambda each: each.aside.exists(), refolds(folder)):
            if refold.made.exists():
                rename(refold.made, folder)  # it was interrupted when the old one had been put aside
                break
    kept = folder / TASK
    if not kept.exists():
        check_empty_or_ours(folder, (FORECASTER,))  # it is there alone if making the folder was interrupted
        make_folder(check_folder(folder), private=True)
        record = msgspec.json.encode(Recorded(forecaster.name, revisions_of(forecaster)))
        # The task is last: it makes the folder.
        write_together(folder, {FORECASTER: record, TASK: task_file.read_bytes()}, private=True)
    ours = load_task(kept)
    if not same_task(task_file, folder):
        lines = difflib.unified_diff(
            kept.read_text().splitlines(), task_file.read_text().splitlines(), lineterm="", n=0
        )
        changed = "; ".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))
        remedy = "use the task file that the folder was made with, choose another folder, or rebuild it with --refold"
        raise OtherTaskError("the task file differs from the data folder's", changed, remedy)
    return ours, task_digest(folder)


def task_digest(folder: Path) -> bytes:
    """The digest of the task file of a data folder, from which the chain of its log starts."""
    return hashlib.blake2b((folder / TASK).read_bytes(), digest_size=32).digest()


def _recorded(folder: Path) -> dict[str, int]:
    """The revisions that a data folder was made with; a name that is not there has the first."""
    try:
        return msgspec.json.decode((folder / FORECASTER).read_bytes(), type=Recorded).revisions
    except FileNotFoundError:
        return {}  # made by version 0.1.0
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        remedy = f"restore it from a backup ({error})"
        raise DataError("the forecaster of a data folder cannot be read", str(folder / FORECASTER), remedy) from error


def _plain(task: Task) -> Task:
    """The task without the place of its file."""
    return dataclasses.replace(task, folder=Path())
