"""The marketplace experiment from settings and a source to report and files."""

from typing import Any

from presage.charts.pictures import picture
from presage.experiments.files import kept_files
from presage.experiments.marketplace.claims import judge, regret_curves
from presage.experiments.marketplace.figure import days_at, figure_6, figure_7
from presage.experiments.marketplace.problem import Progress, ScheduleRun, parts_of, play_marketplace
from presage.experiments.marketplace.settings import MarketplaceRunSettings
from presage.experiments.report import Report
from presage.experiments.stopwatch import Stopwatch
from presage.experiments.tables import curve_table
from presage.metrics.intervals import mean_interval
from presage.worlds.market import Market


def reproduce_marketplace(
    settings: MarketplaceRunSettings, market: Market, source: str, progress: Progress
) -> tuple[Report, dict[str, bytes]]:
    """The report of the marketplace experiment, and the files that keep it."""
    watch = Stopwatch()
    runs = play_marketplace(market, settings, source, progress)
    results: dict[str, Any] = {schedule: _summary(settings, run) for schedule, run in runs.items()}
    pictures = {
        "figure-6": picture(figure_6(runs)),
        "figure-7": picture(figure_7(settings, runs)),
    }
    parts = [parts_of(settings, source, schedule) for schedule in runs]
    results |= {"source": source}
    report = Report("marketplace", settings, watch.seconds(), results, judge(settings, runs), parts)
    tables = {
        f"{schedule}.csv": curve_table("day", days_at(run), regret_curves(settings, run))
        for schedule, run in runs.items()
    }
    return report, kept_files(report, pictures, tables)


def _summary(settings: MarketplaceRunSettings, run: ScheduleRun) -> dict[str, Any]:
    curves = regret_curves(settings, run)
    first = run.losses["truth"][0]
    return {
        "day": days_at(run).round(4).tolist(),
        "regret": {name: curve.mean(axis=0).round(3).tolist() for name, curve in curves.items()},
        "total_regret": {name: mean_interval(curve[:, -1])._asdict() for name, curve in curves.items()},
        "first_trial": {"truth": float(first.mean()), "oracles": float(run.oracle.mean())},
        "oracle_seconds": round(run.oracle_seconds, 3),
    }
