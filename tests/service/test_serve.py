"""`presage serve` as people type it."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from presage import Client
from presage.cli.serve import serve_command
from presage.service.limits import limits
from tests.cli.typed import Presage
from tests.service.fake import FEATURES, TASK


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    (tmp_path / "books.toml").write_text(TASK)
    (tmp_path / "short").write_text("short\n")
    (tmp_path / "token").write_text("right-right-right\n")
    monkeypatch.chdir(tmp_path)
    return Presage(monkeypatch, capsys, "serve", "--task", "books.toml", "--data", "data")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0", "--allowed-host", "*"], "only this machine"),
        (["--host", "::", "--allowed-host", "*"], "only this machine"),
        (["--host", "0.0.0.0", "--token-file", "token"], "needs to know its names"),
        (["--host", "no.such.host.invalid"], "host is unknown"),
        (["--host", "192.0.2.1", "--token-file", "token"], "cannot be used"),
        (["--token-file", "short"], "does not hold a token"),
        (["--token-file", "nowhere"], "cannot be read"),
        (["--task", "nowhere.toml"], "nowhere.toml"),
        (["--body-bytes", "0"], "body_bytes"),
        (["--request-seconds", "-1"], "request_seconds"),
        (["--request-seconds", "nan"], "request_seconds"),
        (["--clock", "sundial"], "clock"),
        (["--port", "70000"], "--port"),
        (["--token", "right-right-right"], "--token"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(serve: Presage, arguments: list[str], words: str) -> None:
    done = serve(*arguments)
    assert done.code == 2
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not Path("data").exists()


def test_every_limit_is_an_option_with_its_words() -> None:
    options = {option.name: option for option in serve_command.params}
    for limit in limits():
        help = getattr(options[limit.name], "help", "")
        assert help.startswith(limit.about)


@pytest.mark.long
def test_a_service_keeps_what_it_was_told_when_it_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "books.toml").write_text(TASK)
    command = [sys.executable, "-c", "from presage.cli import main; main()", "serve", "--port", "0"]
    command += ["--task", "books.toml", "--data", "data"]
    statuses = []
    for _ in range(2):
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert process.stderr
        told = re.search(r"http://\S+", process.stderr.readline())
        assert told
        with Client(told[0]) as client:
            statuses.append(client.predict("emma", FEATURES).status)
            statuses.append(client.outcome("emma", "left").status)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        process.stderr.close()
    assert statuses == ["accepted", "accepted", "repeated", "repeated"]
