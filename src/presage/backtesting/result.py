"""A backtest as users see it: one function, and a result that shows itself, gives its tables and saves its report."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from presage.backtesting.backtest import (
    Backtest,
    BacktestSeconds,
    default_rests_on,
    groups_of,
    played_names,
    run_backtest,
    table_names,
)
from presage.backtesting.page import BacktestRun, ProxyCard
from presage.backtesting.report import report_files
from presage.backtesting.rival_scores import with_rivals
from presage.backtesting.score_columns import score_rows, score_table
from presage.backtesting.segments import by_column, segment_columns
from presage.backtesting.tables import over_time_table
from presage.charts.pages import paragraph, table
from presage.dataframes import Table
from presage.drivers.compile_time import compiling_seconds
from presage.errors import PresageError
from presage.files import write_results
from presage.forecasters.catalogue import check_names
from presage.logs.cleaning import Exclusions
from presage.logs.cuts import found_cuts, resolve_cuts
from presage.logs.rows import LogRows, read_log
from presage.progress import Progress, silent
from presage.proxies.card import Card
from presage.proxies.report import judge_log
from presage.rivals.named_rivals import chosen_rivals
from presage.rivals.rival import Rival
from presage.spaces import Array
from presage.task.exported_log import as_served as exported
from presage.task.spans import ROW
from presage.task.task import Task, load_task


@dataclass(frozen=True)
class BacktestResult:
    """What a backtest found.

    In a notebook it shows its verdict and scores. `scores`, `over_time`, `rests_on` and `predictions` are tables that
    become dataframes on request; `save` writes the report.
    """

    task: Task
    rows: LogRows
    found: Backtest
    left_out: Exclusions
    seconds: BacktestSeconds
    settings: Mapping[str, Any]  # as JSON values
    seed: int
    proxy: str
    _asked: list["BacktestResult"] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def verdict(self) -> list[str]:
        """What it comes to, in sentences: the most important first."""
        return self.found.verdict

    @property
    def best(self) -> str:
        """The forecaster with the least log loss, in hindsight."""
        return self.found.best

    @property
    def scores(self) -> Table:
        """A row for each forecaster: log loss, gains, calibration and AUC, with intervals."""
        return Table(score_rows(self.found.scores, self.task.outcome.values))

    @property
    def over_time(self) -> Table:
        """A row for each forecaster and block of time."""
        return Table(over_time_table(self.found.over_time))

    @property
    def by(self) -> Table:
        """A row for each segment of the columns that scores were wanted by; empty where there were none."""
        return Table(segment_columns(self.found.segments, self.found.compared))

    @property
    def rests_on(self) -> Table:
        """A row for each feature, by how much the default's log loss rises without it; replays the log for each."""
        found = self.with_rests_on().found.rests_on
        return Table(found.columns() if found else {})

    def with_rests_on(self, *, progress: Progress = silent) -> "BacktestResult":
        """The same with what the forecast rests on in its verdict and its JSON; saved reports have it anyway.

        The default is replayed once for each feature, which takes as long as that many backtests of it.
        """
        if self.found.rests_on is not None:
            return self
        if not self._asked:  # else it was asked for before
            with progress("backtest: what the forecast rests on", len(self.task.instance)) as step:
                found = default_rests_on(self.task, self.rows, self.found, lambda _: step(1), self.proxy)
            self._asked.append(replace(self, found=replace(self.found, rests_on=found)))
        return self._asked[0]

    @property
    def predictions(self) -> Table:
        """A row for each prediction: its id, when it was made, its outcome, and FORECASTER_VALUE probabilities."""
        values, symbols = np.array([*self.task.outcome.values, None], object), self.rows.outcome.symbols
        when = (
            {"row": self.rows.shown_at // ROW}
            if self.task.in_rows
            else {"shown_at": self.rows.shown_at.astype("datetime64[us]")}
        )
        columns: dict[str, Array] = {
            "id": self.rows.id,
            **when,
            "outcome": values[np.where(symbols < 0, len(values) - 1, symbols)],
        }
        for name, logs in self.found.said.items():
            for place, value in enumerate(self.task.outcome.values):
                columns[f"{name}_{value}"] = np.exp(logs[:, place])
        return Table(columns)

    def as_json(self) -> dict[str, Any]:
        """What `presage backtest --json` prints."""
        found = self.found.as_json(self.seconds)
        return found | {"edges": self.settings["edges"]} if "edges" in self.settings else found

    def save(self, folder: str | Path, *, progress: Progress = silent) -> Path:
        """Where the page lies that is now written: report.html, with its numbers and tables beside it."""
        cards, no_cards = self._cards(progress)
        run = BacktestRun(
            self.proxy,
            self.settings,
            self.seed,
            version("presage"),
            self.seconds,
            self.left_out.lines(),
            self.task.text,
            cards,
            no_cards,
        )
        found = self.with_rests_on(progress=progress).found
        return write_results(Path(folder), report_files(self.task, self.rows, found, run))[0]

    def __str__(self) -> str:
        return "\n".join(self.verdict)

    def _repr_html_(self) -> str:
        strong = list(self.found.scores).index(self.best)
        rates = table(*self.found.rates.text_table())
        return "".join(map(paragraph, self.verdict)) + rates + table(*score_table(self.found.scores), strong=strong)

    def _cards(self, progress: Progress) -> tuple[list[ProxyCard], str]:
        """The report cards of the task's proxies; or why there are none."""
        with progress("backtest: proxies judged", len(self.task.proxies)) as step:
            try:
                cards = judge_log(self.task, self.rows, cuts=False, progress=lambda _: step(1))
            except PresageError as error:
                return [], f"They could not be judged: {error}."
        return [_card(card) for card in cards], ""


def backtest(
    log: Any,
    task: str | Path | Task,
    *,
    forecasters: Sequence[str] | str | None = None,
    rivals: Sequence[str | Rival] | str | Rival | None = None,
    proxy: str | None = None,
    engine: str = "duckdb",
    twins: bool = False,
    as_served: bool = False,
    by: Sequence[str] | str = (),
    skip_bad_lines: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> BacktestResult:
    """Forecasters scored on a log, each row predicted with what was known strictly before it.

    Args:
        log: A file or folder of Parquet, CSV or NDJSON, FILE.duckdb::TABLE, or a dataframe.
        task: The task, or its file or text.
        forecasters: Which to play, such as ("direct-table", "mixture"); all tables and their mixture if left out.
        rivals: What else to play, by name ("lightgbm,vw,river") or made by `presage.rivals`; nothing if left out.
        proxy: Which of the task's proxies to use; the first if left out.
        engine: "duckdb" or "spark".
        twins: Whether each is also played without delays: what waiting costs it.
        as_served: Whether the log was exported from a service: each row sees what its model had.
        by: Features, or other columns of the log, by which the rows are cut into segments that are scored apart.
        skip_bad_lines: Whether lines of CSV or NDJSON that cannot be read are left out and counted.
        seed: Seed for all random draws.
        progress: Shows how far it is.
    """
    source = str(task) if isinstance(task, Path) else ""
    task = task if isinstance(task, Task) else load_task(task)
    if as_served:
        task = exported(task)
    names, others = _names(task, proxy, forecasters), chosen_rivals(rivals)
    wanted = {name: by_column(task, name) for name in ([by] if isinstance(by, str) else by)}
    started = time.perf_counter()
    with progress("reading the log", None):
        task = resolve_cuts(task, log, engine=engine, skip_bad_lines=skip_bad_lines)
        rows, left_out = read_log(
            task, log, engine=engine, skip_bad_lines=skip_bad_lines, extra=tuple(dict.fromkeys(wanted.values()))
        )
    read, compiled = time.perf_counter() - started, compiling_seconds()
    with progress("backtest: forecasters", len(played_names(names)) * (1 + twins)) as step:
        found = run_backtest(task, rows, names, seed, lambda _: step(1), proxy=proxy, twins=twins, by=wanted)
    ours = list(found.scores)
    found = with_rivals(found, task, rows, others, proxy=proxy, seed=seed, progress=progress)
    played = time.perf_counter() - started - read
    compiling = min(compiling_seconds() - compiled, played)  # forecasters that are compiled side by side add up
    seconds = BacktestSeconds(read, compiling, played - compiling)
    used = rows.proxy(proxy).name
    settings = {
        "log": str(log) if isinstance(log, str | Path) else "dataframe",
        "task": source or task.name,
        "proxy": used,
        "forecasters": ours,
        "engine": engine,
        "twins": twins,
        "by": list(wanted),
    }
    if others:
        settings["rivals"] = list(found.rivals)
    if cuts := found_cuts(task):
        settings["edges"] = cuts
    return BacktestResult(task, rows, found, left_out, seconds, settings, seed, used)


def _names(task: Task, proxy: str | None, forecasters: Sequence[str] | str | None) -> tuple[str, ...]:
    """The forecasters asked for; a wrong name, of one of them or of the proxy, is refused before the log is read."""
    task.proxy(proxy)
    if not forecasters:
        return table_names(task)
    words = forecasters.split(",") if isinstance(forecasters, str) else forecasters
    names = tuple(name.strip() for name in words)
    check_names(names, groups_of(task))
    return names


def _card(card: Card) -> ProxyCard:
    facts = [
        ("tells of the outcome", f"{card.information} of {card.entropy.value:.3g} nats there are to know"),
        ("left to the instance", f"{card.gap} nats"),
        ("share of the differences between items it captures", str(card.share)),
        ("gain on new instances", f"{card.gain} nats"),
        ("comes before the outcome by", f"{card.lead} {card.unit}s"),
        ("p-value of being the same over time and cohorts", f"{card.stability_p:.2g}"),
        ("values", str(card.symbols)),
    ]
    return ProxyCard(card.label, card.verdict, facts, card.as_json())
