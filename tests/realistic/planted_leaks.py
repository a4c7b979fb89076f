"""Columns planted in a realistic log: leaks of many kinds, and honest columns that look like leaks."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from tests.realistic.trials import HEAD
from tests.realistic.world import RealisticLog


class PlantedColumn(NamedTuple):
    """A column by name: whether it leaks, how a task declares it, and its cells."""

    name: str
    leaks: bool
    feature: str
    cells: Callable[[RealisticLog, np.random.Generator], list[str]]


CATEGORY, NUMBER = 'kind = "category", missing = "none"', 'kind = "number", missing = 0'


def _copy(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    wrong = draw.random(len(log.ids)) < 0.03
    return ["won" if said else "open" for said in log.outcome ^ wrong]


def _only_after_success(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    return [f"{draw.gamma(3, 20):.2f}" if paid else "" for paid in log.outcome]


def _number_of_the_invoice(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    numbers = iter(range(70_000, 90_000))
    return [f"INV-{next(numbers)}" if paid else "" for paid in log.outcome]


def _reason_of_leaving(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    reasons = ("price", "missing feature", "")
    return ["" if paid else reasons[draw.integers(0, 3)] for paid in log.outcome]


def _logins_of_the_month(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    return [str(draw.poisson(22 if paid else 4)) for paid in log.outcome]


def _last_update(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    start = datetime(2024, 1, 8, tzinfo=UTC)
    days = np.arange(len(log.ids)) / 15 + np.where(log.outcome, 30, 5) + draw.uniform(0, 5, len(log.ids))
    return [(start + timedelta(days=float(day))).isoformat() for day in days]


def _stage(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    stages = {True: ("customer", "renewal"), False: ("lead", "lost", "contacted")}
    return [str(draw.choice(stages[paid])) for paid in log.outcome.tolist()]


def _the_sign(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    return ["true" if sign else "false" for sign in log.signs["proxy"]]


def _score_of_sales(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    """Honest: what someone guessed at the sign-up, with much of the truth in it."""
    return [f"{chance + draw.normal(0, 0.05):.3f}" for chance in log.truth]


def _phone(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    """Honest: left empty by many, regardless of the outcome."""
    return [f"+49 30 {draw.integers(10**5, 10**6)}" if draw.random() < 0.4 else "" for _ in log.ids]


def _trial_ends(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    """Honest: a time after the sign-up, but a plan that was known then."""
    start = datetime(2024, 1, 8, tzinfo=UTC)
    return [(start + timedelta(days=n / 15 + 30)).isoformat() for n in range(len(log.ids))]


def _salesperson(log: RealisticLog, draw: np.random.Generator) -> list[str]:
    """Honest: some have mostly good leads."""
    return [f"p{int(chance * 12)}" for chance in log.truth]


PLANTED = (
    PlantedColumn("deal", True, CATEGORY, _copy),
    PlantedColumn("first_order_value", True, NUMBER, _only_after_success),
    PlantedColumn("invoice", True, CATEGORY + ", hashed = 65536", _number_of_the_invoice),
    PlantedColumn("reason", True, CATEGORY, _reason_of_leaving),
    PlantedColumn("logins_30d", True, NUMBER, _logins_of_the_month),
    PlantedColumn("updated_at", True, 'kind = "timestamp", parts = ["month"]', _last_update),
    PlantedColumn("stage", True, CATEGORY, _stage),
    PlantedColumn("did_onboarding", True, 'kind = "boolean"', _the_sign),
    PlantedColumn("lead_score", False, NUMBER, _score_of_sales),
    PlantedColumn("phone", False, CATEGORY + ", hashed = 65536", _phone),
    PlantedColumn("trial_ends", False, 'kind = "timestamp", parts = ["month"]', _trial_ends),
    PlantedColumn("salesperson", False, CATEGORY, _salesperson),
)


def with_column(log: RealisticLog, column: PlantedColumn, seed: int = 0) -> RealisticLog:
    """The log of trials with one column more, and a task by hand that reads it as a feature."""
    assert log.name == "trials"
    cells = [column.name, *column.cells(log, np.random.default_rng([seed, 2]))]
    rows = log.content.decode("utf-8-sig").splitlines()
    content = "".join(f"{row};{cell}\n" for row, cell in zip(rows, cells, strict=True))
    task = log.task.replace("\n[proxy]", f"{column.name} = {{ {column.feature} }}\n\n[proxy]", 1)
    assert column.name not in HEAD
    return replace(log, content=content.encode(), task=task)
