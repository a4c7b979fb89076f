"""The report of a backtest: its tables hold what its JSON holds, and it is drawn without a network."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest

from presage.backtesting.backtest import Backtest, BacktestSeconds, run_backtest
from presage.backtesting.page import BacktestRun, ProxyCard
from presage.backtesting.report import report_files
from presage.charts import pages
from presage.cli.entry import cli
from presage.logs.rows import LogRows, read_log
from presage.task.task import Task, load_task
from tests.charts.browser import needs_browser, open_page

NAMES = ("direct-table", "factored-table-shrunk", "direct-table-shrunk", "mixture")
CARD = ProxyCard("opened <b>", "use it & well", [("gain", "0.1 [0, 0.2]")], {"name": "opened <b>", "gain": 0.1})
TABLES = ("scores", "over_time", "winners", "delays", "reliability", "weights")


def as_run(*, cards: bool = True) -> BacktestRun:
    settings = {"log": "shop.csv", "forecasters": list(NAMES), "twins": False}
    spent, left_out = BacktestSeconds(1.0, 2.0, 3.0), ["rows without <a> time: 3"]
    if not cards:
        return BacktestRun(
            "proxy", settings, 7, "0.1", spent, left_out, "version = 1", no_cards="They could not be judged."
        )
    return BacktestRun("proxy", settings, 7, "0.1", spent, left_out, "version = 1", [CARD])


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Task, LogRows]:
    log = tmp_path_factory.mktemp("log") / "shop.parquet"
    words = ["data", "simulate", "shop", "--out", str(log), "--rows", "2500", "--missing", "0.05"]
    cli.main([*words, "--set", "outcome_days=20"], standalone_mode=False)
    task = load_task(log.with_suffix(".toml"))
    return task, read_log(task, str(log))[0]


@pytest.fixture(scope="module")
def found(shop: tuple[Task, LogRows]) -> Backtest:
    return run_backtest(*shop, NAMES, 0, lambda name: None)


@pytest.fixture(scope="module")
def files(shop: tuple[Task, LogRows], found: Backtest) -> dict[str, bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "_bundle", lambda: "")  # it takes seconds to put together
        return report_files(*shop, found, as_run())


def rows_of(table: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.decode())))


def test_all_that_is_shown_lies_beside_the_page(files: dict[str, bytes], tmp_path: Path) -> None:
    assert set(files) == {"report.html", "backtest.json"} | {
        f"{n}.{kind}" for n in TABLES for kind in ("csv", "parquet")
    }
    for name in TABLES:
        (tmp_path / f"{name}.parquet").write_bytes(files[f"{name}.parquet"])
        plain, table = rows_of(files[f"{name}.csv"]), f"'{tmp_path / name}.parquet'"
        with duckdb.connect() as connection:
            described = connection.execute(f"DESCRIBE FROM {table}").fetchall()
            counted = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
        assert [column[0] for column in described] == list(plain[0])
        assert counted == [(len(plain),)]


def test_tables_hold_the_numbers_of_the_json(files: dict[str, bytes], found: Backtest) -> None:
    kept = json.loads(files["backtest.json"])
    assert {"seed": 7, "version": "0.1", "left_out": ["rows without <a> time: 3"]}.items() <= kept.items()
    assert kept["settings"]["log"] == "shop.csv"
    assert kept["proxies"] == [{"name": "opened <b>", "gain": 0.1}]
    assert {name: kept[name] for name in found.as_json(BacktestSeconds(1, 2, 3))} == found.as_json(
        BacktestSeconds(1, 2, 3)
    )
    for row in rows_of(files["scores.csv"]):
        assert float(row["log_loss"]) == kept["forecasters"][row["forecaster"]]["log_loss"]
    lines = {(row["forecaster"], row["start"]): row for row in rows_of(files["over_time.csv"])}
    for block in kept["over_time"]:
        for name, loss in block["losses"].items():
            assert float(lines[name, block["start"][:19]]["log_loss"]) == pytest.approx(loss, abs=1e-5)
    for row in rows_of(files["winners.csv"]):
        block = next(one for one in kept["over_time"] if one["start"][:19] == row["start"])
        assert block["losses"][row["best"]] == min(block["losses"].values())


def test_delay_curves_end_at_what_ever_becomes_known(files: dict[str, bytes]) -> None:
    last = {row["signal"]: float(row["share_known"]) for row in rows_of(files["delays.csv"])}
    assert set(last) == {"proxy", "outcome"}
    assert all(0.9 < share < 0.99 for share in last.values())  # one in twenty is missing
    begun = [
        float(r["after"]) for r in rows_of(files["delays.csv"]) if r["signal"] == "proxy" and float(r["share_known"])
    ]
    assert 0.9 < min(begun) < 1.2  # a day


def test_the_page_reads_from_the_verdict_to_the_settings(files: dict[str, bytes], found: Backtest) -> None:
    written = files["report.html"].decode()
    heads = ["Scores", "Loss over time", "Best over time", "Expert weights", "Delays", "Reliability", "Proxies",
             "Checks", "Settings"]  # fmt: skip
    places = [written.index(f"<h2>{head}</h2>") for head in heads]
    assert places == sorted(places)
    assert all(written.index(sentence) < places[0] for sentence in found.verdict)
    assert "opened &lt;b&gt;: use it &amp; well" in written
    assert "rows without &lt;a&gt; time: 3" in written
    assert "no earlier score moved" in written


def test_a_report_of_few_forecasters_leaves_out_what_is_not_there(
    shop: tuple[Task, LogRows], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_bundle", lambda: "")
    alone = run_backtest(*shop, ("direct-table",), 0, lambda name: None)
    files = report_files(*shop, alone, as_run(cards=False))
    assert "weights.csv" not in files
    written = files["report.html"].decode()
    assert "cannot be told" in written
    assert "They could not be judged." in written
    assert json.loads(files["backtest.json"])["proxy_gain"] is None


@needs_browser
@pytest.mark.long
def test_every_chart_is_drawn_without_a_network(shop: tuple[Task, LogRows], found: Backtest, tmp_path: Path) -> None:
    written = report_files(*shop, found, as_run())["report.html"]
    for width in (390, 1280):
        opened = open_page(written, tmp_path, width)
        assert opened.console == []
        assert len(opened.marks) == 7
        assert min(opened.marks.values()) > 0, opened.marks
        assert opened.right <= width
