"""The check of the order of time: labels that become known later are changed, and no earlier score may move."""

from typing import NamedTuple

import numpy as np

from presage.backtesting.replay import replay
from presage.drivers.threads import over_cores
from presage.forecasters.contract import Forecaster
from presage.spaces import Array, Instance, Spaces
from presage.timeline.arrivals import as_rounds
from presage.timeline.episode import Episode

ENOUGH = 1000
"""How many outcomes are known when the check begins: forecasters that have learnt nothing yet leak nothing."""


MOST = 200_000
"""How many rows are looked at: of a longer log every second, every third and so on."""


class LeakCheck(NamedTuple):
    """How many labels were changed, and how many earlier scores moved: none, or something is wrong."""

    tampered: int
    moved: int


class TamperedLog(NamedTuple):
    """The first rows of a log, honest and with other labels after a round."""

    honest: Episode
    changed: Episode
    until: int  # the round at whose end the first label is seen that was changed
    labels: int  # how many were changed
    step: int  # which rows were taken: every `step`-th


def check_leaks(forecasters: dict[str, Forecaster], spaces: Spaces, episode: Episode, seed: int) -> LeakCheck:
    """The check on the first rows of a log: up to the moment at which enough outcomes are known, and as many again.

    All feedback seen after that moment is replaced by other symbols. Scores until then must come out the same, to the
    bit. Of a long log only some rows are taken, at even distances, each as late as it was.
    """
    log = tampered_log(spaces, episode, seed)
    both = over_cores(lambda each: replay(forecasters, each, seed, _silent), (log.honest, log.changed))
    honest, changed = both
    return LeakCheck(log.labels, sum(moved_rows(honest[name], changed[name], log.until) for name in forecasters))


def moved_rows(honest: Array, changed: Array, until: int) -> int:
    """How many rows up to a round were not predicted alike, to the bit."""
    return int((honest[: until + 1] != changed[: until + 1]).any(axis=-1).sum())


def tampered_log(spaces: Spaces, episode: Episode, seed: int) -> TamperedLog:
    """What the check is played on."""
    step = -(-episode.rounds // MOST)
    episode = thinned(episode, step)
    order = np.sort(as_rounds(episode.outcome_seen))
    half = int(min(order[min(ENOUGH, len(order) - 1)], episode.rounds // 2))
    rows = min(2 * half + 1, episode.rounds)
    draw = np.random.default_rng(seed)
    first = first_rows(episode, rows)
    changed, tampered = [], 0
    for symbols, seen, size in (
        (first.z, first.proxy_seen, spaces.proxies),
        (first.y, first.outcome_seen, spaces.outcomes),
    ):
        later = (as_rounds(seen) >= half) & (symbols >= 0)
        other = (symbols + draw.integers(1, max(size, 2), rows)) % size
        changed.append(np.where(later, other, symbols))
        tampered += int(later.sum())
    z, y = changed
    return TamperedLog(first, Episode(first.x, z, y, first.proxy_seen, first.outcome_seen), half, tampered, step)


def _silent(name: str) -> None:
    """Nobody waits for the check."""


def thinned(episode: Episode, step: int) -> Episode:
    """The episode that deals every `step`-th row only."""
    if step == 1:
        return episode
    rounds = -(-episode.rounds // step)
    # Feedback is seen at the end of the last round that is left by then.
    seen = [
        np.where(part >= episode.rounds, rounds, part // step)[::step]
        for part in (episode.proxy_seen, episode.outcome_seen)
    ]
    x = Instance(*(part[::step] for part in episode.x)) if isinstance(episode.x, Instance) else episode.x[::step]
    return Episode(x, episode.z[::step], episode.y[::step], *seen)


def first_rows(episode: Episode, rows: int) -> Episode:
    """The first rows of an episode; feedback that is seen later comes after them."""
    x = Instance(*(part[:rows] for part in episode.x)) if isinstance(episode.x, Instance) else episode.x[:rows]
    parts: list[Array] = [part[:rows] for part in (episode.z, episode.y, episode.proxy_seen, episode.outcome_seen)]
    return Episode(x, *parts)
