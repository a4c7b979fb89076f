"""Commit histories out of three tables: what is kept, what is left out and counted, what is refused."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.dataframes import Columns
from presage.errors import DataError
from presage.experiments.data.commits import read_commits
from tests.logs.places import real_data, write_tables

START = 1_500_000_000


def moments(*seconds: int) -> Any:
    return (START + np.array(seconds)).astype("datetime64[s]")


def names(*repos: str) -> Any:
    return np.array(repos, object)


def tables(**changes: Columns) -> dict[str, Columns]:
    """Three repositories, of which b has a commit after its snapshot."""
    return {
        "commits": {"repo": names("a", "a", "b", "b", "c"), "committed_at": moments(5, 5, 1, 90, 7)},
        "languages": {
            "repo": names("a", "b", "b", "c"),
            "language": names("Go", "C", "Go", "Zig"),
            "files": np.array([3, 1, 2, 1]),
        },
        "repos": {"repo": names("c", "b", "a"), "snapshot_at": moments(70, 80, 90)},
    } | changes


def test_a_history_is_what_the_tables_say(tmp_path: Path) -> None:
    history, excluded = read_commits(write_tables(tmp_path, **tables()))
    assert history.repositories == ("a", "b", "c")
    assert history.languages == ("C", "Go", "Zig")
    assert history.written_in.tolist() == [[False, True, False], [True, True, False], [False, False, True]]
    assert (history.at - START).tolist() == [5, 5, 1, 7]
    assert history.repository.tolist() == [0, 0, 1, 2]
    assert (history.observed_until - START).tolist() == [90, 80, 70]
    assert (history.repository.dtype, history.at.dtype, history.written_in.dtype) == (np.int32, np.int64, np.bool_)
    assert excluded.lines() == ["commits after the snapshot: 1"]


def test_repositories_that_lack_something_are_left_out_and_counted(tmp_path: Path) -> None:
    commits = {"repo": names("a", "b", "c", "d"), "committed_at": moments(99, 1, 2, 3)}
    languages = {"repo": names("a", "b", "d"), "language": names("Go", "C", "C"), "files": np.array([1, 0, 1])}
    repos = {"repo": names("a", "b", "c", "e"), "snapshot_at": moments(50, 50, 50, 50)}
    with pytest.raises(DataError, match="no repository has a commit, a language and a snapshot"):
        read_commits(write_tables(tmp_path, commits=commits, languages=languages, repos=repos))
    languages["files"][1] = 1
    history, excluded = read_commits(write_tables(tmp_path, commits=commits, languages=languages, repos=repos))
    assert history.repositories == ("b",)
    assert history.languages == ("C",)
    assert excluded.counts == {
        "repositories without a snapshot": 1,
        "repositories without commits": 2,
        "repositories without a language": 1,
        "commits after the snapshot": 1,
    }
    assert "repositories without a snapshot: 1, such as d" in excluded.lines()


@pytest.mark.parametrize(
    ("commits", "words"),
    [
        ({"repo": names("a", "a", "b"), "committed_at": moments(5, 4, 1)}, "goes back in time in row 2: found .* in a"),
        ({"repo": names("a", "b", "a"), "committed_at": moments(1, 2, 3)}, "comes back to a repository in row 3"),
        ({"repo": names("a"), "at": moments(1)}, "commits.parquet lacks the columns committed_at"),
        ({"repo": names("a"), "committed_at": np.array([True])}, "committed_at of commits.parquet has the wrong type"),
        ({"repo": names(), "committed_at": moments()}, "commits.parquet holds no rows"),
    ],
)
def test_wrong_commits_are_refused_with_the_place(tmp_path: Path, commits: Columns, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_commits(write_tables(tmp_path, **tables(commits=commits)))


@pytest.mark.parametrize("missing", ["commits", "languages", "repos"])
def test_a_missing_or_empty_table_is_refused_by_name(tmp_path: Path, missing: str) -> None:
    write_tables(tmp_path, **tables())
    (tmp_path / f"{missing}.parquet").write_bytes(b"")
    with pytest.raises(DataError, match=f"{missing}.parquet is empty"):
        read_commits(tmp_path)
    (tmp_path / f"{missing}.parquet").unlink()
    with pytest.raises(DataError, match=f"{missing}.parquet is not there"):
        read_commits(tmp_path)


def test_a_repository_with_two_snapshots_is_refused(tmp_path: Path) -> None:
    repos = {"repo": names("a", "b", "b"), "snapshot_at": moments(1, 2, 3)}
    with pytest.raises(DataError, match=r"repos\.parquet names a repository twice: found 'b'"):
        read_commits(write_tables(tmp_path, **tables(repos=repos)))


def test_the_real_repositories_load_within_two_seconds() -> None:
    folder = real_data("github")
    began = time.process_time()  # of all threads: it does not depend on what else the machine does
    history, excluded = read_commits(folder)
    assert time.process_time() - began < 2
    assert len(history.repositories) + excluded.counts["repositories without a language"] == 399
    assert 380_000 < len(history.at) <= 383_845
    assert history.written_in.any(axis=1).all()
    assert (history.at <= history.observed_until[history.repository]).all()
    assert (np.diff(history.repository) >= 0).all()
