"""Segments: each row is in one, numbers are cut at quartiles, and rare values are taken together."""

from pathlib import Path

import numpy as np
import pytest

import presage
from presage.backtesting.segments import EMPTY_CELL, MOST, OTHER, Compared, parts_of, score_segments
from presage.errors import DataError
from presage.logs.rows import read_log
from presage.spaces import Array
from presage.task.task import Task, load_task, read_task
from tests.logs.given import table

TASK = """
version = 1
name = "bought"
[instance]
item = { kind = "category" }
size = { kind = "count", column = "si ze", edges = [10, 100] }
[proxy]
values = ["no", "yes"]
horizon = "1 day"
[outcome]
values = ["no", "yes"]
horizon = "3 days"
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four hundred predictions, an hour apart; the last column is none of the task's, and sometimes empty."""
    folder, draw = tmp_path_factory.mktemp("segments"), np.random.default_rng(0)
    at = np.datetime64("2024-01-01T00:00:00") + np.arange(400) * np.timedelta64(3600, "s")
    lines = []
    for row, shown in enumerate(at):
        proxy, outcome = draw.choice(["no", "yes"], 2)
        known = [str(shown + np.timedelta64(days, "D")) for days in (1, 3)]
        country = ["de", "fr", "", "de"][row % 4]
        lines.append((f"i{row % 40}", str(row), str(shown), proxy, known[0], outcome, known[1], country))
    (folder / "task.toml").write_text(TASK)
    return table(folder / "log.csv", "item,si ze,shown_at,proxy,proxy_at,outcome,outcome_at,country", lines)


@pytest.fixture(scope="module")
def task(log: Path) -> Task:
    return load_task(log.with_name("task.toml"))


def words(*values: object) -> Array:
    return np.array(values, object)


def sizes(task: Task, by: str, column: Array) -> dict[str, int]:
    return {name: int(rows.sum()) for name, rows in parts_of(task, by, column)}


def test_every_row_lies_in_one_segment(task: Task) -> None:
    draw = np.random.default_rng(1)
    for column in (
        words(*draw.integers(0, 50, 300).astype(str), None),
        words(*draw.choice(list("abcdef"), 300)),
        words(*(f"w{n % 33}" for n in range(300))),
        words(None, None),
    ):
        rows = np.stack([rows for _, rows in parts_of(task, "country", column)])
        assert (rows.sum(axis=0) == 1).all()


def test_values_come_by_how_often_they_occur_and_the_rest_together(task: Task) -> None:
    column = words(*(f"w{n}" for n in range(30) for _ in range(40 - n)), None)
    found = sizes(task, "country", column)
    assert list(found) == [*(f"w{n}" for n in range(MOST)), OTHER, EMPTY_CELL]
    assert found["w0"] == 40
    assert found[OTHER] == sum(40 - n for n in range(MOST, 30))
    assert found[EMPTY_CELL] == 1


def test_numbers_are_cut_at_quartiles_and_equal_ones_stay_together(task: Task) -> None:
    assert sizes(task, "age", words(*map(str, range(100)))) == {
        "0 to 24": 25,
        "25 to 49": 25,
        "50 to 74": 25,
        "75 to 99": 25,
    }
    many = words(*["0"] * 60, *map(str, range(1, 41)))
    assert sizes(task, "age", many) == {"0": 60, "1 to 15": 15, "16 to 40": 25}
    assert len(sizes(task, "age", words(*["2021", "2022", "2023"] * 30))) == 3  # few numbers are names
    assert len(sizes(task, "item", words(*map(str, range(100))))) == MOST + 1  # a category is no number


def test_times_are_cut_into_months_or_years_in_their_order(task: Task) -> None:
    days = np.arange(np.datetime64("2023-11-15"), np.datetime64("2024-02-03")).astype(str)
    assert sizes(task, "seen", words(*days, None)) == {
        "2023-11": 16,
        "2023-12": 31,
        "2024-01": 31,
        "2024-02": 2,
        EMPTY_CELL: 1,
    }
    seconds = np.arange(np.datetime64("2020-03-01T10"), np.datetime64("2022-06-01T10"), np.timedelta64(24, "h"))
    found = sizes(task, "seen", words(*(f"{each} 10:00:00+00" for each in seconds.astype("datetime64[D]").astype(str))))
    assert list(found) == ["2020", "2021", "2022"]
    assert found["2021"] == 365
    assert len(sizes(task, "item", words(*days))) == MOST + 1  # a category is no time


def test_scores_by_a_column_of_times(log: Path, task: Task) -> None:
    found = presage.backtest(log, task, forecasters="direct-table", by="shown_at").as_json()["by"]
    assert [(each["value"], each["rows"]) for each in found["shown_at"]] == [("2024-01", 400)]


def test_a_segment_with_one_outcome_value_has_no_gain_in_percent(task: Task) -> None:
    sure, safe = (np.log(np.tile([share, 1 - share], (12, 1)).astype(np.float32)) for share in (0.999, 0.99))
    said = {"direct-table": sure, "factored-table": safe}
    compared = Compared(None, "direct-table", "direct-table", "factored-table")
    (one, both) = score_segments(task, {"country": words(*"aaaaaabbbbbb")}, said, np.array([0] * 7 + [1] * 5), compared)
    assert not np.isnan(one.gain.mean)
    assert np.isnan(one.percent.mean)
    assert not np.isnan(both.percent.mean)


def test_a_column_beside_the_task_is_read_in_the_order_of_the_rows(log: Path, task: Task) -> None:
    rows, _ = read_log(task, log, extra=("country", "si ze"))
    assert rows.extra is not None
    assert rows.extra["country"].tolist() == ["de", "fr", None, "de"] * 100
    assert rows.extra["si ze"].tolist() == [str(row) for row in range(400)]
    assert read_log(task, log)[0].extra is None


def test_scores_by_a_feature_and_by_a_column_that_is_none(log: Path, task: Task) -> None:
    names = ("direct-table", "factored-table", "mixture")
    result = presage.backtest(log, task, forecasters=names, by=["country", "size"])
    found = result.as_json()["by"]
    assert [each["value"] for each in found["country"]] == ["de", "fr", EMPTY_CELL]
    assert [each["value"] for each in found["size"]] == ["0 to 99", "100 to 199", "200 to 299", "300 to 399"]
    assert [each["rows"] for each in found["country"]] == [200, 100, 100]
    assert found["size"][0]["outcomes"] == 100 - 73  # those shown by the moment of the first outcome see none
    assert found["country"][0]["gain"]["against"] == "direct-table"
    assert (
        found["country"][0]["gain"]["low"] <= found["country"][0]["gain"]["mean"] <= found["country"][0]["gain"]["high"]
    )
    assert result.by.rows == 7
    assert presage.backtest(log, task, forecasters=names).by.rows == 0


def test_a_segment_with_too_few_outcomes_has_no_scores(task: Task) -> None:
    said = {"direct-table": np.log(np.full((12, 2), 0.5, np.float32))}
    column = words(*"aaaaaaaaabbb")
    y = np.array([0, 1] * 6)
    compared = Compared(None, "direct-table", "direct-table", None)
    found = score_segments(task, {"country": column}, said, y, compared)
    assert [(each.value, each.scored) for each in found] == [("a", 9), ("b", 3)]
    assert found[0].losses["direct-table"].mean == pytest.approx(np.log(2))
    assert np.isnan(found[1].losses["direct-table"].mean)
    assert np.isnan(found[0].gain.mean)


def test_a_column_that_is_not_there_is_refused(log: Path, task: Task) -> None:
    with pytest.raises(DataError, match=r"log.csv lacks the columns kountry: .* did you mean country.*--by"):
        presage.backtest(log, task, by="kountry")


def test_events_take_the_column_from_the_event_that_is_the_prediction(tmp_path: Path) -> None:
    events = """
version = 1
name = "bought"
[instance]
item = { kind = "category" }
[proxy]
values = ["no", "yes"]
count = "click"
within = "1 day"
edges = [1]
[outcome]
values = ["no", "yes"]
count = "buy"
within = "3 days"
edges = [1]
[log]
subject = "user"
moment = ["show"]
"""
    lines = [("a", "u1", "show", "2024-01-01", "web"), ("a", "u1", "click", "2024-01-01 12:00:00", "app"),
             ("a", "u2", "show", "2024-01-02", "app"), ("a", "u2", "buy", "2024-01-03", "web"),
             ("b", "u3", "show", "2024-01-06", "web")]  # fmt: skip
    log = table(tmp_path / "events.csv", "item,user,kind,at,channel", lines)
    rows, _ = read_log(read_task(events), log, extra=("channel",))
    assert rows.extra is not None
    assert rows.extra["channel"].tolist() == ["web", "app", "web"]
