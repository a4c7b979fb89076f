"""What a rival is: a name, and a function that gives the probabilities of every row from what was known before it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from presage.errors import DataError, PresageError, SettingError
from presage.progress import Step
from presage.spaces import Array, Spaces
from presage.timeline.arrivals import Arrivals, arrivals, as_rounds
from presage.timeline.episode import NEVER, Episode

FLOOR = 1e-3
"""The share of the uniform distribution in what every rival says: no probability is below `FLOOR` / outcomes, so a
class that a rival has never seen costs it at most about 8 nats for each row, and never an infinite loss."""


class RivalLog(NamedTuple):
    """A log of N rows as rivals get it: encoded, with the round at whose end each feedback is seen."""

    episode: Episode  # its instances encoded: symbols [N, S] and dense [N, F]
    spaces: Spaces
    shown_at: Array  # int64 [N]: microseconds since 1970 UTC; a second stands for a row in a log without times
    names: tuple[str, ...]  # of the symbol columns, the identity first
    ordered: tuple[bool, ...]  # which of them have an order, such as counts
    seed: int = 0
    in_rows: bool = False

    @property
    def rows(self) -> int:
        """N, how many rows there are."""
        return self.episode.rounds


@dataclass(frozen=True)
class Rival:
    """Something to compare Presage with.

    `play` is given a log and what to call with the number of rows that are done, and returns the probabilities of the
    outcomes: float [N, Y]. Those of row t may depend on feedback that is seen at the end of rounds before t only; the
    leak check of a backtest tests this.

    >>> even = Rival("even", lambda log, step: np.full((log.rows, log.spaces.outcomes), 1.0))
    >>> even.name
    'even'
    """

    name: str
    play: Callable[[RivalLog, Step], Array]


class TimedSignal(NamedTuple):
    """One kind of feedback of every row, in the order in which it becomes known."""

    symbols: Array  # int32 [N]: -1 where unknown
    arrivals: Arrivals
    size: int  # how many symbols there are


def outcome_signal(log: RivalLog) -> TimedSignal:
    """The outcomes."""
    return TimedSignal(log.episode.y, arrivals(log.episode.outcome_seen), log.spaces.outcomes)


def proxy_signal(log: RivalLog) -> TimedSignal:
    """The proxies."""
    return TimedSignal(log.episode.z, arrivals(log.episode.proxy_seen), log.spaces.proxies)


def outcomes_with_proxies(log: RivalLog) -> TimedSignal:
    """The outcomes of rows whose proxy is known too, from when both are."""
    latest = np.maximum(as_rounds(log.episode.proxy_seen), as_rounds(log.episode.outcome_seen))
    seen = np.where(latest >= log.rows, NEVER, latest)
    return TimedSignal(log.episode.y, arrivals(seen), log.spaces.outcomes)


def play_rival(rival: Rival, log: RivalLog, step: Step) -> Array:  # float32 [N, Y]
    """The log-probabilities that a rival gives the outcomes of every row; one line of error names it where it fails."""
    try:
        said = np.asarray(rival.play(log, step), np.float64)
    except PresageError:
        raise
    except Exception as error:
        remedy = "correct its settings, or leave it out"
        raise DataError(f"the rival {rival.name} failed", _one_line(error), remedy) from error
    return np.log(floored(said, log, rival.name)).astype(np.float32)


def floored(said: Array, log: RivalLog, name: str) -> Array:
    """Probabilities [N, Y] that add up to 1 and are nowhere below the floor."""
    shape, remedy = (log.rows, log.spaces.outcomes), "give a probability for each row and outcome"
    if said.shape != shape:
        raise DataError(f"the rival {name} gave an array of the wrong shape, not {shape}", said.shape, remedy)
    wrong = ~np.isfinite(said) | (said < 0)
    if wrong.any():
        found = float(said[wrong][0])
        raise DataError(f"the rival {name} gave something that is no probability", found, remedy)
    total = said.sum(axis=1, keepdims=True)
    even = 1 / shape[1]
    shares = np.divide(said, total, out=np.full(shape, even), where=total > 0)
    return (1 - FLOOR) * shares + FLOOR * even


def running_marginal(signal: TimedSignal) -> Array:  # float64 [N, K]
    """The share of each value among what was known before each row, with one observation of each to begin with.

    >>> running_marginal(TimedSignal(np.array([1, 1, 0]), arrivals(np.array([0, 1, 2])), 2))[:, 1].round(3).tolist()
    [0.5, 0.667, 0.75]
    """
    order, known = signal.arrivals
    arrived = np.zeros((int(known[-1]) + 1, signal.size))
    arrived[np.arange(1, len(arrived)), signal.symbols[order[: known[-1]]]] = 1
    counts = 1 + np.cumsum(arrived, axis=0)[known[:-1]]
    shares: Array = counts / counts.sum(axis=1, keepdims=True)
    return shares


def check_name(name: Any) -> str:
    """`name`, if it can name a rival."""
    if not isinstance(name, str) or not name.strip() or "," in name or "/" in name:
        raise SettingError("a rival needs a name without commas and slashes", name, 'give name="my-model"')
    return name


def _one_line(error: Exception) -> str:
    """An error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
