"""`presage proxies` as people type it: a table and a verdict for each candidate, the JSON that scripts read, errors."""

import csv
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.cli.output import progress_bar
from presage.logs.cleaning import Exclusions
from presage.logs.guards.leak_guards import LogWarning
from presage.logs.rows import LogRows, read_log
from presage.proxies.report import judge_proxies
from presage.simulation.simulate import simulate
from presage.worlds.shop import ShopSettings
from tests.cli.typed import Presage
from tests.logs.given import table

FIELDS = ["name", "information", "gap", "share", "stability_p", "lead", "symbols", "gain", "verdict"]
ESTIMATES = ["information", "gap", "share", "lead", "gain"]
EVENTS = """
version = 1
name = "bought within a week"
[instance]
item = { kind = "category" }
[proxy.clicks]
values = ["none", "some", "many"]
count = "click"
within = "2 days"
edges = [1, 3]
[outcome]
values = ["no", "yes"]
count = "buy"
within = "7 days"
edges = [1]
[log]
subject = "user"
instance = "item"
moment = ["show"]
"""


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys, "proxies")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dealt") / "shop.csv"
    return simulate(ShopSettings(outcome_days=20), out, rows=3000).log


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of raw events: items differ in how often they are clicked in the days after they are shown, and bought."""
    folder, draw = tmp_path_factory.mktemp("events"), np.random.default_rng(0)
    start, second = np.datetime64("2024-01-01", "s"), np.timedelta64(1, "s")
    lines = []
    for user in range(1200):
        item = int(draw.integers(0, 30))
        appeal = (item + 1) / 30
        shown = int(draw.integers(0, 60 * 86_400))
        moments = [("show", shown)]
        moments += [("click", shown + int(s)) for s in draw.uniform(1, 4 * 86_400, draw.poisson(4 * appeal))]
        moments += [("buy", shown + int(draw.integers(4 * 86_400, 7 * 86_400)))] if draw.random() < appeal else []
        lines += [(f"i{item}", f"u{user}", kind, str(start + at * second)) for kind, at in moments]
    (folder / "task.toml").write_text(EVENTS)
    return table(folder / "events.csv", "item,user,kind,at", lines)


@pytest.fixture(scope="module")
def logs(shop: Path, clicks: Path) -> tuple[Path, Path]:
    return shop, clicks


def test_a_table_and_a_verdict_for_each_candidate_go_to_stdout(presage: Presage, shop: Path) -> None:
    done = presage(shop, "--task", shop.with_suffix(".toml"), "--cuts")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert all(word in lines[0] for word in ("tells", "gap", "share", "lead", "gain", "on new", "overall"))
    names = ("proxy", "proxy cut at 1", "proxy cut at 2")
    for name in names:
        assert (
            len([line for line in lines[1:] if line.startswith(f"{name}  ")]) == 1
        )  # in full width: no cell is wrapped
        (said,) = [line for line in lines if line.startswith(f"{name}: ")]
        assert said.partition(": ")[2].startswith(("Use it", "Not worth using", "Do not rely", "Too little data"))
        assert f"{name}: " not in done.err
    assert len(lines) == 2 + 2 * len(names)
    assert "\x1b" not in done.out


def test_warnings_of_the_log_stand_before_the_cards(
    presage: Presage, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warning = LogWarning("tells-the-outcome", "state", "It gives the outcome away: leave it out.", {"auc": 0.99})

    def warned(*given: Any, **named: Any) -> tuple[LogRows, Exclusions]:
        rows, left_out = read_log(*given, **named)
        return rows._replace(warnings=(warning,)), left_out

    monkeypatch.setattr("presage.proxies.report.read_log", warned)
    done = presage(shop, "--task", shop.with_suffix(".toml"))
    assert done.out.splitlines()[0] == "WARNING, column state: It gives the outcome away: leave it out."
    as_json = json.loads(presage(shop, "--task", shop.with_suffix(".toml"), "--json").out)
    assert as_json["warnings"] == [warning._asdict()]
    report = judge_proxies(shop, shop.with_suffix(".toml"))
    assert str(report).startswith(warning.words)
    assert warning.words in report._repr_html_()


def test_json_holds_the_fields_that_scripts_rely_on(presage: Presage, shop: Path) -> None:
    done = presage(shop, "--task", shop.with_suffix(".toml"), "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out, parse_constant=pytest.fail)  # NaN is no JSON
    assert list(result) == ["proxies", "warnings"]
    assert done.err.strip() == ""  # nothing is said twice
    (card,) = result["proxies"]
    assert sorted(card) == sorted(FIELDS)
    for name in ESTIMATES:
        assert set(card[name]) == {"value", "low", "high"}
        assert card[name]["low"] <= card[name]["value"] <= card[name]["high"]
    assert (card["name"], card["symbols"], card["lead"]["value"]) == ("proxy", 3, 19.0)
    assert 0 <= card["stability_p"] <= 1


def test_out_keeps_cards_settings_and_version(presage: Presage, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    done = presage(shop, "--task", shop.with_suffix(".toml"), "--cuts", "--json", "--out", out)
    assert done.code == 0, done.err
    kept = json.loads((out / "proxies.json").read_text())
    assert kept["proxies"] == json.loads(done.out)["proxies"]
    assert kept["settings"]["cuts"] is True
    assert kept["settings"]["task"] == shop.with_suffix(".toml").read_text()
    assert kept["version"]
    with (out / "proxies.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == [card["name"] for card in kept["proxies"]]
    for row, card in zip(rows, kept["proxies"], strict=True):
        assert float(row["gain_low"]) == card["gain"]["low"]
        assert float(row["overall_low"]) <= float(row["overall"]) <= float(row["overall_high"])
        assert row["verdict"] == card["verdict"]


def test_proxies_on_events_are_judged_at_several_horizons(presage: Presage, clicks: Path) -> None:
    task = clicks.with_name("task.toml")
    usual = presage(clicks, "--task", task, "--json")
    assert usual.code == 0, usual.err
    cards = json.loads(usual.out)["proxies"]
    leads = {card["name"]: card["lead"]["value"] for card in cards}
    names = ["clicks within 12 hours", "clicks within 1 day", "clicks", "clicks within 3 days"]
    assert [leads[name] for name in names] == [6.5, 6.0, 5.0, 4.0]
    tells = {card["name"]: card["information"]["value"] for card in cards}
    assert [tells[name] for name in names] == sorted(tells.values())  # the longer, the more it tells
    gains = [card["gain"]["value"] for card in cards if card["verdict"].startswith("Use it")]
    assert gains == sorted(gains, reverse=True)
    assert len(gains) > 1

    asked = presage(clicks, "--task", task, "--horizons", "36 hours, 4 days", "--cuts", "--json")
    found = {card["name"] for card in json.loads(asked.out)["proxies"]}
    whole = {"clicks", "clicks within 36 hours", "clicks within 4 days"}
    assert found == {f"{name}{cut}" for name in whole for cut in ("", " cut at 1", " cut at 2")}
    declared = presage(clicks, "--task", task, "--horizons", "none", "--json")
    assert [card["name"] for card in json.loads(declared.out)["proxies"]] == ["clicks"]


def test_the_bar_counts_every_candidate(presage: Presage, clicks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    totals: list[int] = []

    def noted(what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        totals.append(total)
        return progress_bar(what, total)

    monkeypatch.setattr("presage.cli.output.progress_bar", noted)
    presage(clicks, "--task", clicks.with_name("task.toml"), "--horizons", "1 day", "--cuts")
    assert totals == [6]  # two horizons of three symbols, each also cut in two places


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["SHOP"], "Missing option '--task'"),
        (["SHOP", "--task", "HERE/none.toml"], "the task file cannot be read"),
        (["HERE/none.csv", "--task", "TASK"], "none.csv is not there"),
        (["SHOP", "--task", "TASK", "--engine", "magic"], "'magic' is not one of"),
        (["SHOP", "--task", "TASK", "--horizons", "1 day"], "no proxy of this task has other horizons"),
        (["EVENTS", "--task", "EVENT_TASK", "--horizons", "soon"], "horizons must be a span of time: found 'soon'"),
        (["EVENTS", "--task", "EVENT_TASK", "--horizons", "1 day,24 hours"], "horizons name one twice"),
        (["EVENTS", "--task", "EVENT_TASK", "--horizons", "7 days"], "shorter than the outcome's of 7 days"),
        (["SHOP", "--task", "TASK", "--out", "/proc/presage"], "nothing can be written to this folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    presage: Presage, logs: tuple[Path, Path], tmp_path: Path, arguments: list[str], words: str
) -> None:
    shop, clicks = logs
    places = {
        "EVENT_TASK": clicks.with_name("task.toml"), "EVENTS": clicks, "TASK": shop.with_suffix(".toml"),
        "SHOP": shop, "HERE": tmp_path,
    }  # fmt: skip
    for name, place in places.items():
        arguments = [argument.replace(name, str(place)) for argument in arguments]
    done = presage(*arguments)
    assert done.code == 2
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []
