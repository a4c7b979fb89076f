"""How far the default forecaster is from the best single one where the paper's own tables are at home.

`python -m benchmarks regret [TRIALS [SEED]]`: the regret of the default and of the mixture of tables over that of the
best of the direct, the factored and the residual table, at every point of Figure 2 and where half of the outcomes come
straight from the instance. Intervals are over paired trials.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from presage.drivers.play import play_experts
from presage.experiments.claims import Measure, Verdict, some
from presage.experiments.synthetic.settings import PAPER
from presage.forecasters.catalogue import table_mixture
from presage.forecasters.contexts.context_mixture import context_mixture
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import mixture
from presage.metrics.intervals import Interval, ratio_interval
from presage.metrics.losses import regret
from presage.spaces import Array, Spaces
from presage.timeline.episode import Delays
from presage.worlds.factored import FactoredWorld

SINGLES = ("direct", "factored", "residual")
MOST, LEEWAY = 1.1, 0.02
"""The default's ratio to the best single forecaster is at most `MOST`, or at most `LEEWAY` above that of the mixture of
tables."""


class Point(NamedTuple):
    """A schedule, from adversarial (mix 0) to uniform (1), and how much proxies and instances tell."""

    mix: float
    useful: float
    bypass: float = 0.0
    rounds: int = PAPER.rounds

    @property
    def name(self) -> str:
        """Where it lies."""
        where = {0.0: "adversarial", 1.0: "uniform"}.get(self.mix, f"mix {self.mix:g}")
        half = ", half straight from x" if self.bypass else ""
        return f"{where}, {self.useful:.0%}{half}"


MIXES = np.linspace(0, 1, PAPER.mixes).round(3).tolist()
POINTS = (
    *(Point(mix, useful) for mix in MIXES for useful in PAPER.useful),
    Point(1.0, 1.0, bypass=0.5, rounds=5000),
)


class Compared(NamedTuple):
    """The regret of each forecaster at a point, [trials]."""

    regrets: dict[str, Array]

    @property
    def best(self) -> str:
        """The best single forecaster."""
        return min(SINGLES, key=lambda name: float(self.regrets[name].mean()))

    def ratio(self, name: str) -> Interval:
        """The regret of a forecaster over that of the best single one."""
        return ratio_interval(self.regrets[name], self.regrets[self.best])

    @property
    def verdict(self) -> Verdict:
        """Whether the default is near enough to the best."""
        more = ratio_interval(self.regrets["default"] - self.regrets["of tables"], self.regrets[self.best])
        measures = Measure("over the best", self.ratio("default"), most=MOST), Measure("more", more, most=LEEWAY)
        return some(measure.verdict for measure in measures)


def compare(
    point: Point, trials: int, seed: int, default: Callable[[Spaces], Forecaster] = context_mixture
) -> Compared:
    """The regrets at a point."""
    world = FactoredWorld(PAPER.instances, PAPER.proxies, PAPER.outcomes, PAPER.noise, point.bypass)
    dealt = world.deal(trials, point.rounds, Delays(PAPER.proxy_delay, PAPER.delay), point.mix, seed)
    dealt = dealt.obscured(point.useful, seed + 1)
    singles = play_experts(mixture(world.spaces), dealt.episode, 0).experts
    assert singles is not None
    losses = dict(zip(SINGLES, singles.swapaxes(0, 1), strict=True))
    for name, forecaster in (("of tables", table_mixture(world.spaces, ())), ("default", default(world.spaces))):
        losses[name] = play_experts(forecaster, dealt.episode, 0).own
    return Compared({name: regret(each, dealt.true_loss) for name, each in losses.items()})


def report(arguments: list[str]) -> Iterator[str]:
    """The table, line by line."""
    trials, seed = (int(each) for each in [*arguments, *("40", "1")[len(arguments) :]])
    yield "| schedule, useful proxies | direct | factored | residual | mixture of tables | default | verdict |"
    yield "|---|---|---|---|---|---|---|"
    worst, verdicts = Interval(0.0, 0.0, 0.0), []
    for point in POINTS:
        found = compare(point, trials, seed)
        means = [f"{found.regrets[name].mean():.0f}" for name in SINGLES]
        ratios = [
            f"{ratio.mean:.3f} ({ratio.low:.3f} to {ratio.high:.3f})" for ratio in map(found.ratio, found.regrets)
        ]
        yield f"| {point.name} | {' | '.join([*means, *ratios[len(SINGLES) :]])} | {found.verdict.value} |"
        worst = max(worst, found.ratio("default"))
        verdicts.append(found.verdict)
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict.value}" for verdict in Verdict)
    yield f"\n{len(POINTS)} points, {trials} trials each, seed {seed}: {counted}; the largest ratio is {worst}."
