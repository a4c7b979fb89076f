"""The gain of an early sign is measured against its own values, shuffled; odd logs get words, not odd figures."""

import json
from pathlib import Path

import numpy as np
import pytest

import presage
from presage.backtesting.proxy_gain import with_shuffled_proxy
from presage.dataframes import as_csv
from presage.spaces import EMPTY
from presage.timeline.episode import Episode

TASK = """version = 1
name = "bought"
[instance]
item = { kind = "category" }
[proxy]
values = ["no", "yes"]
known = "at horizon"
horizon = "1 day"
[outcome]
values = ["no", "yes"]
known = "at horizon"
horizon = "3 days"
"""
ROWS = 600


def log(folder: Path, *, one_outcome: bool = False, signs: float = 1.0) -> Path:
    """Six hundred predictions, an hour apart, that an early sign settles; a share of them has one."""
    draw = np.random.default_rng(0)
    outcome = np.where(draw.random(ROWS) < np.arange(ROWS) % 20 / 20, "yes", "no").astype(object)
    proxy = outcome.copy()
    proxy[draw.random(ROWS) >= signs] = ""
    columns = {
        "item": np.array([f"i{row % 20}" for row in range(ROWS)], object),
        "shown_at": np.datetime64("2024-01-01T00:00:00") + np.arange(ROWS) * np.timedelta64(3600, "s"),
        "proxy": proxy,
        "outcome": np.array(["no"] * ROWS, object) if one_outcome else outcome,
    }
    path = folder / "log.csv"
    path.write_bytes(as_csv(columns))
    return path


def test_shuffled_values_come_when_they_came_and_as_often() -> None:
    z = np.where(np.arange(90) % 3, np.arange(90) % 2, EMPTY).astype(np.int32)
    seen = np.where(z == EMPTY, -1, np.arange(90))
    episode = Episode.varying(np.zeros(90, np.int32), z, np.zeros(90, np.int32), seen, np.arange(90))
    shuffled = with_shuffled_proxy(episode, 0)
    assert ((shuffled.z == EMPTY) == (z == EMPTY)).all()
    assert (np.bincount(shuffled.z[z != EMPTY]) == np.bincount(z[z != EMPTY])).all()
    assert (shuffled.z != z).any()
    assert (shuffled.proxy_seen == episode.proxy_seen).all()
    assert (episode.z == z).all()


def test_a_sign_that_settles_the_outcome_is_far_ahead_of_itself_with_shuffled_values(tmp_path: Path) -> None:
    result = presage.backtest(log(tmp_path), TASK)
    gain, kept = result.found.proxy_gain, result.as_json()
    assert gain
    assert gain.over_shuffled
    assert gain.over_shuffled.low > 5
    assert kept["gain_percent_over_shuffled"]["mean"] == gain.over_shuffled.mean
    assert set(kept["gain_percent_over_shuffled"]) == {"mean", "low", "high", "new_instances"}


def test_one_known_outcome_value_is_told_as_such_and_not_in_percent(tmp_path: Path) -> None:
    path = log(tmp_path, one_outcome=True)
    result = presage.backtest(path, TASK)
    assert result.verdict[1:] == [
        "Only one outcome value was ever known, in 528 rows, so nothing can be told of any early sign: check the "
        "outcome's kind, column and horizon in the task."
    ]
    found = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert found["gain_percent"] == {"mean": None, "low": None, "high": None}
    report = presage.judge_proxies(path, TASK)
    assert report.verdict[0].startswith("proxy: Only one outcome value was ever known, in 528 rows, so nothing")
    json.dumps(report.as_json(), allow_nan=False)


@pytest.mark.parametrize(("signs", "told"), [(0.25, True), (0.75, False)])
def test_a_sign_that_few_rows_have_is_told_as_such(tmp_path: Path, signs: float, told: bool) -> None:
    path = log(tmp_path, signs=signs)
    words = " ".join(presage.backtest(path, TASK, forecasters="direct-table,factored-table").verdict)
    assert ("% of rows ever have a proxy (proxy): on the others it cannot help." in words) == told
    assert ("% of rows ever have it" in presage.judge_proxies(path, TASK).verdict[0]) == told


def test_a_sign_that_is_hardly_ever_anything_but_absent_is_told_as_such(tmp_path: Path) -> None:
    task = TASK.replace('values = ["no", "yes"]', 'values = ["none", "no", "yes"]\nabsent = "none"', 1)
    words = " ".join(
        presage.backtest(log(tmp_path, signs=0.01), task, forecasters="direct-table,factored-table").verdict
    )
    assert "% of rows ever have a proxy (proxy): the others count as none." in words


def test_a_notebook_shows_what_decides_and_not_all_figures(tmp_path: Path) -> None:
    report = presage.judge_proxies(log(tmp_path), TASK)
    shown = report._repr_html_()
    assert f"<p><b>proxy</b>: {report.cards[0].verdict}</p>" in shown
    assert shown.count("<th>") == 5
    assert f"<td>{report.cards[0].kind.words}</td>" in shown
    assert len(report.table) > 30
