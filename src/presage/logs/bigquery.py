"""Commit histories out of an export of BigQuery's public copy of GitHub, which the paper used."""

from pathlib import Path

from presage.logs.exclusions import Exclusions, left_out
from presage.logs.kinds import TEXT, TIME
from presage.logs.repositories import CommitTables, commit_tables
from presage.logs.tables import connected, load_table

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
