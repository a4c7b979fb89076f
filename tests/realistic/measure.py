"""How far `presage task init` gets on realistic logs, and how near a backtest comes to the truth.

`python -m tests.realistic.measure [NAME ...]` prints it for each log: the edits that make the draft right, the log loss
of the default beside that of the true probabilities, and what is said of each proxy beside what is true of it.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import presage
from presage.backtesting.result import BacktestResult
from presage.errors import PresageError
from tests.realistic.edits import corrected
from tests.realistic.logs import LOGS
from tests.realistic.world import RealisticLog


class ProxyFound(NamedTuple):
    """What a backtest found of one proxy."""

    name: str
    edits: tuple[str, ...]  # of the draft, for a task with this proxy
    loss: float  # of the default
    least: float  # of the true probabilities, on the rows that were scored
    marginal: float
    says: str  # the verdict: that it helps, that it is useless, or that this is unclear
    gain: float  # what is true: see `Dealt.gain`
    left_out: int  # rows
    said: tuple[str, ...]


def measure(log: RealisticLog, path: Path, proxy: str) -> ProxyFound:
    """The draft of `task init`, made right, and its backtest."""
    text, edits = corrected(presage.first_task(path), log, proxy)
    return found(log, presage.backtest(path, text), proxy, tuple(edits))


def by_hand(log: RealisticLog, path: Path, proxy: str) -> ProxyFound:
    """The task by hand, and its backtest."""
    return found(log, presage.backtest(path, log.task, proxy=proxy), proxy)


def found(log: RealisticLog, result: BacktestResult, proxy: str, edits: tuple[str, ...] = ()) -> ProxyFound:
    """What a backtest of the log says, beside the truth."""
    losses = dict(zip(result.scores["forecaster"], result.scores["log_loss"].tolist(), strict=True))
    gain = result.found.proxy_gain
    assert gain
    return ProxyFound(
        proxy,
        edits,
        losses["mixture"],
        float(np.mean(log.least_loss[_scored(log, result)])),
        losses["marginal"],
        "helps" if gain.helps else "is useless" if gain.useless else "is unclear",
        log.gains[proxy],
        len(log.ids) - result.found.rows,
        tuple(result.verdict),
    )


def _scored(log: RealisticLog, result: BacktestResult) -> list[int]:
    """The places in the truth of the rows whose outcome the backtest knew."""
    places = {id: place for place, id in enumerate(log.ids)}
    known = result.rows.outcome.symbols >= 0
    return [places[str(id)] for id in result.rows.id[known].tolist()]


def main() -> None:
    """Print what is found for the logs that are named, or for all."""
    for name in sys.argv[1:] or LOGS:
        log = LOGS[name](0)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / log.file
            path.write_bytes(log.content)
            for proxy in log.gains:
                try:
                    lines = [*_told(measure(log, path, proxy)), *_told(by_hand(log, path, proxy))]
                except PresageError as error:
                    lines = [str(error)]
                sys.stdout.write("".join(f"{line}\n" for line in [f"{name}, {proxy}", *lines]))


def _told(one: ProxyFound) -> list[str]:
    share = (one.marginal - one.loss) / (one.marginal - one.least)
    true = "helps" if one.gain > 0 else "is useless"
    return [
        f"  {len(one.edits)} edits; {one.left_out:,} rows left out; the default {one.loss:.4f}, truth {one.least:.4f}, "
        f"the marginal {one.marginal:.4f}: {share:.0%} of the way; it {one.says}, in truth it {true} ({one.gain:.4f})",
        *(f"    {edit}" for edit in one.edits),
        *(f"    | {line}" for line in one.said),
    ]


if __name__ == "__main__":
    main()
