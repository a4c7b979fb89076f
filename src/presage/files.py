"""Files and folders whose contents and names last: after a crash they are there whole or not at all."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from presage.errors import OutputError


def check_folder(folder: Path) -> Path:
    """The folder; refused at once if nothing can be written there. One that is not there yet is not left behind."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"0")
    except OSError as error:
        raise OutputError(
            "nothing can be written there", str(folder), f"choose another folder ({error.strerror})"
        ) from error
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()
    return folder


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are not there, with names that last."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in made:
        sync_folder(path.parent)


def rename(path: Path, name: Path) -> None:
    """Give a file or a folder another name, one that lasts, in the same file system."""
    path.rename(name)
    sync_folder(name.parent)


def sync_folder(folder: Path) -> None:
    """Make the names of the files in a folder durable."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_file(path: Path, data: bytes) -> None:
    """Write a file so that after a crash it is there whole or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    _write(unfinished, data)
    unfinished.replace(path)
    sync_folder(path.parent)


def write_together(folder: Path, files: dict[str, bytes]) -> list[Path]:
    """The paths of the files, all written and synced aside and only then moved in; if writing fails none is."""
    check_folder(folder).mkdir(parents=True, exist_ok=True)
    waiting = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder))
    try:
        for name, data in files.items():
            _write(waiting / name, data)
        return [(waiting / name).replace(folder / name) for name in files]
    except OSError as error:
        remedy = f"make room or choose another folder ({error.strerror})"
        raise OutputError("the results could not be written", str(folder), remedy) from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


def _write(path: Path, data: bytes) -> None:
    """Write a file that is on the disk when this returns."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
