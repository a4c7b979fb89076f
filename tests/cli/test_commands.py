"""Commands as people type them: output, errors, exit codes, and nothing half-written."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import presage as presage_package
from presage.cli.entry import COMMANDS, cli
from presage.cli.output import changed
from presage.errors import OutputError, SettingError
from presage.experiments.claims import Claim, Verdict
from presage.experiments.github.settings import PAPER as GITHUB_PAPER
from presage.experiments.marketplace.settings import TUNED as MARKETPLACE_TUNED
from presage.experiments.report import Report, Seconds
from presage.experiments.synthetic.settings import PAPER, SMOKE
from presage.files import MARK, write_together
from tests.cli.typed import Presage

SMALL = ["--set", "rounds=120", "--set", "delay=12", "--set", "mixes=5", "--set", "delays=6,12", "--set", "sizes=5,10"]
SMALL += ["--set", "growth_rounds=120", "--set", "scales=1,2", "--set", "scaled_rounds=60"]
REPORTED = {"experiment", "settings", "seeds", "seconds", "results", "claims", "claims_by_seed"}
SHOP = ["--set", "days=40", "--set", "purchases=40", "--set", "outcome_days=15"]


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys)


def started(*arguments: str) -> subprocess.CompletedProcess[str]:
    """How `presage` ends in a process of its own."""
    command = [sys.executable, "-c", "from presage.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.long
def test_reproduce_prints_one_json_object_and_keeps_everything_together(tmp_path: Path) -> None:
    done = started("reproduce", "synthetic", "--trials", "8", "--seed", "3", "--json", "--out", str(tmp_path), *SMALL)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert set(report) == REPORTED
    assert report["settings"]["trials"] == 8
    assert set(report["seconds"]) == {"compile", "run"}
    assert json.loads((tmp_path / "results.json").read_text())["results"] == report["results"]
    kept = sorted(path.suffix for path in tmp_path.iterdir() if path.name != MARK)
    assert kept == [".csv", ".json", ".png", ".png", ".svg", ".svg"]
    assert "S7" in done.stderr


GITHUB = ["weeks=2.5", "round_minutes=60", "switch_week=0.7", "proxy_days=1", "outcome_days=3", "buffer=60", "start=16"]
GITHUB += ["batch=16", "oracle_steps=200", "commit_days=3", "history_days=1,7,30,90", "languages=4"]
GITHUB += ["world.repositories=40", "world.years=1"]
MARKET = ["days=4", "items=12", "items_a_day=4", "round_seconds=600", "proxy_days=1", "outcome_days=2", "buffer=60"]
MARKET += ["start=16", "every=20", "steps=4", "batch=16", "oracle_steps=100", "world.violation=0.5"]


def setting(*changes: str) -> list[str]:
    return [word for change in changes for word in ("--set", change)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("experiment", "changes", "claims"),
    [
        ("github", [*GITHUB, "modes=B,A", "outcome_least=5"], ["G1", "G2", "G3", "G4", "G5", "X1"]),
        ("marketplace", MARKET, ["M1", "M2", "M3", "M4", "M5", "X1", "X1"]),
    ],
)
def test_experiments_run_from_settings_alone(
    experiment: str, changes: list[str], claims: list[str], tmp_path: Path, presage: Presage
) -> None:
    done = presage("reproduce", experiment, "--trials", "4", "--json", "--out", tmp_path, *setting(*changes))
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert set(report) == REPORTED
    assert [claim["id"] for claim in report["claims"]] == claims
    assert json.loads((tmp_path / "results.json").read_text())["results"] == report["results"]
    assert report["results"]["source"].startswith("embedded")


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.FAILS, 1), (Verdict.CANNOT_TELL, 0), (Verdict.HOLDS, 0)])
@pytest.mark.parametrize("experiment", ["synthetic", "github", "marketplace"])
def test_check_exits_with_1_if_a_claim_fails_and_only_then(
    experiment: str, verdict: Verdict, code: int, presage: Presage, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [Claim("S1", "one that holds", Verdict.HOLDS, ()), Claim("S2", "another", verdict, ())]
    by_seed = {0: claims[:1], 1: [Claim("S2", "another", Verdict.FAILS, ())]}
    report = Report(experiment, SMOKE, Seconds(0.0, 0.0), {}, claims, (), by_seed)
    monkeypatch.setattr(f"presage.cli.runs.{experiment}.run", lambda asked: (report, {}))
    checked = presage("reproduce", experiment, "--check", "--json")
    assert checked.code == code
    assert [claim["verdict"] for claim in json.loads(checked.out)["claims"]] == ["holds", verdict.value]
    assert verdict.value in checked.err
    assert presage("reproduce", experiment).code == 0  # nobody asked
    if experiment == "synthetic":  # one of the three
        held = Report("github", SMOKE, Seconds(0.0, 0.0), {}, claims[:1], (), {})
        monkeypatch.setattr("presage.cli.runs.github.run", lambda asked: (held, {}))
        monkeypatch.setattr("presage.cli.runs.marketplace.run", lambda asked: (held, {}))
        assert presage("reproduce", "all", "--check").code == code


@pytest.mark.parametrize("experiment", ["synthetic", "github", "marketplace"])
@pytest.mark.parametrize(("words", "seeds"), [("--seeds 3-5,9", (3, 4, 5, 9)), ("--seed 4", (4,)), ("", (0,))])
def test_seeds_and_settings_reach_the_experiment(
    experiment: str, words: str, seeds: tuple[int, ...], presage: Presage, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[Any] = []

    def reproduce(settings: Any, *more: Any) -> tuple[Report, dict[str, bytes]]:
        got.extend((settings, more[-1]))
        return Report(experiment, settings, Seconds(0.0, 0.0), {}, [], (), {}), {}

    where = {"synthetic": "experiments.synthetic.experiment"}.get(experiment, f"cli.runs.{experiment}")
    monkeypatch.setattr(f"presage.{where}.reproduce_{experiment}", reproduce)
    small = {"github": ["--set", "world.repositories=3"], "synthetic": ["--set", "noise=0.2"]}.get(experiment, [])
    assert presage("reproduce", experiment, "--trials", "7", *words.split(), *small).code == 0
    settings, given = got
    assert tuple(given) == seeds
    expected: dict[str, Any] = {
        "synthetic": replace(PAPER, noise=0.2),
        "github": GITHUB_PAPER,
        "marketplace": MARKETPLACE_TUNED,
    }
    assert settings == replace(expected[experiment], trials=7, seed=seeds[0])


@pytest.mark.long
def test_tune_keeps_a_record_and_names_the_best(tmp_path: Path, presage: Presage) -> None:
    values = ["--learning-rates", "0.1,0.3", "--l2s", "0.001", "--draws", "2"]
    small = [change for change in MARKET if not change.startswith("world.")]
    done = presage("tune", "marketplace", "--trials", "2", "--json", "--out", tmp_path, *values, *setting(*small))
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert json.loads((tmp_path / "tuning-marketplace.json").read_text()) == result
    assert [one["step"] for one in result["tried"]] == [1, 1, 2, 2]
    assert result["best"]["learning_rate"] in (0.1, 0.3)
    assert "Best: learning_rate" in done.err


@pytest.mark.long
def test_demo_ends_with_a_table_a_sentence_and_a_page(tmp_path: Path, presage: Presage) -> None:
    done = presage("demo", "--seed", "1", "--out", tmp_path, "--json", *SHOP)
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert set(result["forecasters"]) == {"marginal", "direct", "factored", "residual", "mixture"}
    assert result["verdict"] in " ".join(done.err.split())
    page = Path(result["page"]).read_text()
    assert "vegaEmbed(" in page
    assert 'src="http' not in page
    assert '<link rel="stylesheet"' not in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reproduce", "nothing"], "'nothing' is not"),
        (["reproduce", "synthetic", "--trials", "0"], "--trials"),
        (["reproduce", "synthetic", "--settings", "tuned"], "no tuned settings"),
        (["reproduce", "github", "--data", "nowhere"], "nowhere"),
        (["reproduce", "marketplace", "--data", "nowhere"], "nowhere"),
        (["reproduce", "github", "--set", "modes=A,A"], "modes must be A and B"),
        (["reproduce", "github", "--set", "world.repositories=x"], "repositories"),
        (["reproduce", "marketplace", "--set", "days=40"], "cover fewer days"),
        (["reproduce", "all", "--set", "delay=3"], "name the experiment"),
        (["tune", "github", "--learning-rates", "fast"], "list of numbers"),
        (["reproduce", "synthetic", "--trials", "-5"], "--trials"),
        (["reproduce", "synthetic", "--seed", "-1"], "--seed"),
        (["reproduce", "synthetic", "--seeds", "5-3"], "not a list of seeds"),
        (["reproduce", "synthetic", "--seeds", "0-5000"], "too many"),
        (["reproduce", "synthetic", "--seed", "1", "--seeds", "0-3"], "cannot be combined"),
        (["reproduce", "synthetic", "--set", "delay"], "name=value"),
        (["reproduce", "synthetic", "--set", "delay=x"], "cannot be read as int"),
        (["reproduce", "synthetic", "--set", "noise=7"], "share from 0 to 1"),
        (["demo", "--set", "proxy_days=99"], "proxy_days"),
        (["demo", "--out", "/proc/presage"], "nothing can be written to this folder"),
        (["unknown"], "No such command"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], words: str, presage: Presage) -> None:
    done = presage(*arguments)
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1
    assert words in done.err
    assert done.out == ""


def test_bad_input_ends_a_process_of_its_own_in_the_same_way() -> None:
    done = started("reproduce", "github", "--set", "modes=A,A")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "modes must be A and B" in done.stderr
    assert done.stdout == ""


def test_every_command_has_help_that_ends_with_an_example() -> None:
    for name in COMMANDS:
        shown = CliRunner().invoke(cli, [name, "--help"])
        assert shown.exit_code == 0
        assert f"Example: presage {name}" in shown.output.strip().splitlines()[-1]
        assert "\\b" not in shown.output


INTERRUPTED = """
import os, signal, threading, time

def interrupt():
    while not any(thread.name.startswith("ThreadPool") for thread in threading.enumerate()):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt, daemon=True).start()
from presage.cli import main
main()
"""
"""Interrupted as soon as work is shared out among cores. A shell that runs the tests in the background may have told
its children to ignore interrupts."""


@pytest.mark.long
def test_an_interrupt_ends_quietly_with_130() -> None:
    command = [sys.executable, "-c", INTERRUPTED, "reproduce", "synthetic", "--trials", "200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_together(tmp_path, {"a": b"old"})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("presage.files.os.fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        write_together(tmp_path, {"a": b"new", "b": b"new"})
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="nothing can be written"):
        write_together(tmp_path / "file" / "deep", {"a": b""})


def test_settings_change_by_name() -> None:
    assert changed(SMOKE, ("noise=0.2", "sizes=3,4")).sizes == (3, 4)
    for wrong in ("delay=1,2", "seed=1.5", "nothing=1", "useful="):
        with pytest.raises(SettingError):
            changed(SMOKE, (wrong,))


def test_help_does_not_wait_for_jax() -> None:
    code = "import sys; from presage.cli.entry import cli; cli(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert " jax " not in done.stdout
    assert all(name in done.stdout for name in COMMANDS)


def test_every_public_name_is_there() -> None:
    assert all(getattr(presage_package, name) for name in presage_package.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        presage_package.nothing  # noqa: B018
