"""`presage data simulate` as people type it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from presage.cli.data import simulate
from presage.logs.rows import read_log
from presage.task.task import load_task
from tests.cli.typed import Presage


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys, "data", "simulate")


def test_a_log_and_its_task_are_written(presage: Presage, tmp_path: Path) -> None:
    done = presage("shop", "--out", tmp_path / "shop.parquet", "--rows", 3000, "--seed", 2, "--drift", "--duplicates",
                   0.1, "--set", "genres=3", "--json")  # fmt: skip
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["rows"] == 3000
    assert result["files"] == [str(tmp_path / "shop.parquet"), str(tmp_path / "shop.toml")]
    assert f"3,000 predictions, {result['repeated']} of them twice" in done.err
    rows, _ = read_log(load_task(tmp_path / "shop.toml"), tmp_path / "shop.parquet")
    assert rows.features.symbols[1] == 3


@pytest.mark.parametrize("world", ["repositories", "marketplace"])
def test_without_rows_the_world_decides(presage: Presage, tmp_path: Path, world: str) -> None:
    size = "repositories=20" if world == "repositories" else "items=20"
    done = presage(world, "--out", tmp_path / "log.csv", "--set", size)
    assert done.code == 0, done.err
    assert done.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "log.toml"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["zoo", "--out", "HERE/a.csv"], "'zoo' is not one of"),
        (["shop"], "Missing option '--out'"),
        (["shop", "--out", "HERE/a.txt"], "the kind of this file is unknown"),
        (["shop", "--out", "HERE/a.csv", "--rows", "0"], "--rows"),
        (["shop", "--out", "HERE/a.csv", "--missing", "2"], "--missing"),
        (["shop", "--out", "HERE/a.csv", "--set", "nothing=1"], "a setting is changed by name=value"),
        (["shop", "--out", "HERE/a.csv", "--set", "days=0"], "days must be a whole number"),
        (["shop", "--out", "/proc/presage/a.csv"], "this file cannot be written"),
    ],
)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(
    presage: Presage, tmp_path: Path, arguments: list[str], words: str
) -> None:
    done = presage(*(argument.replace("HERE", str(tmp_path)) for argument in arguments))
    assert done.code == 2
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


def test_help_ends_with_an_example() -> None:
    shown = CliRunner().invoke(simulate, ["--help"])
    assert shown.exit_code == 0
    assert "Example: presage data simulate" in shown.output.strip().splitlines()[-1]
