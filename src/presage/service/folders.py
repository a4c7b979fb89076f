"""The data folder of a service: it belongs to one task for ever."""

import dataclasses
import difflib
import hashlib
from pathlib import Path

from presage.errors import OtherTaskError
from presage.store.files import write_together
from presage.task.task import Task, load_task

TASK = "task.toml"


def open_folder(task_file: Path, folder: Path) -> tuple[Task, bytes]:
    """The task of a folder and its digest; the folder is made if there is none, and refused if it has another task."""
    task = load_task(task_file)
    kept = folder / TASK
    if not kept.exists():
        write_together(folder, {TASK: task_file.read_bytes()})
    ours = load_task(kept)
    if _plain(ours) != _plain(task):
        lines = difflib.unified_diff(
            kept.read_text().splitlines(), task_file.read_text().splitlines(), lineterm="", n=0
        )
        changed = "; ".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))
        remedy = "serve the task that the folder was made with, or choose another folder"
        raise OtherTaskError("the task file differs from that of the data folder", changed, remedy)
    return ours, hashlib.blake2b(kept.read_bytes(), digest_size=32).digest()


def _plain(task: Task) -> Task:
    """The task wherever its file lies."""
    return dataclasses.replace(task, folder=Path())
