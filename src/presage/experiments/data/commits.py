"""Commit histories from a folder of three tables: commits, languages and repos."""

from pathlib import Path

import numpy as np

from presage.dataframes import Columns
from presage.errors import DataError
from presage.logs.cleaning import Exclusions, left_out
from presage.logs.columns import TEXT, TIME, WHOLE
from presage.logs.tables import read_tables
from presage.spaces import Array
from presage.worlds.repositories import CommitHistory

TABLES = {
    "commits.parquet": {"repo": TEXT, "committed_at": TIME},
    "languages.parquet": {"repo": TEXT, "language": TEXT, "files": WHOLE},
    "repos.parquet": {"repo": TEXT, "snapshot_at": TIME},
}


def read_commits(folder: Path) -> tuple[CommitHistory, Exclusions]:
    """The commit history in a folder, and what was left out of it.

    commits.parquet (repo, committed_at) has the rows of a repository together and in the order of time;
    languages.parquet (repo, language, files) says what it is written in; repos.parquet (repo, snapshot_at) until when
    it was watched. Left out are commits after the snapshot, and repositories that lack a snapshot, a commit or a
    language.
    """
    commits, languages, repos = read_tables({folder / name: kinds for name, kinds in TABLES.items()})
    at = seconds(commits["committed_at"])
    names, repository = _runs(commits["repo"])
    _check_order(names, repository, at)
    snapshots = _snapshots(repos)
    written = _languages(languages)

    watched = np.array([name in snapshots for name in names])
    until = np.array([snapshots.get(name, 0) for name in names])
    future = watched[repository] & (at > until[repository])
    alive = np.bincount(repository[~future], minlength=len(names)) > 0
    spoken = np.array([name in written for name in names])
    kept = watched & alive & spoken
    if not kept.any():
        remedy = "check that the three tables name the same repositories"
        raise DataError("no repository has a commit, a language and a snapshot", str(folder), remedy)

    rows = kept[repository] & ~future
    chosen = tuple(np.array(names, object)[kept])
    known = tuple(sorted({language for name in chosen for language in written[name]}))
    history = CommitHistory(
        repositories=chosen,
        repository=(np.cumsum(kept) - 1)[repository[rows]].astype(np.int32),
        at=at[rows],
        languages=known,
        written_in=np.array([[language in written[name] for language in known] for name in chosen]),
        observed_until=until[kept],
    )
    never = sorted(set(snapshots) - set(names)) + _named(names, watched & ~alive)
    exclusions: dict[str, list[str] | int] = {
        "repositories without a snapshot": _named(names, ~watched),
        "repositories without commits": never,
        "repositories without a language": _named(names, watched & alive & ~spoken),
        "commits after the snapshot": int(future.sum()),
    }
    return history, left_out(exclusions)


def seconds(times: Array) -> Array:
    """Times as whole seconds since 1970 UTC."""
    return times.astype("datetime64[s]").astype(np.int64)


def _runs(repo: Array) -> tuple[list[str], Array]:
    """The names in order of appearance, and which of them each row has."""
    starts = np.concatenate([[True], repo[1:] != repo[:-1]])
    names = list(repo[starts])
    seen: set[str] = set()
    for name, row in zip(names, np.flatnonzero(starts), strict=True):
        if name in seen:
            wrong = f"commits.parquet comes back to a repository in row {row + 1:,}"
            raise DataError(wrong, name, "sort it by repo and committed_at")
        seen.add(name)
    return names, np.cumsum(starts) - 1


def _check_order(names: list[str], repository: Array, at: Array) -> None:
    back = np.flatnonzero((np.diff(at) < 0) & (np.diff(repository) == 0))
    if len(back):
        wrong = f"commits.parquet goes back in time in row {back[0] + 2:,}"
        found = f"{np.datetime64(int(at[back[0] + 1]), 's')} in {names[repository[back[0]]]}"
        raise DataError(wrong, found, "sort it by repo and committed_at")


def _snapshots(table: Columns) -> dict[str, int]:
    snapshots = dict(zip(table["repo"], seconds(table["snapshot_at"]).tolist(), strict=True))
    if len(snapshots) < len(table["repo"]):
        names, counts = np.unique(table["repo"].astype(str), return_counts=True)
        raise DataError("repos.parquet names a repository twice", str(names[counts > 1][0]), "give it one row")
    return snapshots


def _languages(table: Columns) -> dict[str, set[str]]:
    written: dict[str, set[str]] = {}
    for name, language, files in zip(table["repo"], table["language"], table["files"], strict=True):
        if files > 0:
            written.setdefault(name, set()).add(language)
    return written


def _named(names: list[str], which: Array) -> list[str]:
    return [name for name, chosen in zip(names, which, strict=True) if chosen]
