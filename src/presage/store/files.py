"""Files written together: nothing is put in place before everything is on the disk."""

import os
import shutil
import tempfile
from pathlib import Path

from presage.errors import OutputError


def check_folder(folder: Path) -> Path:
    """The folder, made if need be; refused at once if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"0")
    except OSError as error:
        raise OutputError(
            "nothing can be written there", str(folder), f"choose another folder ({error.strerror})"
        ) from error
    return folder


def write_together(folder: Path, files: dict[str, bytes]) -> list[Path]:
    """The paths of the files, all written and synced aside and only then moved in; if writing fails none is."""
    check_folder(folder)
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
