"""A log without times is told of in rows: nowhere stands a date of 1970."""

import json
from pathlib import Path

import numpy as np
import pytest

import presage
from presage.charts import pages
from tests.logs.given import table

TASK = """
version = 1
name = "bought"
[instance]
item = { kind = "category" }
[proxy]
values = ["no", "yes"]
horizon = "20 rows"
[outcome]
values = ["no", "yes"]
horizon = "500 rows"
[log]
order = "rows"
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items that differ in how often they are opened; what is opened is often bought."""
    folder, draw = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    item = draw.integers(0, 40, 4000)
    opened = draw.random(4000) < draw.beta(0.5, 0.5, 40)[item]
    bought = draw.random(4000) < np.where(opened, 0.8, 0.1)
    answers = np.array(["no", "yes"])
    lines = [(f"i{i}", answers[int(z)], answers[int(y)]) for i, z, y in zip(item, opened, bought, strict=True)]
    (folder / "task.toml").write_text(TASK)
    return table(folder / "log.csv", "item,proxy,outcome", lines)


def test_verdict_page_and_tables_count_rows(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_bundle", lambda: "")
    result = presage.backtest(log, log.with_name("task.toml"), forecasters="direct-table,factored-table,mixture")
    gain = next(sentence for sentence in result.verdict if sentence.startswith("Using the early sign lowers"))
    since = int(gain.partition("ahead since row ")[2].partition(",")[0])
    assert 500 < since < 1500
    starts = [block["start"] for block in result.as_json()["over_time"]]
    assert starts[:3] == ["row 0", "row 50", "row 100"]
    page = result.save(tmp_path / "out")
    written = page.read_text()
    assert "1970-" not in written
    assert "blocks of 50 rows" in written
    assert "rows after the prediction" in written
    assert "480 [480, 480] rows" in written  # how long the proxy comes before the outcome
    assert '"utc"' not in written.partition("Loss over time")[2]
    kept = json.loads((tmp_path / "out" / "backtest.json").read_text())
    assert kept["over_time"][1]["start"] == "row 50"
    assert (tmp_path / "out" / "over_time.csv").read_text().splitlines()[1].startswith("marginal,0,50,")


def test_cards_count_rows(log: Path) -> None:
    (card,) = presage.judge_proxies(log, log.with_name("task.toml")).cards
    assert card.lead.value == 480
    assert "480 rows before the outcome" in card.verdict
