"""The synthetic experiment from settings to report and files."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np

from presage.charts.pictures import as_picture, drawn
from presage.experiments.claims import Claim
from presage.experiments.report import Report, Stopwatch, kept_files
from presage.experiments.synthetic.claims import bound_slope, growth_slope, judge
from presage.experiments.synthetic.figure import as_table, figure_2, growth_figure, growth_rows, mix_rows
from presage.experiments.synthetic.problem import Point, Progress, regret_by_mix, regret_by_size, regret_parts
from presage.experiments.synthetic.settings import SyntheticSettings
from presage.metrics.intervals import mean_interval
from presage.spaces import Array


class Measured(NamedTuple):
    """What was measured, over the trials of one seed or of several."""

    mixes: Array
    regrets: dict[str, Array]  # by curve, [M, trials]
    points: list[Point]

    def judged(self, settings: SyntheticSettings) -> list[Claim]:
        """Every claim."""
        return judge(settings, *self)


def pooled(runs: Sequence[Measured]) -> Measured:
    """The trials of several seeds as those of one."""
    regrets = {name: np.concatenate([run.regrets[name] for run in runs], axis=1) for name in runs[0].regrets}
    points = [
        same[0]._replace(regrets=np.concatenate([point.regrets for point in same]))
        for same in zip(*(run.points for run in runs), strict=True)
    ]
    return Measured(runs[0].mixes, regrets, points)


def reproduce_synthetic(
    settings: SyntheticSettings,
    progress: Progress,
    draw: Callable[..., str] = drawn,
    seeds: Sequence[int] = (),
) -> tuple[Report, dict[str, bytes]]:
    """The report of the synthetic experiment, and the files that keep it: pictures, tables and settings.

    Claims are judged on the trials of all `seeds` together, and of each; the settings' own if there are none.
    """
    watch = Stopwatch()
    each = [replace(settings, seed=seed) for seed in seeds] or [settings]
    by_mix = [regret_by_mix(own, progress) for own in each]
    curves = pooled([Measured(*played, []) for played in by_mix])
    trials = len(each) * settings.trials
    first = draw(figure_2, trials, mix_rows(curves.mixes, curves.regrets))
    figure_2_seconds = watch.seconds()
    runs = [Measured(*played, regret_by_size(own, progress)) for own, played in zip(each, by_mix, strict=True)]
    parts = regret_parts(each[0], progress)
    whole = pooled(runs)
    results = {
        "mix": whole.mixes.round(4).tolist(),
        "regret": {
            name: {"mean": each.mean(axis=1).tolist(), "sd": each.std(axis=1, ddof=1).tolist()}
            for name, each in whole.regrets.items()
        },
        "growth": [_summary(point) for point in whole.points],
        "slopes": {
            schedule: {
                name: growth_slope(whole.points, schedule, name)._asdict()
                | {"bound": bound_slope(whole.points, schedule, name)}
                for name in ("direct", "factored")
            }
            for schedule in ("adversarial", "uniform")
        },
        "parts": [part._asdict() for part in parts],
        "figure_2_seconds": figure_2_seconds._asdict(),
    }
    second = draw(growth_figure, asdict(settings) | {"trials": trials}, growth_rows(whole.points))
    by_seed = {own.seed: run.judged(own) for own, run in zip(each, runs, strict=True)}
    report = Report("synthetic", each[0], watch.seconds(), results, whole.judged(each[0]), (), by_seed)
    pictures = {"figure-2": as_picture(first), "growth": as_picture(second)}
    return report, kept_files(report, pictures, {"regret.csv": as_table(whole.mixes, whole.regrets)})


def _summary(point: Point) -> dict[str, object]:
    """A point with the interval of its mean in place of every trial."""
    summary = point._asdict() | mean_interval(point.regrets)._asdict()
    del summary["regrets"]
    return summary


def episodes_played(settings: SyntheticSettings, seeds: int = 1) -> int:
    """How many episodes are reported to `progress` in all."""
    kinds = len(settings.useful)
    sizes = len(settings.delays) + len(settings.sizes) + len(settings.scales)
    return settings.trials * (seeds * (settings.mixes * kinds + 2 * 2 * sizes) + 2 * 2 * kinds)
