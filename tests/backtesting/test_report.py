"""The report of a backtest: its tables hold what its JSON holds, and it is drawn without a network."""

import csv
import html
import io
import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pytest

from presage.backtesting.backtest import Backtest, BacktestSeconds, run_backtest
from presage.backtesting.families import MEANINGS, stand_ins
from presage.backtesting.page import BacktestRun, ProxyCard, loss_section, winner_section
from presage.backtesting.report import report_files
from presage.charts import pages
from presage.cli.entry import cli
from presage.logs.guards.leak_guards import LogWarning
from presage.logs.rows import LogRows, read_log
from presage.logs.signals import NEVER_AT
from presage.metrics.losses import log_loss
from presage.task.task import Task, load_task
from tests.charts.browser import needs_browser, open_page
from tests.charts.test_pages import data_of

WARNING = LogWarning(
    "tells-the-outcome", "st<ate", "It gives the outcome away: leave it out.", {"auc": 0.98765, "n": 7}
)
NAMES = ("direct-table", "factored-table-shrunk", "direct-table-shrunk", "mixture")
CARD = ProxyCard("opened <b>", "use it & well", [("gain", "0.1 [0, 0.2]")], {"name": "opened <b>", "gain": 0.1})
TABLES = ("scores", "outcome_given_proxy", "segments", "over_time", "winners", "delays", "reliability", "weights")


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
    return task, read_log(task, str(log), extra=("genre",))[0]._replace(warnings=(WARNING,))


@pytest.fixture(scope="module")
def found(shop: tuple[Task, LogRows]) -> Backtest:
    return run_backtest(*shop, NAMES, 0, lambda name: None, by={"genre": "genre"})


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
    blank = 0
    for row in rows_of(files["winners.csv"]):
        block = next(one for one in kept["over_time"] if one["start"][:19] == row["start"])
        for name in filter(None, row["best"].split(", ")):
            assert block["losses"][name] == pytest.approx(min(block["losses"].values()), abs=1.1e-4)
        blank += not row["best"]
    assert blank == 3  # the 20 days before the first outcome, in blocks of a week


def test_counts_of_outcomes_given_the_proxy_are_those_of_the_log(
    files: dict[str, bytes], shop: tuple[Task, LogRows]
) -> None:
    task, rows = shop
    z, y = rows.proxy().symbols, rows.outcome.symbols
    kept = json.loads(files["backtest.json"])
    assert kept["base_rate"]["rows"] == (y >= 0).sum()
    for outcome, name in enumerate(task.outcome.values):
        assert kept["base_rate"]["counts"][name] == (y == outcome).sum()
        assert kept["base_rate"]["probabilities"][name] == pytest.approx((y == outcome).sum() / (y >= 0).sum())
        given = {each["proxy"]: each for each in kept["outcome_given_proxy"]}
        for symbol, value in [*enumerate(task.proxy().values), (-1, None)]:
            assert given[value]["counts"][name] == ((z == symbol) & (y == outcome)).sum()
            share = given[value]["counts"][name] / given[value]["rows"]
            assert given[value]["probabilities"][name] == pytest.approx(share)
    counts = [int(row["count"]) for row in rows_of(files["outcome_given_proxy.csv"])]
    assert sum(counts) == kept["base_rate"]["rows"]


def test_segments_add_up_to_the_scores_from_the_first_known_outcome_on(
    files: dict[str, bytes], shop: tuple[Task, LogRows], found: Backtest
) -> None:
    kept = json.loads(files["backtest.json"])
    segments = kept["by"]["genre"]
    assert [each["value"] for each in segments] == [row["value"] for row in rows_of(files["segments.csv"])]
    assert sum(each["rows"] for each in segments) == len(shop[1].id)
    scored = np.array([each["outcomes"] for each in segments])
    for role in ("default", "direct", "best"):
        whole = kept["forecasters"][segments[0][role]["forecaster"]]["log_loss_from_first_outcome"]["mean"]
        assert (scored * [each[role]["mean"] for each in segments]).sum() / scored.sum() == pytest.approx(
            whole, abs=1e-5
        )
    assert found.proxy_gain is not None
    gain = (scored * [each["gain"]["mean"] for each in segments]).sum() / scored.sum()
    assert gain == pytest.approx(found.proxy_gain.learnt.overall.mean, abs=1e-6)
    direct = kept["forecasters"][found.proxy_gain.over.against]["log_loss_from_first_outcome"]["mean"]
    assert kept["gain_percent"]["mean"] == pytest.approx(100 * gain / direct, rel=1e-4)


def test_the_loss_from_the_first_known_outcome_on_leaves_out_the_rows_before_it(
    shop: tuple[Task, LogRows], found: Backtest
) -> None:
    rows = shop[1]
    later = rows.shown_at > rows.outcome.known_at.min()
    for name, score in found.scores.items():
        losses = log_loss(found.said[name], rows.outcome.symbols)
        assert score.losses.from_first is not None
        assert score.losses.from_first.mean == pytest.approx(np.nanmean(losses[later]), abs=1e-6)
        assert np.allclose(losses[~later & ~np.isnan(losses)], np.log(2))  # before it all predict the same


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
    heads = [
        *("What the early sign tells", "What was compared", "Scores", "By segment", "Loss over time", "Best over time"),
        *("Weights in the default", "Delays", "Reliability", "Proxies", "Checks", "Settings"),
    ]
    places = [written.index(f"<h2>{head}</h2>") for head in heads]
    assert places == sorted(places)
    text = re.sub(r"</?span[^>]*>", "", written)  # they keep dates and percentages on one line
    told = [text.index(html.escape(sentence)) for sentence in found.verdict]
    before = text.index("<h2>What the early sign tells</h2>")
    assert [*told, before] == sorted([*told, before])
    assert found.verdict[0] == WARNING.words
    assert text.index("tells-the-outcome, auc 0.9877, n 7") < told[1]
    assert before < text.index("<th>P(finished)</th>") < text.index("<h2>What was compared</h2>")
    for family in ("direct", "factored", "mixture"):
        assert f"<li>{family} {html.escape(MEANINGS[family])}.</li>" in written
    assert "<li>residual" not in written  # none was played
    assert "opened &lt;b&gt;: use it &amp; well" in written
    assert "rows without &lt;a&gt; time: 3" in written
    assert "no score used feedback before its moment" in written
    assert "cannot see is a feature that already contains the outcome" in written


def test_no_curve_is_drawn_and_nobody_wins_before_an_outcome_is_known(
    shop: tuple[Task, LogRows], found: Backtest
) -> None:
    rows = shop[1]
    first = float(rows.outcome.known_at.min()) / 1000
    shown = stand_ins({name: score.losses.overall.mean for name, score in found.scores.items()})
    for section in (loss_section(found.over_time, shown, rows), winner_section(found.over_time, shown)):
        assert len(section.panels) == 2
        for panel in section.panels:
            drawn = [row for row in data_of(panel.chart) if "from" in row]
            known = [row for row in drawn if row.get("value", row.get("loss")) is not None]
            assert known
            assert min(row["from"] for row in known) >= first


def test_a_report_of_few_forecasters_leaves_out_what_is_not_there(
    shop: tuple[Task, LogRows], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_bundle", lambda: "")
    alone = run_backtest(*shop, ("direct-table",), 0, lambda name: None)
    files = report_files(*shop, alone, as_run(cards=False))
    assert {"weights.csv", "segments.csv"}.isdisjoint(files)
    written = files["report.html"].decode()
    assert "cannot be told" in written
    assert "They could not be judged." in written
    assert json.loads(files["backtest.json"])["proxy_gain"] is None


def test_a_log_that_ends_before_an_outcome_is_learnt_draws_no_curve_and_calls_nothing_useless(
    shop: tuple[Task, LogRows], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_bundle", lambda: "")
    task, rows = shop
    known_at = np.where(rows.outcome.symbols < 0, NEVER_AT, rows.shown_at[-1])
    late = rows._replace(outcome=rows.outcome._replace(known_at=known_at))
    found = run_backtest(task, late, ("direct-table", "factored-table", "mixture"), 0, lambda name: None)
    assert "Too little data to tell" in found.judged[0]
    assert "no outcome was known before" in found.judged[0]
    as_json = found.as_json(BacktestSeconds(1, 2, 3))
    assert as_json["gain_percent"] == {"mean": None, "low": None, "high": None}
    assert as_json["forecasters"]["mixture"]["log_loss_from_first_outcome"]["mean"] is None
    written = report_files(task, late, found, as_run())["report.html"].decode()
    assert "there is nothing to draw" in written


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
