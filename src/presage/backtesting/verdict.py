"""The verdict on a log in plain words: whether the early sign is worth using, what to do next, what forecasts best."""

import math
from enum import Enum
from typing import Any, NamedTuple

from presage.backtesting.leak_check import LeakCheck
from presage.backtesting.scores import OverDirect, Score
from presage.metrics.intervals import Interval
from presage.proxies.judge import WORTH_HAVING

SAFE = 0.01
"""How many nats per prediction the default may lie above the best forecaster in hindsight and still be called safe."""

Scores = dict[str, Score]


class Worth(Enum):
    """What a gain comes to, by its interval."""

    GAIN = "a gain"
    NONE = "less than a gain worth having, for certain"
    UNCLEAR = "either may be true"


def worth(percent: Interval) -> Worth:
    """What a gain in percent of log loss comes to.

    >>> [worth(Interval(*each)).name for each in ((2.1, 1.4, 2.8), (0.1, -0.1, 0.3), (0.4, 0.1, 0.7), (3.3, -3.0, 9.6))]
    ['GAIN', 'NONE', 'UNCLEAR', 'UNCLEAR']
    """
    least = 100 * WORTH_HAVING
    if percent.high < least:
        return Worth.NONE
    return Worth.GAIN if percent.low > 0 and percent.mean >= least else Worth.UNCLEAR


class ProxyGain(NamedTuple):
    """What the proxy gains: the best forecaster that learns through it, against the best that does not.

    Before any outcome is known both say the same: rows that were shown by then would water the gain down.

    Tables that learn through a proxy also pool more than direct ones, and so may be ahead with one that tells nothing.
    That is why there is a second opponent: the same forecaster, with the values of the proxy shuffled among the rows.
    """

    name: str
    over: OverDirect  # over all rows
    learnt: OverDirect  # over the rows that were shown once some outcome was known; NaN where there are none
    percent: Interval  # the same gain in percent of the direct forecaster's log loss
    percent_new: Interval  # and on new instances
    since: str | None = None  # from when on it has been ahead, summed from the first known outcome
    over_shuffled: Interval | None = None  # the gain over itself with shuffled values, in percent
    over_shuffled_new: Interval | None = None  # and on new instances
    new_rows: int = 0  # on new instances, with known outcomes, once some outcome was known

    @property
    def sure(self) -> Interval:
        """The gain over the harder of both opponents, in percent: what a verdict is about."""
        return _lesser(self.percent, self.over_shuffled)

    @property
    def sure_new(self) -> Interval:
        """The same on new instances."""
        return _lesser(self.percent_new, self.over_shuffled_new)

    @property
    def helps(self) -> bool:
        """Whether it is worth using, over all rows or on new instances."""
        return Worth.GAIN in (worth(self.sure), worth(self.sure_new))

    @property
    def useless(self) -> bool:
        """Whether it is not worth using over all rows, for certain, and not seen to be on new instances."""
        return worth(self.sure) is Worth.NONE and not self.helps

    @property
    def pools(self) -> bool:
        """Whether it is ahead of the direct one, and most of that is there with shuffled values, too."""
        most = self.percent.low > 0 and self.sure.mean < self.percent.mean / 2
        return most and worth(self.sure) is not Worth.GAIN

    def shuffled_json(self) -> dict[str, Any]:
        """The gain over itself with shuffled values, in percent."""
        none = Interval(math.nan, math.nan, math.nan)
        overall, new = self.over_shuffled or none, self.over_shuffled_new or none
        return overall._asdict() | {"new_instances": new._asdict()}


def _lesser(gain: Interval, other: Interval | None) -> Interval:
    return other if other and other.mean < gain.mean else gain


def verdict(
    scores: Scores, gain: ProxyGain | None, leaks: LeakCheck, default: str, *, warned: bool = False, note: str = ""
) -> list[str]:
    """Sentences from the most to the least important: the early sign, what to do next, and then the figures.

    `warned` is whether there are warnings of the log, which come first then; `note` is what is odd about the proxy.
    """
    after = (
        ["Next: look into the warnings first; what follows holds only if they have a good reason."] if warned else []
    )
    said = [
        *_proxy(gain),
        *([note] if note else []),
        *after,
        *_next(scores, gain, default),
        *_nats(gain),
        _best(scores),
    ]
    said += [*_default(scores, default), *_waiting(scores, default)]
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


def _proxy(gain: ProxyGain | None) -> list[str]:
    """Whether the early sign is worth using, over all predictions and on new items."""
    if gain is None:
        return ["Whether to use the early sign cannot be told: no forecaster was played with it and none without."]
    if math.isnan(gain.percent.mean):
        why = "no outcome was known before the last predictions that can be scored"
        return [f"Too little data to tell whether the early sign is worth using: {why}."]
    found = worth(gain.sure)
    overall = {
        Worth.GAIN: f"Using the early sign lowers log loss by {_percent(gain.sure)}.",
        Worth.NONE: f"Not worth using: {_at_most(gain.sure)}.",
        Worth.UNCLEAR: f"Too little data to tell whether the early sign is worth using: {_anything(gain.sure)}.",
    }[found]
    if gain.since is not None and found is Worth.GAIN:
        overall += f" It has been ahead since {gain.since}, summed from the first known outcome on."
    return [overall, _on_new(gain), *([_pooling(gain)] if gain.pools else [])]


def _pooling(gain: ProxyGain) -> str:
    """Why a forecaster that is ahead does not owe it to the early sign."""
    ahead = f"{gain.name} is ahead of {gain.over.against} by {_percent(gain.percent)}"
    return f"{ahead}, but most of that remains when the values of the sign are shuffled: it comes from pooling items."


def _on_new(gain: ProxyGain) -> str:
    percent, where = gain.sure_new, "on new items (a known proxy, no outcome yet)"
    if math.isnan(percent.mean):
        return f"There are too few predictions {where} to tell what it does there: {gain.new_rows:,}."
    return {
        Worth.GAIN: f"O{where[1:]} it lowers log loss by {_percent(percent)}.",
        Worth.NONE: f"O{where[1:]} it is not worth using: {_at_most(percent)}.",
        Worth.UNCLEAR: f"O{where[1:]} there is too little data to tell: {_anything(percent)}.",
    }[worth(percent)]


def _nats(gain: ProxyGain | None) -> list[str]:
    """The same in nats."""
    if gain is None or math.isnan(gain.percent.mean):
        return []
    pair = f"that of {gain.over.against}, the best that learns only from outcomes"
    words = f"In nats per prediction: {_loss(gain.name)} {_below(gain.learnt.overall)} {pair}"
    new = gain.learnt.new_instances
    return [f"{words}; on new items {_below(new)}." if not math.isnan(new.mean) else f"{words}."]


def _percent(percent: Interval) -> str:
    mean, low, high = (round(part, 1) + 0.0 for part in percent)  # 0.0 rather than -0.0
    return f"{mean:.1f} % ({low:.1f} to {high:.1f})"


def _at_most(percent: Interval) -> str:
    """A gain that is certainly too small."""
    if percent.high <= 0:
        return f"the early sign raises log loss by {_percent(_turned(percent))}"
    if percent.low > 0:
        return f"the early sign lowers log loss by only {_percent(percent)}"
    return f"the early sign lowers log loss by at most {percent.high:.1f} %"


def _anything(percent: Interval) -> str:
    """A gain of which little is known: how log loss may change."""
    if percent.low > 0:
        return f"it lowers log loss by {_percent(percent)}, which may be too little to matter"
    return f"it changes log loss by anything from {-percent.high:+.1f} % to {-percent.low:+.1f} %"


def _next(scores: Scores, gain: ProxyGain | None, default: str) -> list[str]:
    """What to do next."""
    if gain is None:
        return []
    behind = _behind(scores, default)
    use = default if behind is not None and behind[1] <= SAFE else min(scores, key=lambda name: loss_of(scores[name]))
    if gain.helps:
        return [f"Next: use {use}; presage serve runs it."]
    if gain.useless:
        other = "look for another early sign (presage proxies judges every candidate of a task)"
        return [f"Next: {other}. Until then, use {use}."]
    return [f"Next: try a longer log or a shorter horizon of the outcome. Until then, {use} is a safe choice."]


def _behind(scores: Scores, default: str) -> tuple[str, float] | None:
    """The best of the other forecasters in hindsight, and how far the default lies above it; None without both."""
    others = {name: loss_of(score) for name, score in scores.items() if name != default}
    if default not in scores or not others:
        return None
    best = min(others, key=lambda name: others[name])
    return best, loss_of(scores[default]) - others[best]


def _default(scores: Scores, default: str) -> list[str]:
    found = _behind(scores, default)
    if found is None:
        return []
    best, behind = found
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
