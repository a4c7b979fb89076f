"""Commit histories from git clones on this machine, which need not be trusted."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from presage.dataframes import Columns
from presage.errors import DataError
from presage.experiments.data.commit_tables import CommitTables, commit_tables
from presage.experiments.data.languages import count_languages
from presage.logs.cleaning import Exclusions, left_out
from presage.logs.columns import LATEST
from presage.logs.tables import connected

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


NOT_GIT = "folders that are not git clones"
BROKEN = "clones git cannot read"
SHALLOW = "shallow clones"
EMPTY = "empty repositories"
FUTURE = "commits dated in the future"
UNDATED = "commits without a date"
FIELD = "\x1f"


class Clone(NamedTuple):
    """The commits behind HEAD of one clone, and the languages of its newest tree."""

    at: list[int]  # seconds since 1970 UTC, newest first
    merges: list[bool]  # has two parents or more
    bot: list[bool]  # written by a name or an address with [bot]
    languages: dict[str, int]  # files
    undated: int  # commits whose date git cannot tell, left out of the rest


def find_clones(folder: Path) -> dict[str, Path | None]:
    """The git folder of each clone in a folder by its name, NAME or OWNER/NAME; None for a folder that is no clone."""
    found: dict[str, Path | None] = {}
    for path in _folders(folder):
        inner = {} if git_folder(path) else {f"{path.name}/{deep.name}": git_folder(deep) for deep in _folders(path)}
        found |= inner if any(inner.values()) else {path.name: git_folder(path)}
    return found


def read_clones(
    folder: Path, now: int | None = None, progress: Callable[[int], None] = lambda _: None
) -> tuple[CommitTables, Exclusions]:
    """The three tables of a commit history from all clones in a folder, and what was left out.

    Every folder in it is a clone, bare or not, or an owner's folder of clones. A clone counts with all commits
    behind its HEAD. Shallow and empty clones are left out, for their past is not known; so are commits dated after
    `now` (seconds since 1970), for one of them would make every other repository look abandoned.
    """
    excluded: dict[str, list[str]] = {reason: [] for reason in (NOT_GIT, BROKEN, SHALLOW, EMPTY)}
    clones: dict[str, Clone] = {}
    for name, git_dir in find_clones(folder).items():
        clone = _read_clone(git_dir)
        if isinstance(clone, Clone):
            clones[name] = clone
        else:
            excluded[clone].append(name)
        progress(1)
    columns, languages = _columns(clones)
    past = columns["committed_at"] <= np.datetime64(LATEST if now is None else now, "s")
    undated = sum(clone.undated for clone in clones.values())
    exclusions = left_out(excluded | {FUTURE: int((~past).sum()), UNDATED: undated})
    if not past.any():
        remedy = "give a folder of complete clones, one folder each"
        raise DataError("the folder has no clone with a history", "; ".join(exclusions.lines()) or str(folder), remedy)
    with connected() as connection:
        connection.register("raw", {name: column[past] for name, column in columns.items()})
        connection.register("raw_languages", languages)
        return commit_tables(connection, ("merges", "bot")), exclusions


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError as error:
        remedy = f"give a folder that holds clones ({error.strerror})"
        raise DataError("the folder cannot be read", str(folder), remedy) from error


def _read_clone(git_dir: Path | None) -> Clone | str:
    """What is in a clone, or the reason why it is left out."""
    if git_dir is None:
        return NOT_GIT
    shallow = run_git(git_dir, "rev-parse", "--is-shallow-repository")
    if shallow is None:
        return BROKEN
    if shallow.strip() == "true":
        return SHALLOW
    if run_git(git_dir, "rev-parse", "--quiet", "--verify", "HEAD") is None:
        return EMPTY
    log = run_git(git_dir, "log", "--encoding=UTF-8", f"--format=%ct{FIELD}%P{FIELD}%an{FIELD}%ae", "HEAD", "--")
    tree = run_git(git_dir, "ls-tree", "-r", "-z", "HEAD")
    if log is None or tree is None:
        return BROKEN
    # Split at newlines only: a name may hold any other mark that splits lines elsewhere.
    commits = [row.split(FIELD, 2) for row in log.split("\n") if row]
    rows = [row for row in commits if row[0].isdigit() and int(row[0]) < LATEST]
    files = [entry.partition("\t")[2] for entry in tree.split("\0") if entry.startswith("100")]  # no links, submodules
    return Clone(
        at=[int(at) for at, _, _ in rows],
        merges=[" " in parents for _, parents, _ in rows],
        bot=["[bot]" in author for _, _, author in rows],
        languages=count_languages(files),
        undated=len(commits) - len(rows),
    )


def _columns(clones: dict[str, Clone]) -> tuple[Columns, Columns]:
    """All commits with their marks, and all languages."""
    commits = {
        "repo": np.repeat(np.array(list(clones), object), [len(clone.at) for clone in clones.values()]),
        "committed_at": np.array([at for clone in clones.values() for at in clone.at], "datetime64[s]"),
        "merges": np.array([one for clone in clones.values() for one in clone.merges], bool),
        "bot": np.array([one for clone in clones.values() for one in clone.bot], bool),
    }
    rows = [(name, language, files) for name, clone in clones.items() for language, files in clone.languages.items()]
    languages = {
        "repo": np.array([name for name, _, _ in rows], object),
        "language": np.array([language for _, language, _ in rows], object),
        "files": np.array([files for _, _, files in rows], np.int64),
    }
    return commits, languages
