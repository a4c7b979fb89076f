"""Every moment that a round may be about: what was known of the repository then, and what came after."""

from typing import NamedTuple

import numpy as np

from presage.errors import DataError
from presage.experiments.github.settings import GithubSettings
from presage.spaces import Array
from presage.worlds.repositories import CommitHistory

DAY = 86_400


class Moments(NamedTuple):
    """Moments of repositories in one mode."""

    features: Array  # float32 [M, F]: language flags, then ln(1 + commits) in each stretch of the past
    z: Array  # int32 [M]: commits within the proxy's horizon, as none, one or more
    y: Array  # int32 [M]: whether there were enough within the outcome's
    repository: Array  # int64 [M]


class _CommitCounter:
    """Counts commits between moments, at most `bulk` of a repository's in an hour."""

    def __init__(self, history: CommitHistory, bulk: int) -> None:
        self._begin = int(history.at.min()) // 3600 * 3600
        self._hours = (int(history.at.max()) - self._begin) // 3600 + 2  # one before the first commit
        keys = self._key(history.repository, history.at)
        hours = keys // 3600
        self._keys = keys[np.arange(len(keys)) - np.searchsorted(hours, hours) < bulk]

    def up_to(self, repository: Array, at: Array) -> Array:
        """How many commits had been counted by `at`, those of all earlier repositories included."""
        return np.searchsorted(self._keys, self._key(repository, at), side="right")

    def _key(self, repository: Array, at: Array) -> Array:
        since = np.clip(at - self._begin + 3600, 0, self._hours * 3600 - 1)
        return repository.astype(np.int64) * self._hours * 3600 + since


def find_moments(history: CommitHistory, settings: GithubSettings) -> dict[str, Moments]:
    """The moments of mode A and of mode B, over all yearly windows of all repositories."""
    counter = _CommitCounter(history, settings.bulk)
    repository, at = _grid(history, settings)
    known = at + settings.outcome_days * DAY <= history.observed_until[repository]
    repository, at = repository[known], at[known]
    so_far = counter.up_to(repository, at)

    def within(days: int) -> Array:
        return np.abs(counter.up_to(repository, at + days * DAY) - so_far)

    in_mode = {
        "A": within(-settings.quiet_days) <= settings.quiet_most,
        "B": within(-settings.busy_days) >= settings.busy_least,
    }
    for mode, chosen in in_mode.items():
        if not chosen.any():
            raise DataError(f"no moment is in mode {mode}", len(chosen), "give more repositories, or other settings")
    z = np.digitize(within(settings.proxy_days), settings.proxy_edges).astype(np.int32)
    y = (within(settings.outcome_days) >= settings.outcome_least).astype(np.int32)
    past = np.diff([within(-days) for days in settings.history_days], axis=0, prepend=0).T  # [M, stretches]
    flags = history.written_in[:, _most_common(history, settings.languages)]
    return {
        mode: Moments(
            np.concatenate([flags[repository[chosen]], np.log1p(past[chosen])], axis=1, dtype=np.float32),
            z[chosen],
            y[chosen],
            repository[chosen],
        )
        for mode, chosen in in_mode.items()
    }


def _grid(history: CommitHistory, settings: GithubSettings) -> tuple[Array, Array]:
    """The repository and the second of every moment in a window with enough commit days."""
    days = history.at // DAY
    fresh = np.r_[True, (np.diff(days) != 0) | (np.diff(history.repository) != 0)]
    days, repository = days[fresh], history.repository[fresh]
    steps = np.arange(0, settings.window_days * DAY, settings.grid_hours * 3600)
    repositories, moments = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start in _first_days(days):
        inside = (days >= start) & (days < start + settings.window_days)
        counts = np.bincount(repository[inside], minlength=len(history.repositories))
        busy = np.flatnonzero(counts >= settings.commit_days)
        repositories.append(np.repeat(busy, len(steps)))
        moments.append(np.tile(start * DAY + steps, len(busy)))
    return np.concatenate(repositories), np.concatenate(moments)


def _first_days(days: Array) -> Array:
    """The first of May of every year with commits, in days since 1970."""
    first, last = (np.datetime64(int(day), "D").astype("datetime64[Y]") for day in (days.min(), days.max()))
    years = np.arange(first, last + np.timedelta64(1, "Y"))
    return (years.astype("datetime64[M]") + np.timedelta64(4, "M")).astype("datetime64[D]").astype(np.int64)


def _most_common(history: CommitHistory, languages: int) -> Array:
    """The languages that most repositories hold."""
    return np.argsort(-history.written_in.sum(axis=0), kind="stable")[:languages]
