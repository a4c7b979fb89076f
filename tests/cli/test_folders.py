"""Folders that are not ours stay as they are, and what is refused leaves nothing behind."""

import json
from pathlib import Path

import pytest

from presage.errors import OutputError
from presage.files import MARK, UNFINISHED, write_results
from presage.simulation.simulate import simulate
from tests.cli.typed import Presage
from tests.service.fake import TASK

COMMANDS = {
    "demo": "demo --out theirs",
    "backtest": "backtest shop.csv --task shop.toml --out theirs",
    "proxies": "proxies shop.csv --task shop.toml --out theirs",
    "reproduce": "reproduce synthetic --trials 2 --out theirs",
    "tune": "tune github --trials 2 --out theirs",
    "data github": "data github --clones clones --out theirs",
    "data marketplace": "data marketplace shop.csv --out theirs",
    "serve": "serve --task books.toml --data theirs --port 0",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    simulate("shop", tmp_path / "shop.csv", rows=200)
    (tmp_path / "books.toml").write_text(TASK)
    (tmp_path / "clones").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize("typed", COMMANDS.values(), ids=COMMANDS)
def test_a_folder_with_the_files_of_others_is_refused_and_unchanged(home: Path, presage: Presage, typed: str) -> None:
    theirs = home / "theirs"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("years of work")
    (theirs / "results.json").write_text("{}")
    before = everything(home)
    done = presage(*typed.split())
    assert done.code == 2
    assert "theirs is not empty and was not made by presage" in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert everything(home) == before


@pytest.mark.parametrize(
    "typed",
    [
        "backtest none.csv --task shop.toml --out new/out",
        "proxies none.csv --task shop.toml --out new/out",
        "demo --out new/out --set days=no",
        "data marketplace none.csv --out new/out",
        "serve --task none.toml --data new/data",
        "log import none.csv --task books.toml --data new/data",
    ],
)
def test_what_is_refused_leaves_nothing_behind(home: Path, presage: Presage, typed: str) -> None:
    before = everything(home)
    done = presage(*typed.split())
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1
    assert everything(home) == before


def test_a_folder_of_ours_is_written_into_again(tmp_path: Path) -> None:
    (tmp_path / f"{UNFINISHED}1234").mkdir()  # of a run that was killed
    assert write_results(tmp_path, {"a.txt": b"1"}) == [tmp_path / "a.txt"]
    (tmp_path / "notes.txt").write_text("mine")
    write_results(tmp_path, {"a.txt": b"2"})
    assert (tmp_path / "a.txt").read_bytes() == b"2"
    (tmp_path / MARK).unlink()
    with pytest.raises(OutputError, match=r"found 'a.txt, notes.txt'"):
        write_results(tmp_path, {"a.txt": b"3"})
    assert (tmp_path / "a.txt").read_bytes() == b"2"


def test_a_new_volume_is_no_stranger(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    assert write_results(tmp_path, {"a.txt": b""}) == [tmp_path / "a.txt"]


def test_a_log_that_was_not_simulated_is_not_overwritten(tmp_path: Path) -> None:
    simulate("shop", tmp_path / "shop.csv", rows=50)
    simulate("shop", tmp_path / "shop.csv", rows=60, seed=1)
    (tmp_path / "mine.csv").write_text("a,b\n")
    (tmp_path / "yours.toml").write_text("version = 1\n")
    for name in ("mine.csv", "yours.csv"):
        with pytest.raises(OutputError, match="was not simulated is there"):
            simulate("shop", tmp_path / name, rows=50)
    assert (tmp_path / "mine.csv").read_text() == "a,b\n"
    assert (tmp_path / "yours.toml").read_text() == "version = 1\n"
    assert not (tmp_path / "yours.csv").exists()


@pytest.mark.long
def test_a_second_demo_goes_where_the_first_one_went(home: Path, presage: Presage) -> None:
    for _ in range(2):
        done = presage(*["demo", "--out", "out/demo", "--set", "first_titles=20", "--set", "days=120", "--json"])
        assert done.code == 0, done.err
    assert json.loads(done.out)["page"] == "out/demo/demo.html"
