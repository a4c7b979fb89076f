"""The GitHub experiment from settings and a source to report and files."""

from presage.charts.pictures import picture
from presage.experiments.files import kept_files
from presage.experiments.github.claims import judge, leads, recoveries, total_regret
from presage.experiments.github.figure import figure_4, figure_5, weeks_at
from presage.experiments.github.problem import BIN, Progress, parts_of, play_github
from presage.experiments.github.settings import GithubSettings
from presage.experiments.networks import NAMES
from presage.experiments.report import Report
from presage.experiments.stopwatch import Stopwatch
from presage.experiments.tables import curve_table
from presage.metrics.intervals import mean_interval
from presage.worlds.commits import CommitHistory


def reproduce_github(
    settings: GithubSettings, history: CommitHistory, source: str, progress: Progress
) -> tuple[Report, dict[str, bytes]]:
    """The report of the GitHub experiment, and the files that keep it."""
    watch = Stopwatch()
    run = play_github(history, settings, source, progress)
    weeks, losses = weeks_at(settings, run), {name: run.losses[name] for name in NAMES}
    regrets = {name: (loss - run.losses["oracle"]).cumsum(axis=1) * BIN for name, loss in losses.items()}
    results = {
        "week": weeks.round(4).tolist(),
        "loss": {name: loss.mean(axis=0).round(5).tolist() for name, loss in losses.items()},
        "regret": {name: regret.mean(axis=0).round(3).tolist() for name, regret in regrets.items()},
        "recovery_weeks": recoveries(settings, run),
        "lead_weeks": {name: lead._asdict() for name, lead in leads(settings, run).items()},
        "total_regret": {name: mean_interval(regret)._asdict() for name, regret in total_regret(run).items()},
        "modes": {mode: counts.sum(axis=0).tolist() for mode, counts in run.modes.items()},
        "source": source,
        "oracle_seconds": round(run.oracle_seconds, 3),
    }
    pictures = {
        "figure-4": picture(figure_4(settings, run)),
        "figure-5": picture(figure_5(settings, run)),
    }
    report = Report("github", settings, watch.seconds(), results, judge(settings, run), [parts_of(settings, source)])
    tables = {"loss.csv": curve_table("week", weeks, losses), "regret.csv": curve_table("week", weeks, regrets)}
    return report, kept_files(report, pictures, tables)
