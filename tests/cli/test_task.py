"""`presage task` as people type it: a first task file that works, and checks that say what is wrong."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from presage.cli.task import task
from presage.logs.rows import read_log
from presage.simulation.simulate import simulate
from presage.task.columns import EventColumns
from presage.task.features import Category, Feature
from presage.task.task import load_task, read_task
from presage.worlds.shop import ShopSettings
from tests.cli.typed import Presage

ROOT = Path(__file__).parents[2]


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys)


@pytest.fixture(scope="module")
def dealt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dealt") / "shop.csv"
    return simulate(ShopSettings(outcome_days=20), out, rows=2000, missing=0.1).log


@pytest.fixture
def shop(dealt: Path, tmp_path: Path) -> Path:
    for path in (dealt, dealt.with_suffix(".toml")):
        shutil.copy(path, tmp_path)
    return tmp_path / dealt.name


def test_check_says_what_a_task_means(presage: Presage) -> None:
    done = presage("task", "check", ROOT / "examples" / "oulad.toml", "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["features"] == ["resource", "activity", "module"]
    assert result["proxies"] == ["proxy"]
    assert result["signals"]["outcome"]["horizon"] == "22 days"
    assert done.err == ""  # nothing is said twice
    said = presage("task", "check", ROOT / "examples" / "oulad.toml")
    assert "name              resources used again within 21 days" in said.out.splitlines()
    assert said.err == ""


def test_check_reads_a_log_and_counts_what_is_left_out(presage: Presage, shop: Path) -> None:
    done = presage("task", "check", shop.with_suffix(".toml"), "--log", shop, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["rows"] == 2000
    assert result["known"]["outcome"] == 2000 - sum(c for r, c in result["left_out"].items() if r.startswith("outcome"))
    assert "censored: outcome did not come within 20 days" in done.err
    said = presage("task", "check", shop.with_suffix(".toml"), "--log", shop)
    assert "rows              2,000" in said.out.splitlines()
    assert "censored: outcome did not come within 20 days" in said.err
    assert "censored: " not in said.out
    assert result["warnings"] == []
    assert result["delays"]["outcome"]["quartiles_seconds"] == [20 * 86_400.0] * 3
    assert "known after 20 days" in said.out


def test_check_says_its_warnings_first(presage: Presage, shop: Path) -> None:
    task_file, log = shop.with_suffix(".toml"), shop.read_text().splitlines()
    copied = ["f," + log[0], *(f"{line.split(',')[6]}!,{line}" for line in log[1:])]
    shop.write_text("\n".join(copied) + "\n")
    task_file.write_text(task_file.read_text().replace("[instance]", '[instance]\nf = { kind = "category" }'))
    done = presage("task", "check", task_file, "--log", shop)
    assert done.out.startswith("WARNING, column f: It explains ")
    result = json.loads(presage("task", "check", task_file, "--log", shop, "--json").out)
    assert [(one["kind"], one["column"]) for one in result["warnings"]] == [("tells-the-outcome", "f")]
    assert result["warnings"][0]["evidence"]["rows"] > 800


def test_init_writes_a_task_that_fits_the_log(presage: Presage, shop: Path) -> None:
    printed = presage("task", "init", shop)
    assert printed.code == 0
    written = presage("task", "init", shop, "--out", shop.parent / "first.toml")
    assert written.code == 0
    assert written.out == ""
    assert (shop.parent / "first.toml").read_text() == printed.out
    first = load_task(shop.parent / "first.toml")
    assert first.symbols == ("title", "genre")
    rows, _ = read_log(first, shop)
    assert len(rows.id) == 2000
    again = presage("task", "init", shop, "--out", shop.parent / "first.toml")
    assert again.code == 2
    assert "cannot be written" in again.err


def test_init_guesses_kinds_from_columns_of_any_form(presage: Presage, tmp_path: Path) -> None:
    lines = [
        f"item-{n % 40},u{n},{n % 7},{n / 3},{('true', 'false')[n % 2]},2020-01-{1 + n % 28:02},"
        f"early,2020-01-{1 + n % 28:02},{('lost', 'won')[n % 2]},2020-03-01"
        for n in range(300)
    ]
    head = "item,session,clicks,price,new one,day,hint,hint_at,sale,sale_at"
    (tmp_path / "log.csv").write_text("\n".join([head, *lines]))
    text = presage("task", "init", tmp_path / "log.csv").out
    first = read_task(text.replace('values = ["no", "yes"]', 'values = ["early", "late"]'))
    kinds = {feature.name: type(feature).__name__ for feature in first.instance}
    assert kinds == {"item": "Category", "clicks": "Category", "price": "Number", "new_one": "Boolean"}
    assert "# session = { kind" in text
    assert first.log.shown_at == "day"
    assert (first.proxy().values, first.outcome.values) == (("early", "late"), ("lost", "won"))
    assert first.outcome.horizon.words == "60 days"
    assert '["no", "yes"]  # correct this' in text


def test_init_knows_a_log_of_events(presage: Presage, tmp_path: Path) -> None:
    lines = [f"{n % 9},u{n % 50},{('acquire', 'engage')[n % 2]},2020-01-{1 + n % 28:02}" for n in range(300)]
    (tmp_path / "log.csv").write_text("\n".join(["item,user,kind,at", *lines]))
    first = read_task(presage("task", "init", tmp_path / "log.csv").out)
    assert isinstance(first.log, EventColumns)
    assert (first.log.moment, first.log.keys) == (("acquire",), ("user", "item"))
    identity: Feature = first.instance[0]
    assert isinstance(identity, Category)
    assert identity.name == "item"
    rows, _ = read_log(first, tmp_path / "log.csv")
    assert len(rows.id) == 150


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "HERE/none.toml"], "the task file cannot be read"),
        (["check", "HERE/bad.toml"], "version is missing"),
        (["check", "HERE/shop.toml", "--log", "HERE/none.csv"], "none.csv is not there"),
        (["check", "HERE/shop.toml", "--log", "HERE/bad.csv"], "bad.csv lacks the columns id"),
        (["check", "HERE/shop.toml", "--log", "HERE/bad.csv", "--engine", "magic"], "--engine"),
        (["init", "HERE/none.csv"], "none.csv is not there"),
        (["init", "HERE/empty.csv"], "empty.csv holds no rows"),
        (["init", "HERE/shop.csv", "--out", "/proc/presage/a.toml"], "the task file cannot be written"),
        (["nothing"], "No such command"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    presage: Presage, shop: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "bad.toml").write_text("name = 'x'")
    (tmp_path / "bad.csv").write_text("title,genre,shown_at\na,b,2020-01-01\n")
    (tmp_path / "empty.csv").write_text("a,b\n")
    done = presage("task", *(argument.replace("HERE", str(tmp_path)) for argument in arguments))
    assert done.code == 2
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert done.out == ""


@pytest.mark.parametrize("command", ["check", "init"])
def test_every_command_has_help_that_ends_with_an_example(command: str) -> None:
    shown = CliRunner().invoke(task, [command, "--help"])
    assert shown.exit_code == 0
    assert f"Example: presage task {command}" in shown.output.strip().splitlines()[-1]
    whole = CliRunner().invoke(task, ["--help"])
    assert "Example: presage task" in whole.output.strip().splitlines()[-1]
