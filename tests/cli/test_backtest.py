"""`presage backtest` and `presage proxies` on a simulated log: the JSON that scripts read, and errors in one line."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from presage.backtesting.families import MEANINGS
from presage.charts import pages
from presage.cli.entry import cli
from tests.cli.typed import Presage

NAMES = ["marginal", "direct-table", "factored-table", "residual-table", "mixture"]


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)
    if done.exception:
        return 2, str(done.exception)
    return int(done.return_value or 0), done.stdout


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = tmp_path_factory.mktemp("log") / "shop.csv"
    assert run("data", "simulate", "shop", "--out", log, "--rows", 3000, "--set", "outcome_days=20")[0] == 0
    return log


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without the library that draws: it takes seconds to put together."""
    monkeypatch.setattr(pages, "_bundle", lambda: "")


@pytest.mark.usefixtures("short")
def test_a_simulated_log_is_scored_and_nothing_leaks(shop: Path, tmp_path: Path) -> None:
    task, names = shop.with_suffix(".toml"), ",".join(NAMES)
    code, out = run("backtest", shop, "--task", task, "--forecasters", names, "--json", "--out", tmp_path)
    assert code == 0, out
    result = json.loads(out.splitlines()[0])
    contract = {"rows", "instances", "seconds", "forecasters", "best", "default", "leak_check"}
    told = {"warnings", "base_rate", "outcome_given_proxy", "gain_percent", "gain_percent_over_shuffled", "by"}
    assert contract | told | {"verdict", "proxy_gain", "over_time", "rests_on"} == set(result)
    assert out.count("\n") == 1  # one object, and nothing else on stdout
    assert set(result["seconds"]) == {"read", "compile", "run"}
    assert list(result["forecasters"]) == NAMES
    assert {"log_loss", "low", "high", "new_instances"} <= set(result["forecasters"]["mixture"])
    assert result["forecasters"]["mixture"]["delay_cost"] is None
    assert result["rows"] == 3000
    assert result["default"] == "mixture"
    assert result["leak_check"]["tampered"] > 0
    assert result["leak_check"]["moved"] == 0
    assert result["forecasters"]["mixture"]["log_loss"] < result["forecasters"]["marginal"]["log_loss"]
    kept = json.loads((tmp_path / "backtest.json").read_text())
    assert {name: kept[name] for name in result} == result
    assert set(kept) - set(result) == {"settings", "seed", "version", "left_out", "proxies"}
    assert kept["settings"]["forecasters"] == NAMES
    assert kept["proxies"][0]["verdict"] in (tmp_path / "report.html").read_text()


def test_twins_tell_what_waiting_costs(shop: Path) -> None:
    words = ("--task", shop.with_suffix(".toml"), "--forecasters", "direct-table-shrunk", "--twins", "--json")
    found = json.loads(run("backtest", shop, *words)[1].splitlines()[0])["forecasters"]
    assert found["direct-table-shrunk"]["delay_cost"]["mean"] > 0
    assert set(found["marginal"]["delay_cost"]) == {"mean", "low", "high"}


@pytest.mark.usefixtures("short")
def test_a_report_is_written_whole_or_not_at_all(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("backtest", shop, "--task", shop.with_suffix(".toml"), "--forecasters", "mixture", "--out")
    (tmp_path / "file").write_text("in the way")
    assert run(*words, tmp_path / "file" / "out")[0] == 2

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, said = run(*words, tmp_path / "out")
    assert code == 2
    assert "could not be written" in said
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.usefixtures("short")
def test_a_log_on_which_proxies_cannot_be_judged_still_gets_its_report(shop: Path, tmp_path: Path) -> None:
    lines = shop.read_text().splitlines()
    log = tmp_path / "few.csv"
    log.write_text("\n".join([lines[0], *lines[1::80]]))
    words = ("--task", shop.with_suffix(".toml"), "--forecasters", "mixture,direct-table", "--out", tmp_path / "out")
    code, said = run("backtest", log, *words)
    assert code == 0, said
    assert "hardly ever known together" in (tmp_path / "out" / "report.html").read_text()


def test_the_verdict_and_the_tables_are_data(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    presage = Presage(monkeypatch, capsys, "backtest", shop, "--task", shop.with_suffix(".toml"))
    done = presage("--by", "genre", "--by", "proxy")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("The outcome is known for ")
    assert lines[2].split() == ["proxy", "predictions", "P(not", "finished)", "P(finished)"]
    gain = next(place for place, line in enumerate(lines) if "lowers log loss by" in line)
    heads = [place for name in ("forecaster", "genre", "proxy") for place, line in enumerate(lines)
             if line.startswith(f"{name} ") and ("log loss" in line)]  # fmt: skip
    assert [2, gain, *heads] == sorted([2, gain, *heads])
    assert len(heads) == 3  # in full width: no table comes in pieces
    assert max(map(len, lines)) > 150
    for family in ("direct", "factored", "residual", "mixture"):
        assert f"{family} {MEANINGS[family]}." in lines
    assert "no score used feedback before its moment" in lines[-1]
    assert "\x1b" not in done.out
    assert "Read in" in done.err
    assert "Read in" not in done.out
    assert "log loss" not in done.err
    quiet = presage("--forecasters", "mixture", "--json")
    assert quiet.out.count("\n") == 1
    assert "log loss" not in quiet.err


def test_a_table_in_a_terminal_fits_into_it(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("presage.cli.output.results", Console(width=90, force_terminal=True, color_system=None))
    done = Presage(monkeypatch, capsys, "backtest", shop, "--task", shop.with_suffix(".toml"))()
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in done.out.splitlines()]
    heads = [line for line in lines if line.startswith("forecaster ")]
    assert len(heads) > 1
    assert max(map(len, heads)) <= 90


def test_proxies_are_judged_with_a_verdict(shop: Path, tmp_path: Path) -> None:
    code, out = run("proxies", shop, "--task", shop.with_suffix(".toml"), "--cuts", "--json", "--out", tmp_path)
    assert code == 0, out
    cards = json.loads(out.splitlines()[0])["proxies"]
    assert len(cards) == 3  # three symbols, and two ways to cut them in two
    fields = {"name", "information", "gap", "share", "stability_p", "lead", "symbols", "gain", "verdict"}
    assert all(set(card) == fields for card in cards)
    assert set(cards[0]["information"]) == {"value", "low", "high"}
    assert cards[0]["verdict"]
    assert (tmp_path / "proxies.json").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--forecasters", "oracle"), "no forecaster has this name: found 'oracle'; choose one of marginal, "),
        (("--forecasters", "mixture,direct-tabel"), "found 'direct-tabel'; did you mean direct-table?"),
        (("--forecasters", "direct-table-backing-off"), "the task says nothing to back off through: found 'direct-"),
        (("--proxy", "proxi"), "the task has no such proxy: found 'proxi'; did you mean proxy?"),
    ],
)
def test_wrong_names_are_refused_before_the_log_is_read(
    shop: Path, tmp_path: Path, words: tuple[str], told: str
) -> None:
    task = tmp_path / "task.toml"
    plain = [line for line in shop.with_suffix(".toml").read_text().splitlines() if not line.startswith("back_off")]
    task.write_text("\n".join(plain))
    code, said = run("backtest", tmp_path / "nowhere.csv", "--task", task, *words)
    assert code == 2
    assert told in said


def test_names_may_stand_apart(shop: Path) -> None:
    code, said = run(
        "backtest", shop, "--task", shop.with_suffix(".toml"), "--forecasters", "marginal, mixture", "--json"
    )
    assert code == 0, said
    assert list(json.loads(said.splitlines()[0])["forecasters"]) == ["marginal", "mixture"]


def test_one_comparison_has_one_interval_in_the_json(shop: Path) -> None:
    words = ("--task", shop.with_suffix(".toml"), "--forecasters", "direct-table,residual-table", "--json")
    found = json.loads(run("backtest", shop, *words)[1].splitlines()[0])
    gain = found["proxy_gain"]
    assert gain.pop("forecaster") == "residual-table"
    assert gain == found["forecasters"]["residual-table"]["over_direct"]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_log_with_too_few_scored_rows_is_refused_in_one_line(shop: Path, tmp_path: Path, rows: int) -> None:
    log = tmp_path / "few.csv"
    log.write_text("\n".join(shop.read_text().splitlines()[: rows + 1]))
    code, said = run("backtest", log, "--task", shop.with_suffix(".toml"))
    assert code == 2
    assert f"too few rows of the log can be scored: found {rows}; give one with at least 4 outcomes" in said
    assert "\n" not in said


def test_bad_input_is_refused(shop: Path, tmp_path: Path) -> None:
    task = shop.with_suffix(".toml")
    assert run("backtest", tmp_path / "nothing.csv", "--task", task)[0] == 2
    assert run("backtest", shop, "--task", tmp_path / "nothing.toml")[0] == 2
