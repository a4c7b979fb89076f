"""The demo played: shops in, losses by day and a verdict out."""

from typing import NamedTuple

import numpy as np

from presage.drivers.counting.episodes import count_experts
from presage.forecasters.contract import Forecaster
from presage.forecasters.direct_table import direct_table
from presage.forecasters.factored_table import factored_table
from presage.forecasters.mixture import mixture
from presage.forecasters.residual_table import residual_table
from presage.metrics.calibration import Reliability, reliability
from presage.metrics.intervals import Interval, mean_interval
from presage.progress import Step
from presage.spaces import Array, Spaces
from presage.timeline.episode import Episode
from presage.worlds.shop import ShopSettings

NAMES = ("marginal", "direct", "factored", "residual", "mixture")

STRENGTH = 10.0
"""How many purchases its genre is worth to a title, and the whole shop to a genre; the same for every table."""


LEAST_GAIN = 1e-4
"""Gains in loss below this are not worth a word."""


class ShopScore(NamedTuple):
    """The mean loss of a forecaster in excess of one that knows every title, once outcomes have begun to come."""

    name: str
    loss: float  # the mean log loss itself
    excess: Interval
    excess_new: Interval  # on titles younger than the outcome delay, whose outcomes were not all known


class ShopRun(NamedTuple):
    """What the demo measured."""

    excess: dict[str, Array]  # by forecaster, [trials, days]: mean loss of the day beyond the truth's
    scores: list[ShopScore]
    new_share: float  # of purchases, after the first outcomes
    reliable: dict[str, Reliability]  # of direct and mixture: how often books were finished, by how likely it was said


def shop_forecasters(spaces: Spaces) -> Forecaster:
    """The mixture of direct, factored and residual tables, all shrunk through the genre to the whole shop.

    Direct gets the same pooling as the others: a plain one would be easy to beat.
    """
    genre = ((1,),)
    return mixture(
        spaces,
        [
            direct_table(spaces, shrinkage=STRENGTH, groups=genre),
            factored_table(spaces, shrinkage=STRENGTH, groups=genre),
            residual_table(spaces, shrinkage=STRENGTH, groups=genre, kappa=STRENGTH),
        ],
    )


def run_shop(settings: ShopSettings, trials: int, seed: int, progress: Step) -> ShopRun:
    """Shops simulated and forecast purchase by purchase."""
    dealt = settings.deal(trials, seed)
    losses = count_experts(shop_forecasters(settings.spaces), dealt.episode, progress)
    assert losses.experts is not None
    marginal = _marginal(dealt.episode)
    each = dict(zip(NAMES, (marginal, *losses.experts.swapaxes(0, 1), losses.own), strict=True))
    late = dealt.day >= settings.outcome_days
    new = dealt.age[:, late] < settings.outcome_days
    scores = [_score(name, own[:, late], dealt.true_loss[:, late], new) for name, own in each.items()]
    excess = {
        name: (own - dealt.true_loss).reshape(trials, settings.days, -1).mean(axis=-1) for name, own in each.items()
    }
    reliable = {name: _reliability(each[name][:, late], dealt.episode.y[:, late]) for name in ("direct", "mixture")}
    return ShopRun(excess, scores, float(new.mean()), reliable)


def _marginal(episode: Episode) -> Array:
    """The running marginal: one estimate for all titles."""
    everything = Episode.varying(
        np.zeros_like(episode.z), episode.z, episode.y, episode.proxy_seen, episode.outcome_seen
    )
    return count_experts(direct_table(Spaces(1, 3, 2)), everything).own


def _reliability(losses: Array, y: Array) -> Reliability:
    """How often books were finished; of two outcomes the loss tells how likely both were said to be."""
    said = np.exp(-losses).ravel()
    finished = y.ravel() == 1
    return reliability(np.where(finished, said, 1 - said), finished, bins=12, equal="rows")


def _score(name: str, losses: Array, truth: Array, new: Array) -> ShopScore:
    beyond = losses - truth
    by_trial = [trial[mask].mean() for trial, mask in zip(beyond, new, strict=True)]
    return ShopScore(name, float(losses.mean()), mean_interval(beyond.mean(axis=1)), mean_interval(np.array(by_trial)))


def verdict(settings: ShopSettings, run: ShopRun) -> str:
    """One sentence: what was gained, over which forecaster, and when."""
    scores = {score.name: score for score in run.scores}
    direct, ours = scores["direct"].excess_new.mean, scores["mixture"].excess_new.mean
    day = first_day_ahead(run)
    lead = (
        f"On titles on sale for less than {settings.outcome_days} days ({run.new_share:.0%} of purchases) the "
        f"mixture's log loss is {ours:.4f} nats above the best possible, the direct forecaster's {direct:.4f}"
    )
    if ours >= direct or day is None:
        return f"{lead}: here the early sign does not help."
    won = f"the mixture wins back {1 - ours / direct:.0%} of what waiting costs"
    return f"{lead}: {won}. It is clearly ahead by day {day}."


def first_day_ahead(run: ShopRun) -> int | None:
    """The end of the first ten days over which the mixture beats direct beyond doubt (95 % interval over shops)."""
    gap = run.excess["direct"] - run.excess["mixture"]  # [trials, days]
    for day in range(10, gap.shape[1] + 1):
        if mean_interval(gap[:, day - 10 : day].mean(axis=1)).low > LEAST_GAIN:
            return day
    return None
