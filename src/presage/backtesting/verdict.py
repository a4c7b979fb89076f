"""The verdict on a log in plain words: what forecasts best, whether the proxy pays, whether the default is safe."""

import math
from typing import NamedTuple

from presage.backtesting.leak_check import LeakCheck
from presage.backtesting.over_time import DAY, OverTime, ahead_since, moment
from presage.backtesting.scores import OverDirect, Score
from presage.metrics.intervals import Interval

SAFE = 0.01
"""How many nats per prediction the default may lie above the best forecaster in hindsight and still be called safe."""

Scores = dict[str, Score]


class ProxyGain(NamedTuple):
    """What the proxy gains: the best forecaster that learns through it, against the best that does not."""

    name: str
    over: OverDirect


def verdict(scores: Scores, gain: ProxyGain | None, over_time: OverTime, leaks: LeakCheck, default: str) -> list[str]:
    """Sentences from the most to the least important."""
    said = [_best(scores), *_proxy(gain, over_time), *_default(scores, default), *_waiting(scores, default)]
    if leaks.moved:
        return [f"Do not trust these numbers: {leaks.moved:,} scores moved when later labels were changed.", *said]
    return said


def loss_of(score: Score) -> float:
    """The mean loss over all rows."""
    return score.losses.overall.mean


def within(interval: Interval) -> str:
    """A mean with its interval, as sentences have it.

    >>> within(Interval(0.0933, 0.0747, 0.1119))
    '0.0933 (0.0747 to 0.1119)'
    """
    return f"{interval.mean:.4f} ({interval.low:.4f} to {interval.high:.4f})"


def _best(scores: Scores) -> str:
    best = min(scores, key=lambda name: loss_of(scores[name]))
    gain = scores[best].losses.gain
    if best == "marginal" or gain.low <= 0:
        return (
            f"Nothing is clearly better than the running marginal, one estimate for all instances: the least log loss "
            f"is that of {best}, {loss_of(scores[best]):.4f} nats per prediction."
        )
    return (
        f"Best is {best}, with a log loss of {loss_of(scores[best]):.4f} nats per prediction: {within(gain)} less than "
        "the running marginal, one estimate for all instances."
    )


def _proxy(gain: ProxyGain | None, over_time: OverTime) -> list[str]:
    if gain is None:
        return ["Whether the proxy pays cannot be told: no forecaster was played with it and none without."]
    name, over = gain
    words = [f"{_pays(name, over)} {_on_new(over)}"]
    since = ahead_since(over_time, name, over.against)
    if since is not None and over.overall.low > 0:
        words.append(f"Summed from the start, it has been ahead since {_date(over_time, since)}.")
    return [" ".join(words)]


def _pays(name: str, over: OverDirect) -> str:
    gain, pair = over.overall, f"{over.against}, the best that learns from outcomes only"
    if gain.low > 0:
        return f"The proxy pays: {_loss(name)} {within(gain)} below that of {pair}."
    if gain.high < 0:
        return f"The proxy does not pay over all rows: {_loss(name)} {within(_turned(gain))} above that of {pair}."
    return f"Over all rows the proxy makes no clear difference: {_loss(name)} {_below(gain)} that of {pair}."


def _on_new(over: OverDirect) -> str:
    gain = over.new_instances
    if math.isnan(gain.mean):
        return "There are too few new instances (a known proxy, no outcome yet) to tell."
    where = "On new instances (a known proxy, no outcome yet)"
    if gain.low > 0:
        return f"{where} it is {within(gain)} below."
    if gain.high < 0:
        return f"{where} it is {within(_turned(gain))} above."
    return f"{where} the difference is {within(gain)}: nothing clear."


def _default(scores: Scores, default: str) -> list[str]:
    others = {name: loss_of(score) for name, score in scores.items() if name != default}
    if default not in scores or not others:
        return []
    best = min(others, key=lambda name: others[name])
    behind = loss_of(scores[default]) - others[best]
    name, own = f"The default ({default}), which needs no hindsight,", "its log loss is"
    if behind <= 0:
        return [f"{name} is safe here: {own} {-behind:.4f} below that of {best}, the best of the others in hindsight."]
    if behind <= SAFE:
        return [f"{name} is safe here: {own} only {behind:.4f} above that of {best}, the best in hindsight."]
    return [f"{name} is not the best choice here: {own} {behind:.4f} above that of {best}, the best in hindsight."]


def _waiting(scores: Scores, default: str) -> list[str]:
    costs = {name: score.losses.delay_cost for name, score in scores.items() if score.losses.delay_cost}
    name = default if default in costs else next(iter(costs), None)
    if name is None:
        return []
    cost = costs[name]
    if cost.low > 0:
        return [f"Waiting for feedback costs {name} {within(cost)} nats per prediction."]
    words = f"without delays {_loss(name)} {_below(cost)} that with them."
    return [f"Waiting for feedback has no clear cost: {words}"]


def _loss(name: str) -> str:
    return f"the log loss of {name} is"


def _below(gain: Interval) -> str:
    """By how much a loss is below another, or above it."""
    return f"{within(gain)} below" if gain.mean >= 0 else f"{within(_turned(gain))} above"


def _turned(interval: Interval) -> Interval:
    return Interval(-interval.mean, -interval.high, -interval.low)


def _date(over_time: OverTime, block: int) -> str:
    text = moment(over_time.blocks.edges[block])
    return text[:10] if over_time.blocks.span >= DAY else f"{text[:10]} {text[11:16]} UTC"
