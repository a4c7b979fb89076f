"""The synthetic experiment from settings to report and files."""

from collections.abc import Callable
from dataclasses import asdict

from presage.charts.pictures import as_picture, drawn
from presage.experiments.files import kept_files
from presage.experiments.report import Report
from presage.experiments.stopwatch import Stopwatch
from presage.experiments.synthetic.claims import judge
from presage.experiments.synthetic.figure import as_table, figure_2, growth_figure, growth_rows, mix_rows
from presage.experiments.synthetic.problem import (
    Point,
    Progress,
    doublings,
    regret_by_mix,
    regret_by_size,
    regret_parts,
)
from presage.experiments.synthetic.settings import SyntheticSettings
from presage.metrics.intervals import mean_interval


def reproduce_synthetic(
    settings: SyntheticSettings, progress: Progress, draw: Callable[..., str] = drawn
) -> tuple[Report, dict[str, bytes]]:
    """The report of the synthetic experiment, and the files that keep it: pictures, tables and settings."""
    watch = Stopwatch()
    mixes, regrets = regret_by_mix(settings, progress)
    first = draw(figure_2, settings.trials, mix_rows(mixes, regrets))
    figure_2_seconds = watch.seconds()
    points = regret_by_size(settings, progress)
    parts = regret_parts(settings, progress)
    results = {
        "mix": mixes.round(4).tolist(),
        "regret": {
            name: {"mean": each.mean(axis=1).tolist(), "sd": each.std(axis=1, ddof=1).tolist()}
            for name, each in regrets.items()
        },
        "growth": [_summary(point) for point in points],
        "parts": [part._asdict() for part in parts],
        "figure_2_seconds": figure_2_seconds._asdict(),
    }
    second = draw(growth_figure, asdict(settings), growth_rows(points))
    claims = judge(settings, mixes, regrets, points)
    report = Report("synthetic", settings, watch.seconds(), results, claims)
    pictures = {"figure-2": as_picture(first), "growth": as_picture(second)}
    return report, kept_files(report, pictures, {"regret.csv": as_table(mixes, regrets)})


def _summary(point: Point) -> dict[str, object]:
    """A point with the interval of its mean in place of every trial."""
    summary = point._asdict() | mean_interval(point.regrets)._asdict()
    del summary["regrets"]
    return summary


def episodes_played(settings: SyntheticSettings) -> int:
    """How many episodes `progress` is told of in all."""
    kinds = len(settings.useful)
    sizes = len(settings.delays) + len(settings.sizes) + len(doublings(settings))
    return settings.trials * (settings.mixes * kinds + 2 * 2 * sizes + 2 * 2 * kinds)
