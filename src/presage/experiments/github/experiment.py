"""The GitHub experiment from settings and a source to report and files."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from presage.charts.pictures import picture
from presage.experiments.github.claims import SHARES, judge, leads, recoveries, total_regret
from presage.experiments.github.figure import figure_4, figure_5, weeks_at
from presage.experiments.github.problem import BIN, GithubRun, Progress, parts_of, play_github
from presage.experiments.github.settings import GithubSettings
from presage.experiments.networks import NAMES
from presage.experiments.report import Report, Stopwatch, curve_table, kept_files
from presage.metrics.intervals import mean_interval
from presage.worlds.repositories import CommitHistory

Source = Callable[[int], tuple[CommitHistory, str]]
"""A commit history for a seed, and words that tell it from any other."""


def pooled(runs: Sequence[GithubRun], sources: Sequence[str]) -> GithubRun:
    """The trials of several seeds as those of one; repositories that several have in common count once."""
    losses = {name: np.concatenate([run.losses[name] for run in runs]) for name in runs[0].losses}
    distinct = [run for number, run in enumerate(runs) if sources.index(sources[number]) == number]
    modes = {mode: np.concatenate([run.modes[mode] for run in distinct]) for mode in runs[0].modes}
    return GithubRun(losses, modes, sum(run.oracle_seconds for run in runs))


def reproduce_github(
    settings: GithubSettings, source: Source, progress: Progress, seeds: Sequence[int] = ()
) -> tuple[Report, dict[str, bytes]]:
    """The report of the GitHub experiment, and the files that keep it.

    Claims are judged on the trials of all `seeds` together, and of each; the settings' own if there are none.
    """
    watch = Stopwatch()
    each = [replace(settings, seed=seed) for seed in seeds] or [settings]
    given = [source(own.seed) for own in each]
    names = [name for _, name in given]
    runs = [play_github(history, own, name, progress) for own, (history, name) in zip(each, given, strict=True)]
    run = pooled(runs, names)
    weeks, losses = weeks_at(settings, run), {name: run.losses[name] for name in NAMES}
    regrets = {name: (loss - run.losses["oracle"]).cumsum(axis=1) * BIN for name, loss in losses.items()}
    results = {
        "week": weeks.round(4).tolist(),
        "loss": {name: loss.mean(axis=0).round(5).tolist() for name, loss in losses.items()},
        "regret": {name: regret.mean(axis=0).round(3).tolist() for name, regret in regrets.items()},
        "recovery_weeks": recoveries(settings, run),
        "lead_weeks": {name: lead._asdict() for name, lead in leads(settings, run).items()},
        "recovery_by_share": {f"{share:.0%}": recoveries(settings, run, share) for share in SHARES},
        "total_regret": {name: mean_interval(regret)._asdict() for name, regret in total_regret(run).items()},
        "total_regret_by_seed": {
            own.seed: {name: float(regret.mean()) for name, regret in total_regret(one).items()}
            for own, one in zip(each, runs, strict=True)
        },
        "modes": {mode: counts.sum(axis=0).tolist() for mode, counts in run.modes.items()},
        "source": names[0],
        "oracle_seconds": round(run.oracle_seconds, 3),
    }
    pictures = {
        "figure-4": picture(figure_4(settings, run)),
        "figure-5": picture(figure_5(settings, run)),
    }
    parts = [parts_of(own, name) for own, name in zip(each, names, strict=True)]
    by_seed = {own.seed: judge(own, one) for own, one in zip(each, runs, strict=True)}
    report = Report("github", each[0], watch.seconds(), results, judge(each[0], run), parts, by_seed)
    tables = {"loss.csv": curve_table("week", weeks, losses), "regret.csv": curve_table("week", weeks, regrets)}
    return report, kept_files(report, pictures, tables)
