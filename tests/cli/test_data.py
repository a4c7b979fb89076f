"""`presage data` as people type it: exact counts, one JSON object, one-line errors, nothing half-written."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from presage.cli.data import data
from presage.experiments.data.commit_tables import QUERY
from presage.experiments.data.commits import read_commits
from presage.experiments.data.marketplace import read_market
from tests.cli.typed import Presage
from tests.experiments.data.test_market_tables import log_file, random_events
from tests.logs.places import make_clones


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys, "data")


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clones(tmp_path_factory.mktemp("clones"))


def test_clones_become_tables_with_exact_counts(presage: Presage, clones: Path, tmp_path: Path) -> None:
    done = presage("github", "--clones", clones, "--out", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["counts"] == {
        "repositories": 3,
        "commits": 28,
        "languages": 4,
        "repositories without a language": 1,
    }
    assert result["left_out"] == {
        "folders that are not git clones": 2,
        "clones git cannot read": 1,
        "shallow clones": 1,
        "empty repositories": 1,
        "commits dated in the future": 0,
        "commits without a date": 0,
    }
    assert [Path(path).name for path in result["files"]] == ["commits.parquet", "languages.parquet", "repos.parquet"]
    assert "left out: shallow clones: 1, such as shallow" in done.err
    history, _ = read_commits(tmp_path / "out")
    assert history.repositories == ("ada/engine", "mirror")


def test_the_same_clones_give_the_same_bytes(presage: Presage, clones: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = presage("github", "--clones", clones, "--out", tmp_path / name)
        assert done.code == 0
        assert done.out == ""
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_an_export_becomes_tables(presage: Presage, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(
        "repo_name,committed_at\na/b,2017-05-01 00:00:00 UTC\na/b,2017-05-02 00:00:00 UTC\n"
    )
    (tmp_path / "l.csv").write_text("repo_name,language\na/b,Go\n")
    done = presage("github", "--export", tmp_path / "c.csv", tmp_path / "l.csv", "--out", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["counts"]["commits"] == 2
    assert read_commits(tmp_path / "out")[0].repositories == ("a/b",)


def test_the_query_is_printed_to_be_pasted(presage: Presage) -> None:
    assert presage("github", "--query") == (0, QUERY, "")
    assert json.loads(presage("github", "--query", "--json").out) == {"query": QUERY}


def test_a_log_becomes_a_market(presage: Presage, tmp_path: Path) -> None:
    log = log_file(tmp_path / "log.parquet", random_events(0))
    done = presage("marketplace", log, "--out", tmp_path / "out", "--least", 2, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    market, _ = read_market(tmp_path / "out")
    assert result["counts"]["items"] == len(market.items)
    assert result["left_out"]["items with fewer than 2 acquisitions"] == 121 - len(market.items)
    assert "left out: items with fewer than 2 acquisitions" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["github"], "Give one of --clones, --export and --query"),
        (["github", "--clones", ".", "--query"], "Give one of --clones, --export and --query"),
        (["github", "--clones", "HERE"], "Missing option '--out'"),
        (["github", "--clones", "HERE", "--out", "HERE/out"], "no clone with a history"),
        (["github", "--clones", "HERE/none", "--out", "HERE/out"], "the folder cannot be read"),
        (["github", "--clones", "HERE", "--out", "/proc/presage"], "nothing can be written to this folder"),
        (["github", "--export", "HERE/none.csv", "HERE/b.csv", "--out", "HERE/out"], "none.csv is not there"),
        (["marketplace", "HERE/none.csv", "--out", "HERE/out"], "none.csv is not there"),
        (["marketplace", "HERE/none.csv"], "Missing option '--out'"),
        (["marketplace", "HERE/bad.csv", "--out", "HERE/out"], "bad.csv lacks the columns user, kind"),
        (["marketplace", "HERE/bad.csv", "--out", "HERE/out", "--least", "0"], "--least"),
        (["marketplace", "HERE/bad.csv", "--out", "HERE/out", "--prior", "0"], "prior must be"),
        (["nothing"], "No such command"),
    ],
)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(
    presage: Presage, tmp_path: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "bad.csv").write_text("item,at\na,2020-01-01\n")
    done = presage(*(argument.replace("HERE", str(tmp_path)) for argument in arguments))
    assert done.code == 2
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert done.out == ""
    assert list(tmp_path.glob("out/*")) == []


@pytest.mark.parametrize("command", ["github", "marketplace"])
def test_every_command_has_help_that_ends_with_an_example(command: str) -> None:
    shown = CliRunner().invoke(data, [command, "--help"])
    assert shown.exit_code == 0
    assert f"Example: presage data {command}" in shown.output.strip().splitlines()[-1]
