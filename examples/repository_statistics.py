"""The statistics by which simulated repositories are calibrated to real ones."""

from typing import NamedTuple

import numpy as np

from examples.regression import Losses, direct_loss, losses
from presage.spaces import Array
from presage.worlds.repositories import CommitHistory

DAY = 86_400
PAST = (1, 3, 7, 14, 30, 60, 90, 180, 365)
"""Days of history in which commits are counted."""
CAP = 20
"""Commits that count at most in an hour: more are imports."""
WINDOW, STEP, PROXY, OUTCOME = 252 * DAY, DAY // 4, 7 * DAY, 21 * DAY
EVERY = 24
"""Regressions see every twenty-fourth moment: one in six days."""
_APART = 1 << 34  # seconds, or hours or days: more than any time, so that keys of repositories do not meet


class Moments(NamedTuple):
    """Repositories at moments of their windows: what was known, and what followed."""

    repository: Array  # [N]
    past: Array  # [N, 9]: commits within the days of PAST
    proxy: Array  # [N]: commits in the next 7 days, 2 standing for more
    outcome: Array  # [N]: whether 3 commits or more follow in 21 days

    def take(self, rows: Array) -> "Moments":
        """Some of the rows."""
        return Moments(*(part[rows] for part in self))


class Windows(NamedTuple):
    """Repositories and years with at least five commit days."""

    repository: Array  # [W]
    start: Array  # [W]: seconds since 1970
    commits: Array  # [W]
    days: Array  # [W]: days with commits


def capped(history: CommitHistory) -> Array:
    """Commits as sorted keys of repository and time, at most CAP of them an hour."""
    start = history.repository.astype(np.int64) * _APART
    hour = start + history.at // 3600
    first = np.searchsorted(hour, hour)
    keep = np.arange(len(hour)) - first < CAP
    return (start + history.at)[keep]


def windows_of(key: Array, repositories: int, starts: tuple[int, ...]) -> Windows:
    """The windows that begin at `starts` and hold at least five commit days."""
    whose, start = (each.ravel() for each in np.meshgrid(np.arange(repositories), starts, indexing="ij"))
    at, days = whose * _APART + start, np.unique(key // _APART * _APART + key % _APART // DAY)
    first_day = whose * _APART + start // DAY
    commits = np.searchsorted(key, at + WINDOW) - np.searchsorted(key, at)
    worked = np.searchsorted(days, first_day + WINDOW // DAY) - np.searchsorted(days, first_day)
    return Windows(*(part[worked >= 5] for part in (whose, start, commits, worked)))


def moments_of(key: Array, windows: Windows, observed_until: Array) -> Moments:
    """Every six hours of the windows whose next 21 days were observed."""
    at = windows.start[:, None] + np.arange(0, WINDOW, STEP)
    seen = at + OUTCOME <= observed_until[windows.repository][:, None]
    whose = np.broadcast_to(windows.repository[:, None], at.shape)[seen]
    now = whose * _APART + at[seen]
    until = np.searchsorted(key, now, side="right")
    past = np.stack([until - np.searchsorted(key, now - days * DAY, side="right") for days in PAST], axis=-1)
    week, horizon = (np.searchsorted(key, now + ahead, side="right") - until for ahead in (PROXY, OUTCOME))
    return Moments(whose, past, np.minimum(week, 2), horizon >= 3)


def modes(moments: Moments) -> dict[str, Moments]:
    """The paper's two modes: repositories gone quiet, and busy ones."""
    quiet, busy = moments.past[:, PAST.index(30)] <= 1, moments.past[:, PAST.index(7)] >= 2
    return {"A": moments.take(quiet), "B": moments.take(busy)}


def rates(moments: Moments) -> dict[str, float]:
    """P(z) and P(y=1|z), uniformly over moments."""
    shares = {f"P(z={z})": float((moments.proxy == z).mean()) for z in range(3)}
    return shares | {f"P(y=1 given z={z})": float(moments.outcome[moments.proxy == z].mean()) for z in range(3)}


def drift(quiet: dict[str, float], busy: dict[str, float]) -> float:
    """What it costs mode B to be forecast with P(y|z) of mode A, in nats: the divergence between the two."""
    cost = 0.0
    for z in range(3):
        p, q = (each[f"P(y=1 given z={z})"] for each in (busy, quiet))
        cost += busy[f"P(z={z})"] * float(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))
    return cost


def told(moments: Moments, languages: Array) -> dict[str, float]:
    """What history and proxy tell of the outcome, in nats on repositories that were not learned from."""
    some = moments.take(slice(None, None, EVERY))
    fold = some.repository % 2
    loss = losses(_features(some.past), some.proxy, some.outcome, fold)
    with_languages = np.concatenate([_features(some.past), languages[some.repository]], axis=1)
    extended = direct_loss(with_languages, some.outcome, fold)
    return _gains(loss) | {"H(Y) - loss of y given x and languages": loss.entropy - extended}


def _gains(loss: Losses) -> dict[str, float]:
    return {
        "H(Y)": loss.entropy,
        "H(Y) - loss of y given x": loss.entropy - loss.direct,
        "H(Z) - loss of z given x": loss.proxy_entropy - loss.proxy,
        "H(Y) - loss of y given z": loss.entropy - loss.given_proxy,
        "loss of y given z - given z and x": loss.given_proxy - loss.given_both,
        "loss of factored - loss of residual": loss.factored - loss.residual,
    }


def _features(past: Array) -> Array:
    """A constant, logarithms of the counts, and whether they are none or one."""
    return np.concatenate([np.ones((len(past), 1)), np.log1p(past), past == 0, past == 1], axis=1)


def shape(key: Array, windows: Windows, languages: Array) -> dict[str, float]:
    """How commits lie in time, and how languages go with them."""
    day = np.unique(key // _APART * _APART + key % _APART // DAY, return_counts=True)[1]
    gap = np.diff(key)[np.diff(key // _APART) == 0] / DAY
    pairs = _years_apart(windows)
    variety, busy = languages.sum(axis=1)[windows.repository], np.log(windows.days)
    return {
        "commits in a window, median": float(np.median(windows.commits)),
        "commits in a window, 90 %": float(np.quantile(windows.commits, 0.9)),
        "commit days in a window, median": float(np.median(windows.days)),
        "commit days in a window, 90 %": float(np.quantile(windows.days, 0.9)),
        "commit days with one commit": float((day == 1).mean()),
        "commits on a commit day": float(day.mean()),
        "gaps over 7 days that exceed 21": float((gap[gap > 7] > 21).mean()),
        "gaps over 21 days that exceed 60": float((gap[gap > 21] > 60).mean()),
        "log commit days, correlation with the year before": float(np.corrcoef(*np.log(pairs))[0, 1]),
        "languages of a repository": float(languages.sum(axis=1).mean()),
        "number of languages, correlation with log commit days": float(np.corrcoef(variety, busy)[0, 1]),
    }


def _years_apart(windows: Windows) -> Array:
    """Commit days [2, pairs] of a repository in one year's window and in the next year's."""
    years, year = np.unique(windows.start, return_inverse=True)
    days = np.zeros((windows.repository.max() + 1, len(years)))
    days[windows.repository, year] = windows.days
    before, after = days[:, :-1], days[:, 1:]
    both = (before > 0) & (after > 0)
    return np.stack([before[both], after[both]])
