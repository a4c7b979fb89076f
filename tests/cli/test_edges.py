"""Edges that a log told are printed, kept in JSON, and give the same numbers when written into the task."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import presage as front_door
from tests.cli.typed import Done, Presage
from tests.logs.given import table

TASK = """version = 1
name = "spending"
[instance]
item = { kind = "category" }
[proxy]
column = "opens"
edges = [1, 3]
horizon = "10 rows"
[outcome]
column = "spent"
edges = "quantiles:4"
horizon = "60 rows"
[log]
order = "rows"
"""


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Presage:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    items = draw.integers(0, 12, 1500)
    opens = draw.poisson(1 + items / 5)
    spent = np.round(draw.gamma(1 + opens, 2) + items, 2)
    rows = [(f"item-{item}", opened, paid) for item, opened, paid in zip(items, opens, spent, strict=True)]
    table(tmp_path / "log.csv", "item,opens,spent", rows)
    (tmp_path / "task.toml").write_text(TASK)
    return Presage(monkeypatch, capsys)


def edges_of(presage: Presage) -> str:
    """The line with the edges of the log, as `presage task check` prints it."""
    done = presage("task", "check", "task.toml", "--log", "log.csv")
    assert done.code == 0, done.err
    (line,) = [each for each in done.err.splitlines() if each.startswith("outcome.edges = ")]
    assert line.endswith("(quartiles of the first 1,000 rows)")
    return line


def said(done: Done) -> Any:
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_check_prints_the_edges_of_the_log_and_rows_for_times(presage: Presage) -> None:
    assert "values: 4 quantiles, found in the log; horizon: 60 rows" in " ".join(
        presage("task", "check", "task.toml").out.split()
    )
    edges_of(presage)
    found = said(presage("task", "check", "task.toml", "--log", "log.csv", "--json"))
    assert (found["from"], found["to"]) == ("row 1", "row 1,500")
    assert len(found["signals"]["outcome"]["values"]) == 4
    assert found["signals"]["proxy"]["edges"] == "[1, 3]"


@pytest.mark.long
def test_edges_of_the_log_and_the_same_as_numbers_give_the_same_results(presage: Presage) -> None:
    line = edges_of(presage)
    words = ("log.csv", "--task", "task.toml", "--json")
    commands = (("backtest", *words, "--forecasters", "direct-table"), ("proxies", *words, "--out", "cards"))
    open_ones = [presage(*command) for command in commands]
    assert all(line in done.err.splitlines() for done in open_ones)
    assert json.loads(Path("cards/proxies.json").read_text())["settings"]["edges"]["outcome"]["edges"]
    Path("task.toml").write_text(TASK.replace('edges = "quantiles:4"', line.removeprefix("outcome.").split(" (")[0]))
    for done, command in zip(open_ones, commands, strict=True):
        first, again = said(done), said(presage(*command))
        edges = first.pop("edges")["outcome"]
        assert edges["from"] == "quartiles of the first 1,000 rows"
        assert str(edges["edges"]) in line
        assert len(edges["values"]) == 4
        for each in (first, again):
            each.pop("seconds", None)
        assert first == again


@pytest.mark.long
def test_a_backtest_in_python_has_the_task_with_its_edges_and_rows_for_times(presage: Presage) -> None:
    edges_of(presage)
    result = front_door.backtest("log.csv", "task.toml", forecasters="direct-table")
    assert len(result.task.outcome.values) == 4
    assert result.settings["edges"]["outcome"]["values"] == list(result.task.outcome.values)
    predictions = result.predictions
    assert list(predictions["row"][:3]) == [1, 2, 3]
    assert f"direct-table_{result.task.outcome.values[0]}" in predictions
