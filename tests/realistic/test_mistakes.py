"""Mistakes that people make in task files for realistic logs: each is refused, or warned of, in words that lead on."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from presage.errors import PresageError
from presage.logs.rows import read_log
from presage.task.task import load_task
from tests.realistic.logs import LOGS


class Mistake(NamedTuple):
    """What is written in the task by hand instead of what, and words that must be in the answer."""

    about: str
    log: str
    right: str
    wrong: str
    words: str


REFUSED = (
    Mistake("no time format", "subscribers", 'time_format = "%d.%m.%Y"\n', "", r'time_format = "%d\.%m\.%Y"'),
    Mistake(
        "no American time format", "tickets", 'time_format = "%m/%d/%Y %H:%M"', "", r'time_format = "%m/%d/%Y %H:%M"'
    ),
    Mistake("day before month", "tickets", "%m/%d", "%d/%m", r"found '10/28/2024 12:39'; log.time_format says %d/%m"),
    Mistake(
        "a flag as a time",
        "tickets",
        'column = "Reopened"\nknown = "at horizon"',
        'happened_at = "Reopened"',
        r"found 'No'; in \[outcome\] write column = \"Reopened\" with its values and known = \"at horizon\"",
    ),
    Mistake(
        "a kind of events that is not there",
        "cart_events",
        'count = "order"',
        'count = "purchase"',
        "outcome.count names .* found 'purchase'; correct it; the log holds add_to_cart, order, return, view",
    ),
    Mistake(
        "a kind misspelt",
        "cart_events",
        'moment = ["add_to_cart"]',
        'moment = ["add_to_card"]',
        "log.moment names .* did you mean add_to_cart",
    ),
    Mistake(
        "another case in values", "tickets", '["No", "Yes"]', '["no", "yes"]', "outside outcome.values: found 'No'"
    ),
    Mistake("a number without edges", "tickets", "edges = [30, 240]", 'values = ["soon", "late"]', "proxy.edges = "),
    Mistake("another case in a column", "trials", '"Utm Campaign"', '"utm_campaign"', "lacks the columns utm_campaign"),
    Mistake(
        "decimal commas",
        "subscribers",
        "tariff = {",
        'fee = { kind = "number", column = "Monthly Fee" }\ntariff = {',
        "with a comma",
    ),
    Mistake("horizons of rows in time", "trials", '"30 days"', '"30 rows"', "counts rows"),
    Mistake(
        "a success that is a feature",
        "trials",
        "medium = {",
        'paid = { kind = "category", column = "Paid At" }\nmedium = {',
        "not known at",
    ),
)

WARNED = (
    Mistake(
        "a proxy that waits longer than the outcome", "trials", '"2 days"', '"40 days"', "no sooner than the outcome"
    ),
    Mistake("events that come twice", "cart_events", 'id = "eventId"\n', "", "count twice"),
    Mistake(
        "a status dated by the payment",
        "trials",
        'values = ["not paid", "paid"]\nhappened_at = "Paid At"',
        'values = ["cancelled", "expired", "paid", "trial"]\ncolumn = "Status"\nknown_at = "Paid At"',
        'if that is a time of success write happened_at = "Paid At"',
    ),
    Mistake(
        "a flag dated by its success",
        "ad_clicks",
        'values = ["nothing", "in the cart"]\nhappened_at = "add_to_cart_at"',
        'values = ["N", "Y"]\ncolumn = "add_to_cart"\nknown_at = "add_to_cart_at"',
        "Of its values only 'Y' ever becomes known, the others have no add_to_cart_at: write happened_at = ",
    ),
    Mistake(
        "an id of something else", "ad_clicks", '"click_id"', '"campaign_id"', "repeat the campaign_id of an earlier"
    ),
    Mistake(
        "a plan that was bought",
        "trials",
        "medium = {",
        'plan = { kind = "category", column = "Plan", missing = "none" }\nmedium = {',
        "filled",
    ),
)


def answer(mistake: Mistake, folder: Path) -> str:
    """The error of the mistake, or the warnings."""
    log = LOGS[mistake.log](0)
    assert mistake.right in log.task
    log = replace(log, task=log.task.replace(mistake.right, mistake.wrong))
    path = folder / log.file
    path.write_bytes(log.content)
    rows, _ = read_log(load_task(log.task), path)
    return "\n".join(warning.words for warning in rows.warnings)


@pytest.mark.parametrize("mistake", REFUSED, ids=lambda mistake: mistake.about)
def test_a_mistake_is_refused_in_one_line_that_leads_on(mistake: Mistake, tmp_path: Path) -> None:
    with pytest.raises(PresageError, match=mistake.words) as refused:
        answer(mistake, tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("mistake", WARNED, ids=lambda mistake: mistake.about)
def test_a_mistake_that_can_be_read_is_warned_of(mistake: Mistake, tmp_path: Path) -> None:
    assert mistake.words in answer(mistake, tmp_path)
