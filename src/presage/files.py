"""Files written together: nothing is put in place before everything is on the disk."""

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


def rename(folder: Path, name: Path) -> None:
    """Give a folder another name, one that lasts, beside the old."""
    folder.rename(name)
    sync_folder(name.parent)


def sync_folder(folder: Path) -> None:
    """Make the names of the files in a folder durable."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_together(folder: Path, files: dict[str, bytes]) -> list[Path]:
    """The paths of the files, all written and synced aside and only then moved in; if writing fails none is."""
    check_folder(folder).mkdir(parents=True, exist_ok=True)
    waiting = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder))
    try:
        for name, data in files.items():
            with (waiting / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        return [(waiting / name).replace(folder / name) for name in files]
    except OSError as error:
        remedy = f"make room or choose another folder ({error.strerror})"
        raise OutputError("the results could not be written", str(folder), remedy) from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)
