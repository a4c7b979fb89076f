"""Commit histories out of an export: the same tables, whatever the format and the order."""

from pathlib import Path

import numpy as np
import pytest

from presage.errors import DataError
from presage.experiments.data.commit_tables import QUERY, read_export
from presage.experiments.data.commits import read_commits
from presage.logs.tables import parquet_files
from tests.logs.places import parquet_bytes, write_tables

REPOS = ["b/two", "a/one", "b/two", "a/one"]
TIMES = ["2017-05-03 00:00:00", "2017-05-02 10:00:00", "2017-05-01 10:00:00", "2017-05-02 09:00:00"]
SPOKEN = [("a/one", "Go"), ("a/one", "Go"), ("b/two", "C"), ("c/three", "C")]


def exported(folder: Path, form: str) -> tuple[Path, Path]:
    """The results of the query as BigQuery writes them."""
    commits, languages = folder / f"commits.{form}", folder / f"languages.{form}"
    if form == "csv":
        lines = [f"{repo},{time} UTC" for repo, time in zip(REPOS, TIMES, strict=True)]
        commits.write_text("\n".join(["repo_name,committed_at", *lines]))
        languages.write_text("\n".join(["repo_name,language", *(f"{repo},{name}" for repo, name in SPOKEN)]))
    else:
        times = np.array(TIMES, "datetime64[s]")
        commits.write_bytes(parquet_bytes({"repo_name": np.array(REPOS), "committed_at": times}))
        repos, names = np.array(SPOKEN).T
        languages.write_bytes(parquet_bytes({"repo_name": repos, "language": names}))
    return commits, languages


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_export_makes_the_three_tables(tmp_path: Path, form: str) -> None:
    tables, excluded = read_export(*exported(tmp_path, form))
    assert tables.commits["repo"].tolist() == ["a/one", "a/one", "b/two", "b/two"]
    assert tables.commits["committed_at"].astype("datetime64[h]").astype(str).tolist() == [
        "2017-05-02T09",
        "2017-05-02T10",
        "2017-05-01T10",
        "2017-05-03T00",
    ]
    assert list(zip(*(column.tolist() for column in tables.languages.values()), strict=True)) == [
        ("a/one", "Go", 1),
        ("b/two", "C", 1),
    ]
    assert tables.repos["active_days"].tolist() == [1, 2]
    assert excluded.lines() == ["repositories with a language but without commits: 1, such as c/three"]
    history, _ = read_commits(write_tables(tmp_path, **tables._asdict()))
    assert history.repositories == ("a/one", "b/two")


def test_both_formats_give_the_same_files(tmp_path: Path) -> None:
    found = []
    for form in ("csv", "parquet"):
        tables, _ = read_export(*exported(tmp_path, form))
        found.append(parquet_files(tables._asdict()))
    assert found[0] == found[1]


def test_files_in_the_wrong_order_are_refused(tmp_path: Path) -> None:
    commits, languages = exported(tmp_path, "csv")
    with pytest.raises(DataError, match=r"languages\.csv lacks the columns committed_at"):
        read_export(languages, commits)


def test_the_page_on_data_shows_the_query() -> None:
    page = Path(__file__).parents[3] / "docs" / "data.md"
    assert f"```sql\n{QUERY}```" in page.read_text()


def test_the_query_asks_for_the_columns_that_are_read() -> None:
    commits, languages = QUERY.split("-- Languages")
    assert "SELECT repo_name, committed_at FROM" in commits
    assert "SELECT repo_name, part.name AS language" in languages
