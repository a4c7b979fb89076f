"""What the early sign gains in a backtest: over forecasters without it, and over the same with shuffled signs."""

from dataclasses import replace

import numpy as np

from presage.backtesting.families import proxy_pair
from presage.backtesting.replay import Said, replay
from presage.backtesting.scores import Score, gain_over, percent_of
from presage.backtesting.segments import UNKNOWN
from presage.backtesting.verdict import ProxyGain, loss_of
from presage.forecasters.contract import Forecaster
from presage.metrics.intervals import Interval
from presage.metrics.losses import log_loss
from presage.spaces import EMPTY, Array
from presage.timeline.episode import Episode


def gain_of_proxy(said: Said, y: Array, new: Array, first: int, scores: dict[str, Score]) -> ProxyGain | None:
    """The gain over the best forecaster without the proxy, by what was said of outcomes y [N]; None without both.

    `first` is the first row that was shown once some outcome was known, `new` [N] marks rows of new instances. Where
    all outcomes are the same there are no percents: there is next to no log loss to take them of.
    """
    pair = proxy_pair({name: loss_of(score) for name, score in scores.items()})
    if pair is None:
        return None
    ours, direct = pair
    everywhere, learnt = gain_over(said, y, new, ours, direct), known_from(first, y)
    over, loss = gain_over(said, learnt, new, ours, direct), log_loss(said[direct], learnt)
    if len(np.unique(y[y != EMPTY])) < 2:
        return ProxyGain(ours, everywhere, over, UNKNOWN, UNKNOWN)
    return ProxyGain(ours, everywhere, over, _percent(over.overall, loss), _percent(over.new_instances, loss[new]))


def gain_over_shuffled(
    gain: ProxyGain, forecaster: Forecaster, said: Said, episode: Episode, *, new: Array, first: int, seed: int
) -> ProxyGain:
    """The same gain, with what it comes to over its own forecaster when that sees shuffled values of the proxy."""
    if np.isnan(gain.percent.mean):
        return gain
    shuffled = replay({gain.name: forecaster}, with_shuffled_proxy(episode, seed), seed, lambda _: None)
    y = known_from(first, episode.y)
    both = {gain.name: said[gain.name], "shuffled": shuffled[gain.name]}
    over, loss = gain_over(both, y, new, gain.name, "shuffled"), log_loss(both["shuffled"], y)
    return gain._replace(
        over_shuffled=_percent(over.overall, loss), over_shuffled_new=_percent(over.new_instances, loss[new])
    )


def with_shuffled_proxy(episode: Episode, seed: int) -> Episode:
    """The episode with the known values of its proxy shuffled among the rows: they come as before and tell nothing."""
    z = episode.z.copy()
    known = np.flatnonzero(z != EMPTY)
    z[known] = np.random.default_rng(seed).permutation(z[known])
    return replace(episode, z=z)


def known_from(first: int, y: Array) -> Array:
    """The outcomes [N] of the rows from the first that was shown once some outcome was known; the others as unknown."""
    return np.where(np.arange(len(y)) >= first, y, EMPTY)


def _percent(nats: Interval, losses: Array) -> Interval:
    """A gain in percent of the mean of these losses."""
    return nats if np.isnan(nats.mean) else percent_of(nats, float(np.nanmean(losses, dtype=np.float64)))
