"""Leaks in realistic logs are warned of, and honest columns are not."""

from dataclasses import replace
from pathlib import Path

import pytest

from presage.logs.rows import read_log
from presage.task.task import load_task
from tests.realistic.logs import LOGS
from tests.realistic.planted_leaks import PLANTED, PlantedColumn, with_column
from tests.realistic.world import RealisticLog

SLIP_THROUGH = {
    "Satisfaction",  # given later, but it tells less of the outcome than an honest feature may
    "resolved_on",  # a time after the prediction in a form of its own, which reads as a category
    "add_to_cart",  # a flag without its time: the proxy for most rows, and later than its horizon for the others
}
"""Leaks that no rule sees without warning of honest columns, too."""

PLANS = {"trial_ends"}
"""Honest times after the prediction: the warning asks whether they were known."""


def warned(log: RealisticLog, folder: Path) -> set[str]:
    """The columns that reading the log warns of."""
    path = folder / log.file
    path.write_bytes(log.content)
    rows, _ = read_log(load_task(log.task), path)
    return {warning.column for warning in rows.warnings}


def with_feature(log: RealisticLog, column: str) -> RealisticLog:
    """The task by hand with a column more as a feature."""
    feature = f'extra = {{ kind = "category", column = "{column}", missing = "none" }}'
    return replace(log, task=log.task.replace("\n[proxy", f"{feature}\n\n[proxy", 1))


@pytest.mark.parametrize("name", LOGS)
def test_a_realistic_log_gives_no_reason_to_warn(name: str, tmp_path: Path) -> None:
    assert warned(LOGS[name](0), tmp_path) == set()


@pytest.mark.parametrize(("name", "column"), [(name, leak) for name, make in LOGS.items() for leak in make(0).leaks])
def test_columns_filled_in_later_are_warned_of(name: str, column: str, tmp_path: Path) -> None:
    assert warned(with_feature(LOGS[name](0), column), tmp_path) == {column} - SLIP_THROUGH


@pytest.mark.parametrize("column", PLANTED, ids=lambda column: column.name)
def test_planted_leaks_are_warned_of_and_honest_columns_are_not(column: PlantedColumn, tmp_path: Path) -> None:
    expected = {column.name} if column.leaks or column.name in PLANS else set()
    assert warned(with_column(LOGS["trials"](0), column), tmp_path) == expected
