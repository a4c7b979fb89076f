"""`presage backtest` and `presage proxies` on a simulated log: the JSON that scripts read, and errors in one line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from presage.cli.entry import cli

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


def test_a_simulated_log_is_scored_and_nothing_leaks(shop: Path, tmp_path: Path) -> None:
    code, out = run(
        "backtest",
        shop,
        "--task",
        shop.with_suffix(".toml"),
        "--forecasters",
        ",".join(NAMES),
        "--json",
        "--out",
        tmp_path,
    )
    assert code == 0, out
    result = json.loads(out.splitlines()[0])
    assert {"rows", "instances", "seconds", "forecasters", "best", "default", "leak_check"} == set(result)
    assert set(result["seconds"]) == {"read", "compile", "run"}
    assert list(result["forecasters"]) == NAMES
    assert {"log_loss", "low", "high", "new_instances"} <= set(result["forecasters"]["mixture"])
    assert result["rows"] == 3000
    assert result["default"] == "mixture"
    assert result["leak_check"]["tampered"] > 0
    assert result["leak_check"]["moved"] == 0
    assert result["forecasters"]["mixture"]["log_loss"] < result["forecasters"]["marginal"]["log_loss"]
    assert json.loads((tmp_path / "backtest.json").read_text()) == result


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


def test_bad_input_is_refused(shop: Path, tmp_path: Path) -> None:
    task = shop.with_suffix(".toml")
    assert "no forecaster has this name" in run("backtest", shop, "--task", task, "--forecasters", "oracle")[1]
    assert "without this proxy" in run("backtest", shop, "--task", task, "--proxy", "nothing")[1]
    assert run("backtest", tmp_path / "nothing.csv", "--task", task)[0] == 2
    assert run("backtest", shop, "--task", tmp_path / "nothing.toml")[0] == 2
