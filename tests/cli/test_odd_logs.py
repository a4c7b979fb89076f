"""Every odd log is read with the right counts, or refused in one line with nothing written, by each command."""

import json
from pathlib import Path

import pytest

from tests.cli.typed import Done, Presage
from tests.logs.odd_logs import FOLDER, ODD_LOGS, write

READ = [name for name, case in ODD_LOGS.items() if isinstance(case.says, int)]
REFUSED = [name for name in ODD_LOGS if name not in READ]


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys)


def typed(presage: Presage, command: str, log: Path, task: Path, *more: str) -> Done:
    if command == "task check":
        return presage("task", "check", task, "--log", log, "--json", *more)
    return presage(command, log, "--task", task, "--json", "--out", task.parent / "out", *more)


@pytest.mark.parametrize("name", REFUSED)
def test_a_log_that_cannot_be_right_is_refused_in_one_line(presage: Presage, tmp_path: Path, name: str) -> None:
    case, log = ODD_LOGS[name], write(name, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for command in ("task check", "proxies", "backtest"):
        done = typed(presage, command, log, tmp_path / "task.toml", *case.flags)
        assert done.err == f"presage: {case.says}\n".replace(FOLDER, str(tmp_path))
        assert (done.code, done.out) == (2, "")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", READ)
def test_an_odd_log_is_read_and_what_is_left_out_is_counted(presage: Presage, tmp_path: Path, name: str) -> None:
    case, log = ODD_LOGS[name], write(name, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = typed(presage, "task check", log, tmp_path / "task.toml", *case.flags)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["rows"] == case.says
    assert {reason: count for reason, count in found["left_out"].items() if count} == case.left_out
    assert tuple(warning["kind"] for warning in found["warnings"]) == case.warnings
    assert "Traceback" not in done.err
    assert case.told in done.err.splitlines() or not case.told
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("command", ["proxies", "backtest"])
@pytest.mark.parametrize("name", READ)
def test_an_odd_log_that_is_read_is_judged(presage: Presage, tmp_path: Path, name: str, command: str) -> None:
    case, log = ODD_LOGS[name], write(name, tmp_path)
    more = ("--forecasters", "marginal") if command == "backtest" else ()
    done = typed(presage, command, log, tmp_path / "task.toml", *case.flags, *more)
    assert "Traceback" not in done.err
    if command == "proxies" and "hardly ever known together" in done.err:  # it is read, but too short to judge by
        return
    assert done.code == 0, done.err
    json.loads(done.out)
    for reason, count in case.left_out.items():
        assert any(f"{reason}: {count}" in line for line in done.err.splitlines())
