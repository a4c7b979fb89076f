"""Episodes: what is predicted round by round, and when its feedback is seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from presage.errors import DelayError, ShapeError
from presage.spaces import EMPTY, Array, Instance, Spaces, whole_numbers


@dataclass(frozen=True)
class Delays:
    """Fixed delays in rounds: feedback of round t is seen at the end of round t + delay, after its prediction.

    >>> Delays(proxy=3, outcome=1)
    Traceback (most recent call last):
    presage.errors.DelayError: a proxy must not come after its outcome: found Delays(proxy=3, outcome=1); \
give a proxy delay of at most 1, or say when each is seen with Episode.varying
    """

    proxy: int
    outcome: int

    def __post_init__(self) -> None:
        for name in ("proxy", "outcome"):
            delay = getattr(self, name)
            if isinstance(delay, bool) or not hasattr(delay, "__index__") or delay < 0:
                raise DelayError(f"the {name} delay must be a whole number of rounds", delay, "give 0 or more")
            object.__setattr__(self, name, int(delay))
        if self.proxy > self.outcome:
            remedy = f"give a proxy delay of at most {self.outcome}, or say when each is seen with Episode.varying"
            raise DelayError("a proxy must not come after its outcome", self, remedy)


NEVER = -1
"""The round at whose end feedback is seen that never comes."""


@dataclass(frozen=True, eq=False)
class Episode:
    """One episode of T rounds, or R trials of it along a leading axis.

    The feedback of round i is seen at the end of round `*_seen[i]`, after that round's prediction.
    A proxy or outcome that is never seen may be -1 (unknown); its round then scores NaN.

    >>> episode = Episode.fixed([0, 1, 0], [0, 1, 0], [1, 0, 1], Delays(proxy=0, outcome=2))
    >>> episode.outcome_seen
    array([2, 3, 4])
    """

    x: Any  # symbols [R, T] or Instance
    z: Array  # int32 [R, T]
    y: Array  # int32 [R, T]
    proxy_seen: Array  # int64 [T] when every trial shares it, else [R, T]
    outcome_seen: Array

    @classmethod
    def fixed(cls, x: Any, z: Any, y: Any, delays: Delays) -> "Episode":
        """An episode whose feedback is always equally late."""
        rounds = np.arange(_rounds(z))
        return cls.varying(x, z, y, rounds + delays.proxy, rounds + delays.outcome)

    @classmethod
    def varying(cls, x: Any, z: Any, y: Any, proxy_seen: Any, outcome_seen: Any) -> "Episode":
        """An episode that says for each round when its proxy and outcome are seen; -1 is never."""
        x = x if isinstance(x, Instance) else whole_numbers("instance", x)
        z, y = whole_numbers("proxy", z), whole_numbers("outcome", y)
        leading = x.symbols.shape[:-1] if isinstance(x, Instance) else x.shape
        seen = {
            "proxy": whole_numbers("proxy_seen", proxy_seen),
            "outcome": whole_numbers("outcome_seen", outcome_seen),
        }
        shapes = {"x": leading, "z": z.shape, "y": y.shape} | {f"{name}_seen": s.shape for name, s in seen.items()}
        fits = [leading == z.shape == y.shape] + [s.shape in (z.shape, z.shape[-1:]) for s in seen.values()]
        if z.ndim not in (1, 2) or z.shape[-1] == 0 or not all(fits):
            remedy = "give each of them one entry per round, and at least one round"
            raise ShapeError("the parts of an episode differ in length", shapes, remedy)
        for name, symbols in (("proxy", z), ("outcome", y)):
            _check_seen(name, seen[name], symbols)
        return cls(x, z, y, seen["proxy"], seen["outcome"])

    @classmethod
    def stack(cls, episodes: Sequence["Episode"]) -> "Episode":
        """The trials of equally long episodes, along a leading axis."""
        lengths = sorted({episode.rounds for episode in episodes if episode.trials is None})
        if len(lengths) != 1 or any(episode.trials is not None for episode in episodes):
            raise ShapeError("only equally long single episodes can be stacked", lengths, "cut them to one length")
        first = episodes[0].x
        if isinstance(first, Instance):
            x: Any = Instance(*(np.stack(part) for part in zip(*(episode.x for episode in episodes), strict=True)))
        else:
            x = np.stack([episode.x for episode in episodes])
        parts = ("z", "y", "proxy_seen", "outcome_seen")
        z, y, *seen = (np.stack([getattr(episode, part) for episode in episodes]) for part in parts)
        shared = [s[0] if (s == s[0]).all() else s for s in seen]
        return cls(x, z, y, *shared)

    @property
    def rounds(self) -> int:
        """T, the number of rounds."""
        return int(self.z.shape[-1])

    @property
    def trials(self) -> int | None:
        """R, the number of trials, or None for a single episode."""
        return int(self.z.shape[0]) if self.z.ndim == 2 else None

    def trial(self, trial: int) -> "Episode":
        """One of several trials, as a single episode."""
        x = Instance(*(part[trial] for part in self.x)) if isinstance(self.x, Instance) else self.x[trial]
        seen = [s[trial] if s.ndim == 2 else s for s in (self.proxy_seen, self.outcome_seen)]
        return Episode(x, self.z[trial], self.y[trial], *seen)

    def without_delay(self) -> "Episode":
        """The zero-delay twin: feedback that is seen at all is seen at the end of its own round."""
        rounds = np.arange(self.rounds)
        seen = [np.where(s == NEVER, NEVER, rounds) for s in (self.proxy_seen, self.outcome_seen)]
        return Episode(self.x, self.z, self.y, *seen)

    def encode(self, spaces: Spaces) -> tuple[Instance, Array, Array]:
        """Instances, proxies and outcomes checked against the spaces a forecaster knows."""
        return spaces.encode(self.x), spaces.proxy(self.z, EMPTY), spaces.outcome(self.y, EMPTY)


def _rounds(z: Any) -> int:
    shape = np.shape(z)
    if not shape:
        raise ShapeError("an episode needs one proxy per round", z, "give an array of proxies")
    return int(shape[-1])


def _check_seen(name: str, seen: Array, symbols: Array) -> None:
    rounds = np.arange(seen.shape[-1])
    early = (seen < rounds) & (seen != NEVER)
    if early.any():
        place = tuple(np.argwhere(early)[0])
        wrong = f"the {name} of round {place[-1]} would be seen before that round"
        raise DelayError(wrong, int(seen[place]), f"give round {place[-1]} or later, or -1 for never")
    unknown = (symbols == EMPTY) & (seen != NEVER)
    if unknown.any():
        round_ = int(np.argwhere(unknown)[0][-1])
        remedy = "give its symbol, or say that it is never seen with -1"
        raise DelayError(f"the {name} of round {round_} is seen but unknown", EMPTY, remedy)
