"""The data folder of a service: it belongs to one task for ever."""

import dataclasses
import difflib
import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from presage.errors import OtherTaskError
from presage.store.files import check_folder, make_folder, rename, write_together
from presage.task.task import Task, load_task

TASK = "task.toml"


class Refold(NamedTuple):
    """A data folder that is folded anew: where the old one goes, and where the new one waits, whole, for its place."""

    aside: Path
    made: Path


def refolds(folder: Path) -> Iterator[Refold]:
    """All times that a data folder could be folded anew, the first one first."""
    for number in itertools.count(1):
        beside = folder.with_name
        yield Refold(beside(f"{folder.name}.before-{number}"), beside(f".{folder.name}.refolded-{number}"))


def same_task(task_file: Path, folder: Path) -> bool:
    """Whether a data folder is new or was made with this task."""
    return not (folder / TASK).exists() or _plain(load_task(folder / TASK)) == _plain(load_task(task_file))


def open_folder(task_file: Path, folder: Path) -> tuple[Task, bytes]:
    """The task of a folder and its digest; the folder is made if there is none, and refused if it has another task."""
    load_task(task_file)  # refused before anything is made
    if not folder.exists():
        for refold in itertools.takewhile(lambda each: each.aside.exists(), refolds(folder)):
            if refold.made.exists():
                rename(refold.made, folder)  # it was interrupted when the old one had been put aside
                break
    kept = folder / TASK
    if not kept.exists():
        make_folder(check_folder(folder))
        write_together(folder, {TASK: task_file.read_bytes()})
    ours = load_task(kept)
    if not same_task(task_file, folder):
        lines = difflib.unified_diff(
            kept.read_text().splitlines(), task_file.read_text().splitlines(), lineterm="", n=0
        )
        changed = "; ".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))
        remedy = "serve the task that the folder was made with, choose another folder, or fold it anew with --refold"
        raise OtherTaskError("the task file differs from that of the data folder", changed, remedy)
    return ours, task_digest(folder)


def task_digest(folder: Path) -> bytes:
    """The digest of the task file of a data folder, from which the chain of its log starts."""
    return hashlib.blake2b((folder / TASK).read_bytes(), digest_size=32).digest()


def _plain(task: Task) -> Task:
    """The task wherever its file lies."""
    return dataclasses.replace(task, folder=Path())
