"""Commit histories out of real clones: every count is exact, and what is left out is named."""

import calendar
from pathlib import Path
from typing import Any

import pytest

from presage.dataframes import Columns
from presage.errors import DataError
from presage.experiments.data.commits import read_commits
from presage.experiments.data.git_clones import find_clones, read_clones, run_git
from presage.experiments.data.languages import language_of
from tests.logs.places import commit, git, make_clones, write_tables


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clones(tmp_path_factory.mktemp("clones"))


def rows(columns: Columns) -> list[tuple[Any, ...]]:
    values = [c.astype("datetime64[s]").astype(str) if c.dtype.kind == "M" else c for c in columns.values()]
    return list(zip(*(value.tolist() for value in values), strict=True))


def test_every_count_of_a_folder_of_clones_is_exact(clones: Path) -> None:
    tables, excluded = read_clones(clones)
    newest = "2020-02-02T00:00:00"
    assert ",".join(tables.repos) == "repo,commits,first,last,snapshot_at,merges,bot,bulk_hours,active_days"
    assert rows(tables.repos) == [
        ("ada/engine", 5, "2020-01-01T10:00:00", "2020-01-05T10:00:00", newest, 1, 1, 0, 4),
        ("mirror", 22, "2020-02-01T10:00:00", newest, newest, 0, 0, 1, 2),
        ("notes", 1, "2020-01-04T10:00:00", "2020-01-04T10:00:00", newest, 0, 0, 0, 1),
    ]
    assert rows(tables.languages) == [
        ("ada/engine", "Makefile", 1),
        ("ada/engine", "Python", 2),
        ("ada/engine", "Rust", 1),
        ("mirror", "C", 22),
    ]
    assert rows(tables.commits)[:5] == [
        ("ada/engine", "2020-01-01T10:00:00"),
        ("ada/engine", "2020-01-02T08:00:00"),
        ("ada/engine", "2020-01-03T10:00:00"),
        ("ada/engine", "2020-01-03T11:00:00"),
        ("ada/engine", "2020-01-05T10:00:00"),
    ]
    assert len(tables.commits["repo"]) == 28
    assert excluded.lines() == [
        "folders that are not git clones: 2, such as ada/plain",
        "clones git cannot read: 1, such as broken",
        "shallow clones: 1, such as shallow",
        "empty repositories: 1, such as empty",
    ]


def test_the_tables_of_clones_are_a_history(clones: Path, tmp_path: Path) -> None:
    tables, _ = read_clones(clones)
    history, excluded = read_commits(write_tables(tmp_path, **tables._asdict()))
    assert history.repositories == ("ada/engine", "mirror")
    assert len(history.at) == 27
    assert excluded.lines() == ["repositories without a language: 1, such as notes"]


def test_commits_dated_in_the_future_do_not_make_the_others_look_abandoned(clones: Path) -> None:
    tables, excluded = read_clones(clones, now=calendar.timegm((2020, 2, 1, 12, 0, 0)))
    assert str(tables.repos["snapshot_at"][0]) == "2020-02-01T10:20:00"
    assert excluded.counts["commits dated in the future"] == 1


def test_a_clone_inside_a_hook_of_another_repository_is_still_itself(
    clones: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(clones / "notes" / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(clones / "notes" / ".git" / "objects"))
    tables, _ = read_clones(clones)
    assert len(tables.repos["repo"]) == 3


def test_a_folder_within_a_clone_is_not_that_clone(clones: Path) -> None:
    assert find_clones(clones / "ada" / "engine") == {"src": None}
    with pytest.raises(
        DataError, match="the folder has no clone with a history: found 'folders that are not git clones: 1"
    ):
        read_clones(clones / "ada" / "engine")


def test_a_clone_cannot_run_a_program_of_its_own(tmp_path: Path) -> None:
    clone, trace = tmp_path / "clone", tmp_path / "trace"
    git("init", str(clone))
    program = tmp_path / "program"
    signature = "-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----"
    program.write_text(f"#!/bin/sh\ntouch '{trace}'\necho '[GNUPG:] SIG_CREATED ' >&2\necho '{signature}'\n")
    program.chmod(0o755)
    for name, value in {"commit.gpgSign": "true", "log.showSignature": "true", "gpg.program": program}.items():
        git("-C", str(clone), "config", name, str(value))
    commit(clone, "a.py", "2020-01-01T00:00:00Z")
    trace.unlink()
    git("-C", str(clone), "config", "core.fsmonitor", str(program))
    assert read_clones(tmp_path)[0].repos["commits"].tolist() == [1]
    assert not trace.exists()


def test_clones_without_any_language_still_make_tables(tmp_path: Path) -> None:
    git("init", str(tmp_path / "notes"))
    commit(tmp_path / "notes", "notes.txt", "2020-01-01T00:00:00Z")
    tables, _ = read_clones(tmp_path)
    assert rows(tables.languages) == []
    write_tables(tmp_path, **tables._asdict())


def test_links_and_other_repositories_are_not_files_in_a_language(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git("init", str(clone))
    clone.joinpath("link.py").symlink_to("a.rs")
    commit(clone, "a.rs", "2020-01-01T00:00:00Z")
    assert rows(read_clones(tmp_path)[0].languages) == [("clone", "Rust", 1)]


def test_a_folder_that_is_not_there_or_holds_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the folder cannot be read"):
        read_clones(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no clone with a history"):
        read_clones(tmp_path)


def test_without_git_the_error_says_so(clones: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DataError, match="git is needed"):
        run_git(clones / "notes" / ".git", "log")


@pytest.mark.parametrize(
    ("path", "language"),
    [("a/b.PY", "Python"), ("x.h", "C"), ("CMakeLists.txt", "CMake"), ("a.py/readme", None), (".vim", None)],
)
def test_a_language_is_told_by_the_name_of_a_file(path: str, language: str | None) -> None:
    assert language_of(path) == language
