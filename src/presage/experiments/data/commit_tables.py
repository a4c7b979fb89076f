"""The three tables that keep a commit history: out of commits in any order, or an export of BigQuery."""

from pathlib import Path
from typing import NamedTuple

import duckdb

from presage.dataframes import Columns
from presage.logs.cleaning import Exclusions, left_out
from presage.logs.columns import TEXT, TIME
from presage.logs.tables import connected, load_table

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


QUERY = """\
-- Commits: save the result as commits.csv or commits.parquet.
-- Repositories with commits on at least five days from 1 May 2017 to 8 January 2018, as in the paper, with the year
-- before for the past activity and the 21 days after for the outcomes. One repository in 30 is taken, by a hash of
-- its name: change the 30 for more or fewer.
WITH raw AS (
  SELECT DISTINCT name AS repo_name, commit, TIMESTAMP_SECONDS(committer.time_sec) AS committed_at
  FROM `bigquery-public-data.github_repos.commits`, UNNEST(repo_name) AS name
  WHERE committer.time_sec >= UNIX_SECONDS(TIMESTAMP '2016-05-01')
    AND committer.time_sec < UNIX_SECONDS(TIMESTAMP '2018-01-30')
    AND MOD(ABS(FARM_FINGERPRINT(name)), 30) = 0
), lively AS (
  SELECT repo_name FROM raw
  WHERE DATE(committed_at) BETWEEN '2017-05-01' AND '2018-01-08'
  GROUP BY repo_name
  HAVING COUNT(DISTINCT DATE(committed_at)) >= 5
)
SELECT repo_name, committed_at FROM raw JOIN lively USING (repo_name)
ORDER BY 1, 2;

-- Languages: save the result as languages.csv or languages.parquet.
SELECT repo_name, part.name AS language
FROM `bigquery-public-data.github_repos.languages`, UNNEST(language) AS part
WHERE MOD(ABS(FARM_FINGERPRINT(repo_name)), 30) = 0
ORDER BY 1, 2;
"""


def read_export(commits: Path, languages: Path) -> tuple[CommitTables, Exclusions]:
    """The three tables of a commit history out of the results of QUERY, as CSV, NDJSON or Parquet, in any order.

    The export says which languages there are, not how many files: each counts as one. Merges and bots are not known.
    """
    with connected() as connection:
        load_table(connection, "exported", commits, {"repo_name": TEXT, "committed_at": TIME})
        load_table(connection, "spoken", languages, {"repo_name": TEXT, "language": TEXT})
        connection.execute("CREATE VIEW raw AS SELECT repo_name AS repo, committed_at FROM exported")
        connection.execute(
            "CREATE VIEW raw_languages AS SELECT DISTINCT repo_name AS repo, language, 1 AS files FROM spoken"
        )
        idle = "SELECT DISTINCT repo FROM raw_languages ANTI JOIN raw USING (repo) ORDER BY repo"
        names = [str(name) for (name,) in connection.execute(idle).fetchall()]
        return commit_tables(connection), left_out({"repositories with a language but without commits": names})
