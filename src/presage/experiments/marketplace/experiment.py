"""The marketplace experiment from settings and a source to report and files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from presage.charts.pictures import picture
from presage.experiments.marketplace.claims import judge, regret_curves, regret_splits
from presage.experiments.marketplace.figure import days_at, figure_6, figure_7
from presage.experiments.marketplace.problem import Progress, ScheduleRun, parts_of, play_marketplace
from presage.experiments.marketplace.settings import MarketplaceRunSettings
from presage.experiments.report import Report, Stopwatch, curve_table, kept_files
from presage.metrics.intervals import mean_interval, ratio_interval
from presage.worlds.marketplace import Market

Source = Callable[[int], tuple[Market, str]]
"""A market for a seed, and words that tell it from any other."""

Runs = dict[str, ScheduleRun]


def pooled(runs: Sequence[Runs]) -> Runs:
    """The trials of several seeds as those of one; schedules and oracles are those of the first."""
    return {
        schedule: first._replace(
            losses={name: np.concatenate([run[schedule].losses[name] for run in runs]) for name in first.losses}
        )
        for schedule, first in runs[0].items()
    }


def reproduce_marketplace(
    settings: MarketplaceRunSettings, source: Source, progress: Progress, seeds: Sequence[int] = ()
) -> tuple[Report, dict[str, bytes]]:
    """The report of the marketplace experiment, and the files that keep it.

    Claims are judged on the trials of all `seeds` together, and of each; the settings' own if there are none. Oracles
    are trained for the first seed alone.
    """
    watch = Stopwatch()
    each = [replace(settings, seed=seed) for seed in seeds] or [settings]
    given = [source(own.seed) for own in each]
    played = [
        play_marketplace(market, own, name, progress, oracles=own is each[0])
        for own, (market, name) in zip(each, given, strict=True)
    ]
    runs = pooled(played)
    results: dict[str, Any] = {schedule: _summary(settings, run) for schedule, run in runs.items()}
    for schedule in runs:
        results[schedule]["total_regret_by_seed"] = {
            own.seed: {
                name: float(curve[:, -1].mean()) for name, curve in regret_curves(settings, one[schedule]).items()
            }
            for own, one in zip(each, played, strict=True)
        }
    pictures = {
        "figure-6": picture(figure_6(runs)),
        "figure-7": picture(figure_7(settings, runs)),
    }
    parts = [parts_of(own, name, schedule) for own, (_, name) in zip(each, given, strict=True) for schedule in runs]
    results |= {"source": given[0][1]}
    by_seed = {own.seed: judge(own, one) for own, one in zip(each, played, strict=True)}
    report = Report("marketplace", each[0], watch.seconds(), results, judge(each[0], runs), parts, by_seed)
    tables = {
        f"{schedule}.csv": curve_table("day", days_at(run), regret_curves(settings, run))
        for schedule, run in runs.items()
    }
    return report, kept_files(report, pictures, tables)


def _summary(settings: MarketplaceRunSettings, run: ScheduleRun) -> dict[str, Any]:
    curves = regret_curves(settings, run)
    splits = regret_splits(settings, curves)
    first = run.losses["truth"][0]
    found = {
        "day": days_at(run).round(4).tolist(),
        "regret": {name: curve.mean(axis=0).round(3).tolist() for name, curve in curves.items()},
        "total_regret": {name: mean_interval(curve[:, -1])._asdict() for name, curve in curves.items()},
        "splits": {
            split: {
                name: mean_interval(regret)._asdict()
                | {"over_direct": ratio_interval(regret, regrets["direct"])._asdict()}
                for name, regret in regrets.items()
            }
            for split, regrets in splits.items()
        },
        "oracle_seconds": round(run.oracle_seconds, 3),
    }
    if run.oracle is not None:
        found["first_trial"] = {"truth": float(first.mean()), "oracles": float(run.oracle.mean())}
    return found
