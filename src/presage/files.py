"""Durable files and folders: after a crash each is there as a whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from presage.errors import OutputError

MARK = ".presage"
"""The file that marks a folder of results as ours: only such a folder is written into again."""

_FILE, _FOLDER = {False: 0o666, True: 0o600}, {False: 0o777, True: 0o700}
"""The permissions of what is made, private or not, before the umask of the process."""

UNFINISHED = ".unfinished-"
"""How the names of folders begin in which files wait to be moved; a killed run leaves one behind."""


def check_results_folder(folder: Path) -> Path:
    """The folder, refused at once if results cannot be written to it, or if it holds files that are not ours."""
    check_empty_or_ours(folder, (MARK,))
    return check_folder(folder)


def check_empty_or_ours(folder: Path, ours: Iterable[str]) -> None:
    """Raise OutputError if a folder holds something, but none of the files that make it ours."""
    try:
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith((UNFINISHED, "lost+found")))
    except OSError:  # there is no folder yet, or one that cannot be read: writing into it tells
        return
    if names and not set(ours) & set(names):
        wrong = f"{folder} is not empty and was not made by presage"
        raise OutputError(wrong, ", ".join(names[:3]), "choose a new folder, or empty this one")


def write_results(folder: Path, files: dict[str, bytes]) -> list[Path]:
    """The paths of the files, written together into a folder that is then marked as ours."""
    check_results_folder(folder)
    mark = {MARK: b"A folder of results that presage wrote, and may write again.\n"}
    return write_together(folder, mark | files)[1:]


def check_folder(folder: Path) -> Path:
    """The folder, refused at once if nothing can be written to it. A folder that did not exist is not left behind."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"0")
    except OSError as error:
        raise OutputError(
            "nothing can be written to this folder", str(folder), f"choose another folder ({error.strerror})"
        ) from error
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()
    return folder


def has_space(folder: Path, size: int) -> bool:
    """Whether a file of this size can be written to a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            os.posix_fallocate(probe.fileno(), 0, size)
    except OSError:
        return False
    return True


def make_folder(folder: Path, *, private: bool = False) -> None:
    """Make a folder, and any missing ones above it, durably; a private one is for this user alone."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(_FOLDER[private], parents=True, exist_ok=True)
    for path in made:
        sync_folder(path.parent)


def rename(path: Path, name: Path) -> None:
    """Rename a file or folder durably, in the same file system."""
    path.rename(name)
    sync_folder(name.parent)


def sync_folder(folder: Path) -> None:
    """Make the names of the files in a folder durable."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_file(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file so that after a crash it is there whole or not at all; a private one is for this user alone."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    _write(unfinished, data, private)
    unfinished.replace(path)
    sync_folder(path.parent)


def write_together(folder: Path, files: dict[str, bytes], *, private: bool = False) -> list[Path]:
    """The paths of the files, all written and synced aside and only then moved in; if writing fails none is."""
    check_folder(folder).mkdir(_FOLDER[private], parents=True, exist_ok=True)
    waiting = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
    try:
        for name, data in files.items():
            _write(waiting / name, data, private)
        return [(waiting / name).replace(folder / name) for name in files]
    except OSError as error:
        remedy = f"free some space or choose another folder ({error.strerror})"
        raise OutputError("the results could not be written", str(folder), remedy) from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


def _write(path: Path, data: bytes, private: bool) -> None:
    """Write a file that is on the disk when this returns."""
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, _FILE[private])) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
