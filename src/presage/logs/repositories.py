"""The three tables a commit history is kept in, made of commits in any order."""

from typing import NamedTuple

import duckdb

from presage.logs.tables import Columns

BULK = 20
"""Commits within an hour of the clock that are rather an import than work."""

COMMITS = "SELECT repo, committed_at FROM raw ORDER BY repo, committed_at"

LANGUAGES = """
SELECT repo::VARCHAR AS repo, language::VARCHAR AS language, sum(files)::INTEGER AS files
FROM raw_languages SEMI JOIN raw USING (repo)
GROUP BY ALL
ORDER BY ALL
"""

REPOS = f"""
WITH hours AS (
    SELECT repo, count(*) AS commits FROM raw GROUP BY repo, date_trunc('hour', committed_at)
), bulk AS (
    SELECT repo, count(*) FILTER (commits >= {BULK}) AS bulk_hours FROM hours GROUP BY repo
)
SELECT
    repo,
    count(*) AS commits,
    min(committed_at) AS first,
    max(committed_at) AS last,
    (SELECT max(committed_at) FROM raw) AS snapshot_at,
    {{marks}}
    any_value(bulk_hours) AS bulk_hours,
    count(DISTINCT committed_at::DATE) AS active_days
FROM raw JOIN bulk USING (repo)
GROUP BY repo
ORDER BY repo
"""


class CommitTables(NamedTuple):
    """What commits.parquet, languages.parquet and repos.parquet hold."""

    commits: Columns  # repo, committed_at; sorted by both
    languages: Columns  # repo, language, files
    repos: Columns  # repo, commits, first, last, snapshot_at, some marks, bulk_hours, active_days


def commit_tables(connection: duckdb.DuckDBPyConnection, marks: tuple[str, ...] = ()) -> CommitTables:
    """The three tables out of `raw` (repo, committed_at, marks) and `raw_languages` (repo, language, files).

    Marks are true or false of a commit, and counted for each repository. All repositories are taken to be watched
    until the newest commit of any: the clock is not read, so the same commits give the same tables.
    """
    counted = "".join(f"count(*) FILTER ({mark}) AS {mark}, " for mark in marks)
    queries = (COMMITS, LANGUAGES, REPOS.format(marks=counted))
    return CommitTables(*(dict(connection.execute(query).fetchnumpy()) for query in queries))
