"""Moments of simulated repositories, labelled by the commits that follow."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from presage.simulation.tables import CHUNK, Chunk, SimulatedTable
from presage.spaces import Array
from presage.worlds.repositories import DAY, CommitHistory, RepositorySettings

ROWS = 100_000
PROXIES, PROXY_EDGES, PROXY_DAYS = ("none", "one", "many"), (1, 2), 7
OUTCOMES, OUTCOME_EDGES, OUTCOME_DAYS = ("quiet", "active"), (3,), 21
INSTANCE = """\
repository = { kind = "category" }
languages = { kind = "set" }
commits_7d = { kind = "count", edges = [1, 2, 4, 8] }
commits_30d = { kind = "count", edges = [1, 2, 4, 8, 16] }
"""


def deal_repositories(settings: RepositorySettings, rows: int | None, seed: int, drift: bool) -> SimulatedTable:
    """Moments drawn evenly over all repositories and the time from the first window to 21 days before the end.

    With `drift` repositories are committed to less often by a factor of e from the middle on. The world knows no
    probabilities of outcomes.
    """
    wanted = ROWS if rows is None else rows
    history = settings.deal(seed)
    later = dataclasses.replace(settings, log_rate=settings.log_rate - 1).deal(seed) if drift else history
    begin, end = settings.windows[0], int(history.observed_until[0]) - OUTCOME_DAYS * DAY
    draw = np.random.default_rng([seed, 1])
    chunks = _moments((_CommitWindow(history), _CommitWindow(later)), history, (begin, end), wanted, draw)
    back_off = '[["commits_7d"], ["commits_7d", "commits_30d"]]'
    days = PROXY_DAYS, OUTCOME_DAYS
    return SimulatedTable("repository activity", INSTANCE, back_off, PROXIES, OUTCOMES, *days, wanted, chunks)


class _CommitWindow:
    """Counts the commits of repositories between moments."""

    def __init__(self, history: CommitHistory) -> None:
        self.keys = self._key(history.repository, history.at)

    def between(self, repository: Array, at: Array, days: int) -> Array:
        """How many came after `at` and within so many days, or before it where they are negative."""
        here, there = (np.searchsorted(self.keys, self._key(repository, at + d * DAY), "right") for d in (0, days))
        return np.abs(there - here)

    def _key(self, repository: Array, at: Array) -> Array:
        return repository.astype(np.int64) * 2**34 + at


def _moments(
    counters: tuple[_CommitWindow, _CommitWindow],
    history: CommitHistory,
    period: tuple[int, int],
    rows: int,
    draw: np.random.Generator,
) -> Iterator[Chunk]:
    names = np.array(history.repositories, object)
    written = [",".join(name for name, there in zip(history.languages, one, strict=True) if there)
               for one in history.written_in]  # fmt: skip
    languages = np.array(written, object)
    begin, end = period
    pieces = -(-rows // CHUNK)
    for piece in range(pieces):
        size = (rows - piece + pieces - 1) // pieces
        repository = draw.integers(0, len(names), size)
        within = (piece + np.sort(draw.random(size))) / pieces
        at = begin + (within * (end - begin)).astype(np.int64)
        later = at >= begin + (end - begin) // 2

        def count(days: int, where: Array = repository, when: Array = at, turned: Array = later) -> Array:
            return np.where(turned, *(c.between(where, when, days) for c in counters[::-1]))

        features = {
            "repository": names[repository],
            "languages": languages[repository],
            "commits_7d": count(-7),
            "commits_30d": count(-30),
        }
        proxy, outcome = np.digitize(count(PROXY_DAYS), PROXY_EDGES), np.digitize(count(OUTCOME_DAYS), OUTCOME_EDGES)
        yield Chunk(features, at * 1_000_000, proxy, outcome, None)
