"""What a draft makes of logs with names of their own: horizons, identities, ids, kinds of events, what is missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.errors import DataError
from presage.logs.drafts.first_task import first_task
from presage.logs.drafts.horizon_guesses import success_words, usual_days
from presage.logs.rows import read_log
from presage.task.columns import EventColumns
from presage.task.signals import CountedEvents, HappenedAt, Labelled
from presage.task.task import Task, read_task
from tests.logs.given import DAY, table

ROWS = 6000
SPAN = 300
START = int(np.datetime64("2024-01-01", "us").astype(np.int64))


def when(days: float) -> str:
    return str(np.datetime64(START + int(days * DAY), "us"))[:19].replace("T", " ")


def drafted(path: Path, columns: dict[str, list[Any]]) -> tuple[str, Task]:
    text = first_task(table(path / "log.csv", ",".join(columns), list(zip(*columns.values(), strict=True))))
    return text, read_task(text)


class Leads:
    """Honest columns of leads that take `wait` days to be won, and of which the newest are still open."""

    def __init__(self, wait: float) -> None:
        self.draw = np.random.default_rng(5)
        self.at = np.sort(self.draw.uniform(0, SPAN, ROWS))
        self.won = self.draw.random(ROWS) < 0.3
        self.done = self.at + self.draw.uniform(0.9 * wait, wait, ROWS)
        self.over = self.done < SPAN
        self.columns: dict[str, list[Any]] = {
            "Lead Ref": [f"L-{n:05}" for n in range(ROWS)],
            "Created": [when(day) for day in self.at],
            "Branch": [f"b{n}" for n in self.draw.integers(0, 60, ROWS)],
            "Channel": [f"c{n}" for n in self.draw.integers(0, 3, ROWS)],
        }

    def words(self, filled: Callable[[int], Any], where: Any) -> list[Any]:
        return [filled(n) if there else None for n, there in enumerate(where)]


@pytest.mark.parametrize(("wait", "horizon"), [(6, "7 days"), (13, "14 days"), (55, "60 days")])
def test_after_how_long_a_flag_settles_is_seen_in_the_newest_rows(tmp_path: Path, wait: float, horizon: str) -> None:
    leads = Leads(wait)
    flags = ["1" if won and over else "0" for won, over in zip(leads.won, leads.over, strict=True)]
    _, task = drafted(tmp_path, leads.columns | {"Won": flags})
    assert task.outcome.source == Labelled("Won", None)
    assert str(task.outcome.horizon) == horizon


def test_a_flag_of_rows_that_are_all_old_says_nothing_of_its_horizon(tmp_path: Path) -> None:
    leads = Leads(13)
    text, _ = drafted(tmp_path, leads.columns | {"Won": ["1" if won else "0" for won in leads.won]})
    assert 'horizon = "7 days"  # correct this: the log does not tell' in text


def test_what_is_filled_in_later_is_no_feature_and_the_soonest_may_be_the_sign(tmp_path: Path) -> None:
    leads = Leads(55)
    called = leads.words(lambda n: n % 4, leads.at + 5 < SPAN)
    value = leads.words(lambda n: 1000 + n, leads.won & leads.over)
    honest = leads.words(lambda n: n % 3, leads.draw.random(ROWS) < 0.6)
    more = {"Stage": [("Lost", "Won")[int(w)] if o else "Open" for w, o in zip(leads.won, leads.over, strict=True)]}
    text, task = drafted(tmp_path, leads.columns | more | {"Calls": called, "Value": value, "Size": honest})
    assert task.outcome.source == Labelled("Stage", None)
    assert task.proxy().source == Labelled("Calls", None)
    assert [one.column for one in task.instance] == ["Branch", "Channel", "Size"]
    assert "# - the proxy: Calls is only known later than the rest, not named like one" in text
    assert "# empty in the newest rows and filled in older ones: not known at once" in text


def test_the_end_of_what_ends_in_any_case_is_no_outcome(tmp_path: Path) -> None:
    leads = Leads(6)
    closed = leads.words(lambda n: when(leads.done[n]), leads.over)
    flags = ["yes" if won and over else "no" for won, over in zip(leads.won, leads.over, strict=True)]
    text, task = drafted(tmp_path, leads.columns | {"resolved_at": closed, "returned": flags})
    assert task.outcome.source == Labelled("returned", None)
    assert "# - what these times are: resolved_at" in text
    _, task = drafted(tmp_path, leads.columns | {"resolved_at": leads.words(lambda n: closed[n], leads.won)})
    assert task.outcome.source == HappenedAt("resolved_at", as_it_happens=False)


def test_a_draft_without_a_sign_says_what_to_fill_in(tmp_path: Path) -> None:
    leads = Leads(13)
    text, task = drafted(tmp_path, leads.columns | {"Won": ["1" if won else "0" for won in leads.won]})
    assert "# - FILL IN [proxy]: no column looks like an early sign" in text
    with pytest.raises(DataError, match=r"lacks the columns COLUMN OF THE EARLY SIGN: .* proxy\.column"):
        read_log(task, tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("name", "values", "different", "identity"),
    [
        ("customer", "k", 100, "customer"), ("customer", "k", 2000, "Branch"), ("product_id", "", 2000, "product_id"),
        ("Kunden-Nr", "", 50, "Kunden-Nr"), ("client no", "81", 2800, "Branch"), ("country", "x", 20, "Branch"),
    ],
)  # fmt: skip
def test_the_identity_comes_often_or_is_what_is_predicted_for(
    tmp_path: Path, name: str, values: str, different: int, identity: str
) -> None:
    leads = Leads(13)
    ids = [f"{values}{10_000 + 7 * int(n)}" for n in leads.draw.integers(0, different, ROWS)]
    paid = leads.words(lambda n: when(leads.done[n]), leads.won & leads.over)
    _, task = drafted(tmp_path, leads.columns | {name: ids, "paid_at": paid})
    kinds = {one.column: type(one).__name__ for one in task.instance}
    assert kinds[name] == "Category"
    assert [one.column for one in task.instance if getattr(one, "identity", False)] == [identity]


def test_numbers_of_the_same_length_that_hardly_repeat_are_names_and_incomes_are_not(tmp_path: Path) -> None:
    leads = Leads(13)
    paid = leads.words(lambda n: when(leads.done[n]), leads.won & leads.over)
    number, income = (leads.draw.integers(low, high, ROWS) for low, high in ((3_000_000, 9_000_000), (9000, 90_000)))
    text, _ = drafted(tmp_path, leads.columns | {"contract": list(number), "income": list(income), "paid_at": paid})
    assert '# contract = { kind = "category", hashed = 65536 }  # nearly every row has another one' in text
    assert 'income = { kind = "number", scale = 10000 }' in text


def test_horizons_of_successes_are_usual_days_within_a_part_of_the_log() -> None:
    assert [usual_days(int(days * DAY), 100 * DAY) for days in (0.2, 1, 1.1, 5, 13, 31, 400)] == [
        1,
        1,
        2,
        7,
        14,
        60,
        90,
    ]
    assert success_words(26 * DAY, 44 * DAY, 400 * DAY) == (
        "30 days",
        "most come in this time; 95 % of those seen would need 45 days",
    )
    assert success_words(140 * DAY, 184 * DAY, 360 * DAY)[0] == "90 days"
    assert success_words(DAY // 2, DAY // 2, DAY)[0] == "6 hours"


def app_events() -> list[tuple[Any, ...]]:
    """Sign-ups, sessions after them, subscriptions of those with more sessions, and uninstalls after these."""
    draw = np.random.default_rng(3)
    found: list[tuple[float, int, str]] = []
    for device in range(800):
        start, sessions = draw.uniform(0, 90), draw.poisson(3)
        found += [
            (start, device, "signup"),
            *((start + draw.exponential(), device, "session") for _ in range(sessions)),
        ]
        if draw.random() < 0.1 + 0.1 * sessions:
            found.append((start + draw.uniform(3, 13), device, "subscribe"))
            if draw.random() < 0.3:
                found.append((start + draw.uniform(14, 40), device, "unsubscribe"))
    kept = sorted(event for event in found if event[0] < 90)
    return [
        (n * 7 + 10**9, f"d{device}", f"a{device % 5}", kind, when(at)) for n, (at, device, kind) in enumerate(kept)
    ]


def test_a_draft_for_events_tells_id_keys_moment_sign_and_outcome_apart(tmp_path: Path) -> None:
    log = table(tmp_path / "log.csv", "event_id,device,app_id,event_name,event_time", app_events())
    task = read_task(first_task(log))
    assert isinstance(task.log, EventColumns)
    assert (task.log.id, task.log.subject, task.log.instance) == ("event_id", "device", "app_id")
    assert task.log.moment == ("signup",)
    sign, outcome = task.proxy().source, task.outcome.source
    assert isinstance(sign, CountedEvents)
    assert isinstance(outcome, CountedEvents)
    assert (sign.kinds, outcome.kinds) == (("session",), ("subscribe",))
    assert (str(task.proxy().horizon), str(task.outcome.horizon)) == ("2 days", "14 days")
    rows, _ = read_log(task, log)
    assert len(rows.id) == 800
    assert rows.warnings == ()
