"""The front door: what the commands do, as functions; a log and a task in any form give one result."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import presage
from presage import BacktestResult, ProxyReport, Table
from presage.dataframes import as_csv
from presage.errors import DataError, SettingError
from presage.worlds import ShopSettings


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A log and its task file."""
    world = ShopSettings(days=120, purchases=40, outcome_days=20)
    done = presage.simulate(world, tmp_path_factory.mktemp("shop") / "shop.parquet")
    return done.log, done.task


@pytest.fixture(scope="module")
def result(shop: tuple[Path, Path]) -> BacktestResult:
    """A backtest of it."""
    return presage.backtest(*shop, forecasters=("direct-table", "residual-table"))


@pytest.fixture(scope="module")
def report(shop: tuple[Path, Path]) -> ProxyReport:
    """Its proxies judged."""
    return presage.judge_proxies(*shop)


def test_a_task_is_a_path_or_text_or_a_task(shop: tuple[Path, Path]) -> None:
    path = shop[1]
    loaded = presage.load_task(path)
    assert presage.load_task(str(path)) == loaded
    text = presage.load_task(path.read_text())
    assert (text.name, text.signals, text.instance) == (loaded.name, loaded.signals, loaded.instance)
    assert loaded.text == path.read_text()
    with pytest.raises(DataError, match="the task file cannot be read"):
        presage.load_task("version = 1")


def test_a_backtest_gives_the_same_whatever_form_log_and_task_have(
    shop: tuple[Path, Path], result: BacktestResult
) -> None:
    log, task = shop
    again = presage.backtest(str(log), task.read_text(), forecasters="direct-table, residual-table")
    assert again.scores["log_loss"].tolist() == result.scores["log_loss"].tolist()
    again = presage.backtest(log, presage.load_task(task), forecasters=["direct-table", "residual-table"])
    assert again.verdict == result.verdict


def rows_of(frame: Any) -> int:
    """How many rows a dataframe of any library has."""
    return int(frame.num_rows if hasattr(frame, "num_rows") else frame.shape[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dataframes_go_in_and_come_out(shop: tuple[Path, Path], result: BacktestResult, library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not on this machine")
    relation: Any = duckdb.sql(f"FROM '{shop[0]}'")
    frame = {"pandas": relation.df, "polars": relation.pl, "pyarrow": relation.to_arrow_table}[library]()
    again = presage.backtest(frame, shop[1], forecasters=("direct-table", "residual-table"))
    assert again.scores["log_loss"].tolist() == result.scores["log_loss"].tolist()
    name = {"pandas": "to_pandas", "polars": "to_polars", "pyarrow": "to_arrow"}[library]
    for table in (result.scores, result.over_time, result.predictions):
        made = getattr(table, name)()
        assert type(made).__module__.startswith(library)
        assert rows_of(made) == table.rows


def test_predictions_are_probabilities_of_every_row_with_its_outcome(result: BacktestResult) -> None:
    found = result.predictions
    assert found.rows == len(result.rows.id)
    both = found["residual-table_finished"] + found["residual-table_not finished"]
    assert np.allclose(both, 1, atol=1e-6)
    known = np.array([value is not None for value in found["outcome"]])
    chance = np.where(
        found["outcome"] == "finished", found["residual-table_finished"], 1 - found["residual-table_finished"]
    )
    place = result.scores["forecaster"].tolist().index("residual-table")
    assert np.isclose(-np.log(chance[known]).mean(), result.scores["log_loss"][place], atol=1e-5)


def test_saving_a_backtest_writes_what_the_command_writes(result: BacktestResult, tmp_path: Path) -> None:
    page = result.save(tmp_path)
    assert page == tmp_path / "report.html"
    kept = json.loads((tmp_path / "backtest.json").read_text())
    assert kept["forecasters"] == result.as_json()["forecasters"]
    assert {"scores.csv", "over_time.parquet", "delays.csv"} <= {path.name for path in tmp_path.iterdir()}


def test_results_show_themselves_in_a_notebook(result: BacktestResult, report: ProxyReport) -> None:
    for shown in (result._repr_html_(), report._repr_html_(), result.over_time._repr_html_()):
        assert "<table" in shown
        assert "nan" not in shown
    assert result.verdict[0].split()[0] in result._repr_html_()
    assert report.cards[0].verdict[:10] in report._repr_html_()
    assert str(result) == "\n".join(result.verdict)
    assert str(report).startswith(report.cards[0].name)


def test_a_csv_file_tells_no_number_where_there_is_none() -> None:
    columns = {
        "name": np.array(["a", "b"], object),
        "loss": np.array([0.5, np.nan]),
        "at": np.array(["2024-01-01T10:20:30.5", "2024-01-02"], "datetime64[us]"),
    }
    rows = ["name,loss,at", "a,0.5,2024-01-01T10:20:30", "b,{},2024-01-02T00:00:00", ""]
    assert as_csv(columns).decode() == "\n".join(rows).format("")
    assert as_csv(columns, missing="nan").decode() == "\n".join(rows).format("nan")


def test_html_in_names_is_text() -> None:
    assert "<b>" not in Table({"<b>": np.array(["<b>"], object)})._repr_html_()
    many = Table({"n": np.arange(25), "x": np.full(25, np.nan)})
    assert "5 more rows" in many._repr_html_()
    assert repr(many) == "Table(n, x; 25 rows)"


def test_a_proxy_report_is_a_table_and_saves_itself(report: ProxyReport, tmp_path: Path) -> None:
    assert report.table["name"].tolist() == [card.name for card in report.cards]
    assert report.save(tmp_path) == tmp_path
    assert json.loads((tmp_path / "proxies.json").read_text())["proxies"] == report.as_json()["proxies"]
    assert (tmp_path / "proxies.csv").read_text().count("\n") == 1 + len(report.cards)


def test_what_is_wrong_is_refused_before_the_log_is_read(shop: tuple[Path, Path]) -> None:
    with pytest.raises(SettingError, match="did you mean mixture"):
        presage.backtest("nowhere.parquet", shop[1], forecasters="mixtur")
    with pytest.raises(SettingError, match="no such proxy"):
        presage.backtest("nowhere.parquet", shop[1], proxy="other")
    with pytest.raises(SettingError, match="world is unknown"):
        presage.simulate("moon", "moon.parquet")
