"""Where real data lies beside the checkout, and clones made for a test."""

import os
import subprocess
from pathlib import Path

import pytest

from presage.dataframes import Columns
from presage.logs.tables import parquet_files


def real_data(name: str) -> Path:
    """A folder of real data; the test is skipped where it is not there."""
    folder = Path(__file__).resolve().parents[2].parent / "shared" / "data" / name
    if not folder.is_dir():
        pytest.skip(f"real data is not on this machine: {folder}")
    return folder


def write_tables(folder: Path, **tables: Columns) -> Path:
    for name, data in parquet_files(tables).items():
        (folder / name).write_bytes(data)
    return folder


def parquet_bytes(columns: Columns) -> bytes:
    return parquet_files({"table": columns})["table.parquet"]


def git(*arguments: str, at: str = "2020-01-01T00:00:00Z", author: str = "Ada <ada@example.org>") -> None:
    """Run git as an author at a moment, whatever this machine's own settings are."""
    name, _, email = author.rstrip(">").partition(" <")
    who = {
        f"GIT_{role}_{part}": v for role in ("AUTHOR", "COMMITTER") for part, v in (("NAME", name), ("EMAIL", email))
    }
    when = {"GIT_AUTHOR_DATE": "1999-01-01T00:00:00Z", "GIT_COMMITTER_DATE": at}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    settings = ["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *settings, *arguments], check=True, capture_output=True, env=who | when | alone)


def commit(clone: Path, file: str, at: str, author: str = "Ada <ada@example.org>") -> None:
    """One more commit, which adds a file."""
    (clone / file).parent.mkdir(parents=True, exist_ok=True)
    (clone / file).write_text(at)
    git("-C", str(clone), "add", "--all")
    git("-C", str(clone), "commit", "--message", f"Add {file}", at=at, author=author)


def make_clones(folder: Path) -> Path:
    """A folder of clones: two whole ones, a bare one, and one of each that is left out.

    ada/engine  5 commits (one merge, one bot) on 4 days: Python, Rust, Makefile
    notes       1 commit of a text file, no language
    mirror      bare, 21 commits within an hour, 1 later: C
    ada/plain, photos (not git), shallow, empty, broken
    """
    engine = folder / "ada" / "engine"
    git("init", str(engine))
    commit(engine, "engine.py", "2020-01-01T10:00:00Z")
    commit(engine, "src/core.rs", "2020-01-02T10:00:00+02:00")
    git("-C", str(engine), "switch", "--create", "side")
    commit(engine, "Makefile", "2020-01-03T10:00:00Z", "helper[bot] <1+helper[bot]@example.org>")
    git("-C", str(engine), "switch", "main")
    commit(engine, "other.py", "2020-01-03T11:00:00Z")
    git("-C", str(engine), "merge", "--no-ff", "--message", "Merge side", "side", at="2020-01-05T10:00:00Z")

    notes = folder / "notes"
    git("init", str(notes))
    commit(notes, "notes.txt", "2020-01-04T10:00:00Z")

    work = folder / "ada" / ".work"
    git("init", str(work))
    for minute in range(21):
        commit(work, f"{minute}.c", f"2020-02-01T10:{minute:02}:00Z")
    commit(work, "last.c", "2020-02-02T00:00:00Z")
    git("clone", "--bare", str(work), str(folder / "mirror"))
    git("clone", "--depth=1", work.as_uri(), str(folder / "shallow"))

    git("init", str(folder / "empty"))
    (folder / "ada" / "plain").mkdir()
    (folder / "photos" / "summer").mkdir(parents=True)
    (folder / "broken" / ".git").mkdir(parents=True)
    (folder / "README.txt").write_text("not a folder")
    return folder
