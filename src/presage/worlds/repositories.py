"""Commit histories: what the GitHub experiment is played on, and simulated ones that come in bursts."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.settings import between, positive, share, whole
from presage.spaces import Array


class CommitHistory(NamedTuple):
    """The commit times and the languages of each of R repositories."""

    repositories: tuple[str, ...]  # [R] names
    repository: Array  # int32 [C]: whose commit it is, ascending
    at: Array  # int64 [C]: seconds since 1970 UTC, ascending within a repository
    languages: tuple[str, ...]  # [L] names
    written_in: Array  # bool [R, L]
    observed_until: Array  # int64 [R]: seconds since 1970 UTC; nothing is known of a repository after this


DAY = 86_400
"""Seconds."""
LANGUAGES = {
    "Shell": 0.30, "JavaScript": 0.27, "Makefile": 0.25, "HTML": 0.24, "Python": 0.23, "CSS": 0.18, "TypeScript": 0.12,
    "Batch": 0.10, "C": 0.10, "Ruby": 0.09, "Dockerfile": 0.09, "Java": 0.07, "Go": 0.07, "C++": 0.07, "Rust": 0.07,
    "PHP": 0.06, "Vim Script": 0.06, "Lua": 0.05, "CMake": 0.05, "SCSS": 0.05,
}  # fmt: skip
"""The languages, and the share of real repositories that hold each."""

_WARM_UP = 730  # days before the first one drawn, so that histories begin in the middle of spells
_SPELLS = 1_000  # of a repository at most; the last one lasts


@dataclass(frozen=True)
class RepositorySettings:
    """Repositories with active and quiet spells, observed to fill a window of 252 days from 1 May every year.

    A repository alternates between awake and quiet spells of log-normal length, at least a day (medians `awake_days`
    and `quiet_days`; `awake_spread` and `quiet_spread` in logs: the tails are heavy). On a day it is worked on at
    least once with probability 1 - exp(-rate). The log of the rate is the sum of `log_rate`, a term for the repository
    (normal, `pace_spread`), a term for the spell (`spell_spread`) and growth or decay (a slope per year,
    `trend_spread`), less `quiet_drop` in quiet spells. A day of work has at least one commit: the number after the
    first is Poisson with a gamma mean, on average `more_commits` (times a log-normal of the repository,
    `more_spread`), of squared variation `more_burst`. A share `young` of repositories begin within the history.
    The number of languages depends a little on the repository's pace: `language_tie`, in log-odds.
    """

    repositories: int = 600
    first_year: int = 2015
    years: int = 3
    log_rate: float = -1.83
    pace_spread: float = 0.9
    spell_spread: float = 0.52
    trend_spread: float = 0.41
    awake_days: float = 16.5
    awake_spread: float = 1.28
    quiet_days: float = 11.0
    quiet_spread: float = 2.25
    quiet_drop: float = 2.05
    more_commits: float = 1.6
    more_spread: float = 0.7
    more_burst: float = 1.5
    young: float = 0.3
    language_tie: float = 0.4

    def __post_init__(self) -> None:
        for name in ("repositories", "years"):
            whole(name, getattr(self, name))
        whole("first_year", self.first_year, 1971)
        between("log_rate", self.log_rate, -20.0, 3.0)
        for name in ("awake_days", "quiet_days", "more_commits", "more_burst"):
            positive(name, getattr(self, name))
        for name in ("pace", "spell", "trend", "awake", "quiet", "more"):
            between(f"{name}_spread", getattr(self, f"{name}_spread"), 0.0, 5.0)
        for name in ("quiet_drop", "language_tie"):
            between(name, getattr(self, name), 0.0, 20.0)
        share("young", self.young)

    @property
    def windows(self) -> tuple[int, ...]:
        """1 May of each year, in seconds since 1970: every window has a year of history before it."""
        return tuple(_first_of_may(self.first_year + year) for year in range(self.years))

    def deal(self, seed: int) -> CommitHistory:
        """Histories from a year before the first window to 21 days after the last; the same seed deals the same.

        >>> history = RepositorySettings(repositories=20, years=1).deal(seed=0)
        >>> len(history.repositories), history.written_in.shape
        (20, (20, 20))
        """
        draw = np.random.default_rng(seed)
        begin, end = _first_of_may(self.first_year - 1), self.windows[-1] + (252 + 21) * DAY
        pace = draw.normal(size=self.repositories)
        worked = self._worked(pace, (end - begin) // DAY, draw)
        repository, at = self._commits(worked, draw)
        seen = begin + at < end
        written_in = self._languages(pace, draw)
        names = tuple(f"repository-{number:0{len(str(self.repositories - 1))}}" for number in range(self.repositories))
        until = np.full(self.repositories, end, np.int64)
        return CommitHistory(names, repository[seen], begin + at[seen], tuple(LANGUAGES), written_in, until)

    def _worked(self, pace: Array, days: int, draw: np.random.Generator) -> Array:
        """Whether each repository is worked on each day, [R, days]."""
        every_day = np.arange(_WARM_UP + days)
        midst = _WARM_UP + draw.random(self.repositories) * days
        born = np.where(draw.random(self.repositories) < self.young, midst, 0.0)[:, None]
        spell = self._spells(born, len(every_day), draw)
        own = self.spell_spread * draw.normal(size=(self.repositories, _SPELLS))
        slope = self.trend_spread * draw.normal(size=(self.repositories, 1))
        log_rate = self.log_rate + self.pace_spread * pace[:, None] + np.take_along_axis(own, spell, axis=1)
        log_rate += slope * (every_day - _WARM_UP - days / 2) / 365 - self.quiet_drop * (spell % 2)
        chance = -np.expm1(-np.exp(np.minimum(log_rate, 3.0)))
        return ((draw.random(spell.shape) < chance) & (every_day >= born))[:, _WARM_UP:]

    def _spells(self, born: Array, days: int, draw: np.random.Generator) -> Array:
        """The number of the spell each day falls in, [R, days]: awake ones are even."""
        median = np.where(np.arange(_SPELLS) % 2, self.quiet_days, self.awake_days)
        spread = np.where(np.arange(_SPELLS) % 2, self.quiet_spread, self.awake_spread)
        length = np.maximum(median * np.exp(spread * draw.normal(size=(self.repositories, _SPELLS))), 1.0)
        ends = np.minimum(np.ceil(born + length.cumsum(axis=1)), days).astype(np.int64)
        slot = (np.arange(self.repositories)[:, None] * (days + 1) + ends).ravel()
        ended = np.bincount(slot, minlength=self.repositories * (days + 1)).reshape(self.repositories, -1)
        return np.minimum(ended[:, :days].cumsum(axis=1), _SPELLS - 1)

    def _commits(self, worked: Array, draw: np.random.Generator) -> tuple[Array, Array]:
        """Whose each commit is, and its seconds from the beginning: sessions at hours of the repository's own."""
        whose, day = np.nonzero(worked)
        more = self.more_commits * np.exp(self.more_spread * draw.normal(size=self.repositories))[whose]
        commits = 1 + draw.poisson(more * draw.gamma(1 / self.more_burst, self.more_burst, len(whose)))
        hour = (draw.normal(15, 4, self.repositories)[whose] + draw.normal(0, 3, len(whose))) % 24
        session = np.repeat(np.arange(len(whose)), commits)
        pause = np.minimum(2400, 8 * 3600 / commits)[session]  # seconds on average; long sessions are hastier
        clock = (pause * draw.exponential(size=len(session))).cumsum()
        since = clock - clock[commits.cumsum() - commits][session]  # the first commit of each session
        at = ((day * DAY + hour * 3600)[session] + since).astype(np.int64)
        order = np.lexsort((at, whose[session]))
        return whose[session][order].astype(np.int32), at[order]

    def _languages(self, pace: Array, draw: np.random.Generator) -> Array:
        shares = np.array(list(LANGUAGES.values()))
        variety = 0.8 * draw.normal(size=self.repositories) + self.language_tie * pace
        log_odds = np.log(shares / (1 - shares)) + variety[:, None] - 0.25  # less what the spread of variety adds
        return draw.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))


def _first_of_may(year: int) -> int:
    return int(np.datetime64(f"{year}-05-01", "s").astype(np.int64))
