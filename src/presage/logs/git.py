"""Git run on a clone that may be anyone's: no shell, no network, no settings but ours."""

import os
import subprocess
from pathlib import Path

from presage.errors import DataError

# A clone's own settings could run a program to check signatures, and replaced objects would rewrite its past.
SAFELY = ("--no-pager", "--no-replace-objects", "-c", "safe.directory=*", "-c", "log.showSignature=false")
QUIETLY = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}


def run_git(git_dir: Path, *arguments: str) -> str | None:
    """What git printed about the clone with this git folder, or None if it could not."""
    # Variables such as GIT_OBJECT_DIRECTORY, set while a hook runs, would point git at another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", f"--git-dir={git_dir}", *SAFELY, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, env=environment | QUIETLY, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError as error:
        raise DataError("git is needed to read clones", "no git on the PATH", "install git") from error
    return None if done.returncode else done.stdout.decode("utf-8", "replace")


def git_folder(path: Path) -> Path | None:
    """The git folder of a clone, bare or not; None if the path is not the root of a clone."""
    if (path / ".git").exists():
        return path / ".git"
    return path if (path / "HEAD").is_file() and (path / "objects").is_dir() else None
