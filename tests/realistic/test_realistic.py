"""Realistic logs: their truth is true, the tasks by hand read it out of them, and a draft is near the right task."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from presage.logs.rows import LogRows, read_log
from presage.spaces import Array
from presage.task.task import load_task
from tests.realistic.edits import corrected
from tests.realistic.logs import LOGS
from tests.realistic.measure import by_hand, measure
from tests.realistic.world import RealisticLog

PROXIES = [(name, proxy) for name, make in LOGS.items() for proxy in make(0).gains]
MOST_EDITS = {"trials": 0, "cart_events": 0, "subscribers": 1, "ad_clicks": 0, "tickets": 0}
"""How many lines of a draft had to be changed when this was last looked at.

The horizon of the subscribers is a question of what is wanted: cancellations come evenly over half a year, and the task
by hand asks for those of the first month.
"""


def written(log: RealisticLog, folder: Path) -> Path:
    path = folder / log.file
    path.write_bytes(log.content)
    return path


def at(log: RealisticLog, rows: LogRows) -> Array:
    """The place in the truth of each row that was read."""
    places = {id: place for place, id in enumerate(log.ids)}
    return np.array([places[str(id)] for id in rows.id.tolist()])


@pytest.mark.parametrize("name", LOGS)
def test_a_seed_gives_one_log_and_another_seed_another(name: str) -> None:
    first, again, other = LOGS[name](1), LOGS[name](1), LOGS[name](2)
    assert first.content == again.content != other.content
    assert first.content.startswith(gzip.compress(b"")[:4]) == first.file.endswith(".gz")


@pytest.mark.parametrize("name", LOGS)
def test_outcomes_come_as_often_as_their_true_probabilities_say(name: str) -> None:
    log = LOGS[name](0)
    deviation = np.sqrt((log.truth * (1 - log.truth)).sum())
    for half in (log.truth < np.median(log.truth), log.truth >= np.median(log.truth)):
        assert abs((log.outcome - log.truth)[half].sum()) < 4 * deviation


@pytest.mark.parametrize("name", LOGS)
def test_the_task_by_hand_reads_what_was_written(name: str, tmp_path: Path) -> None:
    log = LOGS[name](0)
    task = load_task(log.task)
    rows, _ = read_log(task, written(log, tmp_path))
    places = at(log, rows)
    assert sorted(places) == list(range(len(log.ids)))
    for signal in (*rows.proxies, rows.outcome):
        true = log.outcome.astype(int) if signal.name == "outcome" else log.signs[signal.name]
        known = signal.symbols >= 0
        np.testing.assert_array_equal(signal.symbols[known], true[places][known])
        waits = rows.shown_at + next(s for s in task.signals if s.name == signal.name).horizon.microseconds
        over = waits <= rows.shown_at.max()
        np.testing.assert_array_equal(known[over], (true[places] >= 0)[over])


@pytest.mark.long
@pytest.mark.parametrize(("name", "proxy"), PROXIES)
def test_the_verdict_of_the_task_by_hand_is_true(name: str, proxy: str, tmp_path: Path) -> None:
    log = LOGS[name](0)
    found = by_hand(log, written(log, tmp_path), proxy)
    assert found.least < found.loss < found.marginal
    assert found.says in (("helps",) if found.gain > 0 else ("is useless", "is unclear")), found.said


@pytest.mark.long
@pytest.mark.parametrize(("name", "proxy"), PROXIES)
def test_few_edits_make_a_draft_right(name: str, proxy: str, tmp_path: Path) -> None:
    log = LOGS[name](0)
    found = measure(log, written(log, tmp_path), proxy)
    assert len(found.edits) <= MOST_EDITS[name], found.edits
    assert found.left_out == 0
    assert found.says in (("helps",) if found.gain > 0 else ("is useless", "is unclear")), found.said


DRAFTS = [
    ("", "", []),
    ('horizon = "30 days"', 'horizon = "65 days"', ["~ outcome.horizon: '65 days' to '30 days'"]),
    ('happened_at = "Paid At"', 'column = "Plan"\nknown_at = "Paid At"', ["column", "known_at"]),
    (
        "medium = {",
        'status = { kind = "category", column = "Status" }\nmedium = {',
        ["- instance.status: Status leaks"],
    ),
    (", identity = true", "", []),  # the first category is the identity
    ('id = "Account ID"\n', "", ["+ log.id = 'Account ID'"]),
    ('["not yet", "onboarded"]', '["no", "yes"]', []),
]


@pytest.mark.parametrize(("right", "draft", "edits"), DRAFTS)
def test_edits_are_counted_and_lead_back_to_the_right_task(right: str, draft: str, edits: list[str]) -> None:
    log = LOGS["trials"](0)
    text = log.task.replace(right, draft, 1) if right else log.task
    found = corrected(text, log, "proxy")
    assert len(found.edits) == len(edits)
    assert all(words in edit for words, edit in zip(edits, found.edits, strict=True))
    task, best = load_task(found.text), load_task(log.task)
    assert (task.outcome, task.log) == (best.outcome, best.log)
    assert {feature.column for feature in best.instance} == {feature.column for feature in task.instance}
    assert task.instance[0].column == best.instance[0].column
