"""Edges in a task file: where a column of numbers is cut, what the parts are called, and what is refused."""

import numpy as np
import pytest

from presage.errors import SettingError
from presage.task.edges import NumberCuts, edge_labels
from presage.task.exported_log import as_served
from presage.task.signals import Labelled
from presage.task.task import Task, read_task

TEXT = """version = 1
name = "spending"
[instance]
customer = { kind = "category" }
[proxy]
values = ["no", "yes"]
horizon = "2 days"
[outcome]
horizon = "30 days"
column = "spent"
"""


def task_with(outcome: str) -> Task:
    return read_task(TEXT + outcome)


def test_edges_make_values_with_names_of_their_own() -> None:
    task = task_with("edges = [10, 20.5]")
    assert task.outcome.values == ("below 10", "10 to 20.5", "20.5 or more")
    assert task.outcome.source == Labelled("spent", "outcome_at", cuts=NumberCuts((10, 20.5)))
    assert task_with('edges = [0]\nvalues = ["lost", "won"]\nabsent = "lost"').outcome.absent_symbol == 0
    assert task_with('edges = [0]\nabsent = "below 0"').outcome.absent_symbol == 0


def test_quantiles_wait_for_a_log() -> None:
    task = task_with('edges = "quantiles:4"')
    assert task.outcome.values == ()
    assert task.outcome.cuts is not None
    assert task.outcome.cuts.is_open
    assert str(task.outcome.cuts) == "quantiles:4"
    assert task_with('edges = "quantiles:2"\nvalues = ["less", "more"]').outcome.values == ("less", "more")


@pytest.mark.parametrize("seed", range(5))
def test_no_two_values_have_the_same_name_and_numbers_fall_where_their_names_say(seed: int) -> None:
    draw = np.random.default_rng(seed)
    edges = np.unique(draw.normal(0, 1, 19) * 10.0 ** draw.integers(-8, 12, 19))
    edges = np.unique(np.concatenate([edges, np.nextafter(edges, np.inf), np.round(edges)]))
    labels = edge_labels(edges.tolist())
    assert len(set(labels)) == len(edges) + 1
    cuts = NumberCuts(tuple(edges.tolist()))
    for number in (*edges.tolist(), *draw.normal(0, 1000, 20).tolist()):
        words = labels[cuts.symbol(number)].split()
        low = -np.inf if words[0] == "below" else float(words[0])
        high = np.inf if words[-1] == "more" else float(words[-1])
        assert low <= number < high


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        ("edges = []", "outcome.edges must be a list of numbers: found []; give rising numbers, such as [1, 2, 4]"),
        ("edges = 3", "outcome.edges must be a list of numbers: found 3; give rising numbers, such as [1, 2, 4]"),
        (
            'edges = ["1", "5"]',
            "outcome.edges must be a list of numbers: found ['1', '5']; give rising numbers, such as [1, 2, 4]",
        ),
        (
            "edges = [true, 2]",
            "outcome.edges must be a list of numbers: found [True, 2]; give rising numbers, such as [1, 2, 4]",
        ),
        (
            "edges = [1, nan]",
            "outcome.edges must be a list of numbers: found [1, nan]; give rising numbers, such as [1, 2, 4]",
        ),
        (
            "edges = [1, inf]",
            "outcome.edges must be a list of numbers: found [1, inf]; give rising numbers, such as [1, 2, 4]",
        ),
        ("edges = [5, 1]", "outcome.edges must rise: found [5, 1]; give rising numbers, such as [1, 2, 4]"),
        ("edges = [1, 1.0]", "outcome.edges must rise: found [1, 1.0]; give rising numbers, such as [1, 2, 4]"),
        (
            "edges = [9007199254740992, 9007199254740993]",
            "outcome.edges must rise: found [9007199254740992, 9007199254740993]; give rising numbers, such as "
            "[1, 2, 4]",
        ),
        *(
            (
                f'edges = "{words}"',
                f"outcome.edges must be rising numbers, or \"quantiles:N\" with N from 2 to 20: found '{words}'; write "
                'edges = [1, 5] or edges = "quantiles:4"',
            )
            for words in ("quartiles", "quantiles:1", "quantiles:21", "quantiles: 4", "quantiles:4.5", "")
        ),
        (
            'edges = [1, 5]\nvalues = ["few", "many"]',
            "outcome.values must be 3: found ['few', 'many']; 2 edges make 3, or leave values out",
        ),
        (
            'edges = "quantiles:4"\nvalues = ["few", "many"]',
            "outcome.values must be 4: found ['few', 'many']; 4 quantiles make 4, or leave values out",
        ),
        (
            'edges = "quantiles:4"\nabsent = "none"',
            "outcome.absent names a value before there are any: found 'none'; give values, or edges as numbers",
        ),
        (
            'edges = [1]\nabsent = "none"',
            "outcome.absent is not among its values: found 'none'; choose one of below 1, 1 or more",
        ),
        (
            'edge = [1]\nvalues = ["a", "b"]',
            "outcome.edge is not a key: found 'edge'; did you mean edges?",
        ),
        ("", "outcome.values is missing: found ['horizon', 'column']; give a list, such as [\"no\", \"yes\"]"),
    ],
)
def test_wrong_edges_are_refused_with_key_value_and_remedy(outcome: str, error: str) -> None:
    with pytest.raises(SettingError) as refused:
        task_with(outcome)
    assert str(refused.value) == error


def test_edges_too_large_for_a_number_are_refused() -> None:
    with pytest.raises(SettingError, match=r"outcome\.edges must be a list of numbers: found"):
        task_with(f"edges = [1, 1{'0' * 400}]")
    with pytest.raises(SettingError, match=r"instance\.customer\.centre must be a finite number"):
        read_task(TEXT.replace('"category"', f'"number", centre = 1{"0" * 400}') + "edges = [1]")


def test_an_exported_log_holds_labels_whatever_the_task_cut() -> None:
    served = as_served(task_with("edges = [10]"))
    assert served.outcome.values == ("below 10", "10 or more")
    assert served.outcome.source == Labelled("outcome", "outcome_at", "outcome_position")
    happened = read_task(TEXT.replace('column = "spent"', 'happened_at = "spent_at"\nvalues = ["no", "yes"]'))
    assert as_served(happened).outcome.source == Labelled("outcome", "outcome_at", "outcome_position")
    assert as_served(happened).outcome.absent == "no"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TEXT + 'edges = "quantiles:4"', """'outcome.edges = "quantiles:4"'"""),
        (TEXT.replace(" days", " rows") + 'edges = [1]\n[log]\norder = "rows"', """'order = "rows"'"""),
    ],
)
def test_a_task_that_cannot_be_served_has_no_exported_log(text: str, found: str) -> None:
    with pytest.raises(SettingError) as refused:
        as_served(read_task(text))
    wrong = "no service exported this log: it would not have served the task"
    assert str(refused.value) == f"{wrong}: found {found}; give the task that was served"
