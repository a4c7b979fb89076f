"""The report of a backtest: one page to read from the top, its numbers as JSON, and its tables."""

import json

from presage.backtesting.backtest import DEFAULT, Backtest, default_weights
from presage.backtesting.delays import known_after
from presage.backtesting.families import direct_counterpart, stand_ins
from presage.backtesting.page import (
    BacktestRun,
    card_section,
    check_section,
    delay_section,
    loss_section,
    meaning_section,
    page_top,
    rates_section,
    reliability_section,
    rests_on_section,
    run_section,
    score_section,
    segment_section,
    weight_section,
    winner_section,
)
from presage.backtesting.score_columns import score_rows
from presage.backtesting.scores import reliabilities
from presage.backtesting.segments import segment_columns
from presage.backtesting.tables import (
    delays_table,
    over_time_table,
    reliability_table,
    table_files,
    weights_table,
    winners_table,
)
from presage.backtesting.verdict import loss_of
from presage.charts.pages import page
from presage.logs.rows import LogRows
from presage.task.task import Task


def report_files(task: Task, rows: LogRows, found: Backtest, run: BacktestRun) -> dict[str, bytes]:
    """The files of a report by name: the page, its numbers as JSON, and its tables as Parquet and CSV."""
    outcomes, over_time = task.outcome.values, found.over_time
    known = known_after(rows, in_rows=over_time.blocks.in_rows)
    judged = [name for name in (DEFAULT, direct_counterpart(DEFAULT, found.scores)) if name in found.scores]
    right = reliabilities(found.said, rows.outcome.symbols, judged or [found.best])
    weights = default_weights(task, rows, found, run.proxy)
    shown = stand_ins({name: loss_of(score) for name, score in found.scores.items()})
    sections = [
        rates_section(found),
        meaning_section(found),
        score_section(found),
        *([rests_on_section(found.rests_on)] if found.rests_on and found.rests_on.features else []),
        *([segment_section(found)] if found.segments else []),
        loss_section(over_time, shown, rows),
        winner_section(over_time, shown),
        *([weight_section(over_time, weights)] if weights else []),
        delay_section(known),
        reliability_section(right, outcomes),
        card_section(run),
        check_section(found, run),
        run_section(run),
    ]
    foot = f"Presage {run.version}, seed {run.seed}. This page fetches nothing; its numbers are in the files beside it."
    tables = {
        "scores": score_rows(found.scores, outcomes),
        "outcome_given_proxy": found.rates.columns(),
        "over_time": over_time_table(over_time),
        "winners": winners_table(over_time),
        "delays": delays_table(known),
        "reliability": reliability_table(right, outcomes),
    } | ({"weights": weights_table(over_time, weights)} if weights else {})
    tables |= {"segments": segment_columns(found.segments, found.compared)} if found.segments else {}
    tables |= {"rests_on": found.rests_on.columns()} if found.rests_on and found.rests_on.features else {}
    return {
        "report.html": page(f"Backtest: {task.name}", found.judged, sections, foot, top=page_top(found)),
        "backtest.json": json.dumps(found.as_json(run.seconds) | run.as_json(), indent=1).encode(),
    } | table_files(tables)
