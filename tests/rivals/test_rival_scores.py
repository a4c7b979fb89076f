"""Rivals in a backtest: scored like forecasters on the same rows, compared with the default, and never called best."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import presage
from benchmarks import rival_table
from presage import BacktestResult
from presage.backtesting.rival_verdict import RivalScore
from presage.charts import pages
from presage.cli.entry import cli
from presage.errors import SettingError
from presage.metrics.bootstrap import bootstrap_mean
from presage.metrics.intervals import Interval
from presage.progress import Step
from presage.rivals import Rival, RivalLog
from presage.worlds import ShopSettings

NAMES = ["direct-table", "residual-table", "mixture"]


def oracle(log: RivalLog, step: Step) -> Any:
    """What happens, by looking ahead: nothing is better."""
    step(log.rows)
    return 0.1 + np.eye(log.spaces.outcomes)[np.maximum(log.episode.y, 0)]


def even(log: RivalLog, step: Step) -> Any:
    """The same for all."""
    step(log.rows)
    return np.ones((log.rows, log.spaces.outcomes))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    world = ShopSettings(days=120, purchases=20, outcome_days=20)
    done = presage.simulate(world, tmp_path_factory.mktemp("shop") / "shop.parquet")
    return done.log, done.task


@pytest.fixture(scope="module")
def alone(shop: tuple[Path, Path]) -> BacktestResult:
    return presage.backtest(*shop, forecasters=NAMES)


@pytest.fixture(scope="module")
def result(shop: tuple[Path, Path]) -> BacktestResult:
    return presage.backtest(*shop, forecasters=NAMES, rivals=[Rival("oracle", oracle), Rival("even", even)])


def test_rivals_change_nothing_of_the_forecasters(alone: BacktestResult, result: BacktestResult) -> None:
    before, after = alone.as_json(), result.as_json()
    for name in ("marginal", *NAMES):
        own = dict(after["forecasters"][name])
        assert own.pop("seconds") > 0
        assert own == {key: value for key, value in before["forecasters"][name].items() if key != "seconds"}
    for key in ("best", "default", "proxy_gain", "gain_percent", "base_rate", "by"):
        assert after[key] == before[key], key
    assert "rivals" not in before
    assert list(after["forecasters"]) == ["marginal", *NAMES, "oracle", "even"]
    kept = [sentence for sentence in after["verdict"] if not sentence.startswith("Do not trust")]  # one looks ahead
    assert kept[: len(before["verdict"])] == before["verdict"]


def test_the_difference_is_that_of_the_losses_row_by_row(result: BacktestResult) -> None:
    said, y = result.found.said, result.rows.outcome.symbols
    known = y >= 0
    rivals = result.as_json()["rivals"]
    assert set(rivals) == {"oracle", "even"}
    for name, found in rivals.items():
        ours, theirs = (-said[each].astype(np.float64)[known, y[known]] for each in ("mixture", name))
        assert found["difference"] == pytest.approx((ours - theirs).mean(), abs=1e-5)
        assert found["percent"]["mean"] == pytest.approx(100 * (ours - theirs).mean() / theirs.mean(), rel=1e-4)
        losses = np.where(known, 0.0, np.nan)
        losses[known] = ours - theirs
        assert [found["low"], found["high"]] == pytest.approx(bootstrap_mean(losses)[1:], abs=1e-4)
        assert found["low"] < found["difference"] < found["high"]
        assert found["forecaster"] == "mixture"
        assert found["seconds"] >= 0
    assert rivals["oracle"]["verdict"] == "above"
    assert rivals["even"]["verdict"] == "below"


def test_the_verdict_names_each_rival_and_the_best_stays_a_forecaster(result: BacktestResult) -> None:
    ahead, below = result.verdict[-2:]
    assert ahead.startswith("oracle looked ahead: ")
    assert below.startswith("The default's log loss is ")
    assert " % below even's (" in below
    assert result.best in NAMES
    assert not any("presage serve" in each and "oracle" in each for each in result.verdict)


def test_a_rival_that_looks_ahead_is_told_first(result: BacktestResult) -> None:
    found = result.as_json()
    assert found["leak_check"]["moved"] == found["rivals"]["oracle"]["moved"] > 100
    assert found["rivals"]["even"]["moved"] == 0
    assert any(sentence.startswith("Do not trust these numbers") for sentence in result.verdict)


@pytest.mark.parametrize(
    ("difference", "verdict", "words"),
    [
        ((-0.03, -0.04, -0.02), "below", "The default's log loss is 3.0 % below mine's (2.0 to 4.0)."),
        ((0.03, 0.02, 0.04), "above", "The default's log loss is 3.0 % above mine's (2.0 to 4.0)."),
        ((0.01, -0.02, 0.04), "tied", "The default's log loss is tied with mine's (from -2.0 to +4.0 %)."),
    ],
)
def test_what_is_said_of_a_difference(difference: tuple[float, ...], verdict: str, words: str) -> None:
    each = Interval(*difference)
    score = RivalScore("mixture", each, Interval(*(100 * part for part in each)), 1.0)
    assert score.verdict == verdict
    assert score.sentence("mine", "mixture") == words
    assert score._replace(forecaster="direct-table").sentence("mine", "mixture").startswith("direct-table's log loss")


def test_the_table_of_several_logs_has_a_row_for_each_rival(result: BacktestResult, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps(result.as_json()))
    lines = rival_table.table([tmp_path / "one.json", tmp_path / "two.json"]).splitlines()
    assert lines[0] == "| | one | two |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| `mixture`", "| `oracle`", "| `even`", "| `marginal`"]
    percent = result.as_json()["rivals"]["even"]["percent"]
    interval = f"; {percent['mean']:+.1f} % ({percent['low']:+.1f} to {percent['high']:+.1f}); "
    assert lines[4].count(f"{np.log(result.found.said['even'].shape[1]):.4f}{interval}") == 2


def test_a_report_shows_rivals_like_forecasters(
    result: BacktestResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_bundle", lambda: "")
    page = result.save(tmp_path).read_text()
    assert "below even&#x27;s (" in page
    assert "rival is what people pick instead" in page
    assert "seconds" in result._repr_html_()
    for name in ("scores", "over_time"):
        with (tmp_path / f"{name}.csv").open() as file:
            assert {"oracle", "even"} <= {row["forecaster"] for row in csv.DictReader(file)}
    kept = json.loads((tmp_path / "backtest.json").read_text())
    assert kept["settings"]["rivals"] == ["oracle", "even"]
    assert kept["settings"]["forecasters"] == ["marginal", *NAMES]
    assert any(name.startswith("oracle_") for name in result.predictions)


def test_without_the_default_the_best_forecaster_is_compared(shop: tuple[Path, Path]) -> None:
    found = presage.backtest(*shop, forecasters="residual-table", rivals=Rival("even", even)).as_json()
    assert found["rivals"]["even"]["forecaster"] == found["best"]


def test_a_wrong_rival_is_refused_before_the_log_is_read(shop: tuple[Path, Path]) -> None:
    with pytest.raises(SettingError, match="no rival has this name: found 'vm'"):
        presage.backtest("no such log", shop[1], rivals="vm")


def test_the_command_plays_rivals_by_name(shop: tuple[Path, Path]) -> None:
    for module in ("lightgbm", "river", "vowpalwabbit"):
        pytest.importorskip(module, reason="the rivals extra is not installed")
    arguments = ["backtest", str(shop[0]), "--task", str(shop[1]), "--forecasters", "mixture", "--twins", "--json"]
    done = CliRunner().invoke(cli, [*arguments, "--rivals", "lightgbm,vw,river"], standalone_mode=False)
    assert done.exception is None, done.exception
    found = json.loads(done.stdout.splitlines()[0])
    assert list(found["rivals"]) == ["lightgbm", "vw", "river"]
    assert found["leak_check"]["moved"] == 0
    assert found["leak_check"]["tampered"] > 0
    losses = {name: score["log_loss"] for name, score in found["forecasters"].items()}
    assert max(losses[name] for name in found["rivals"]) < losses["marginal"]
