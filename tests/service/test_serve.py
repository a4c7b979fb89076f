"""`presage serve` as people type it."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from presage import Client
from presage.cli.serve import serve_command
from presage.errors import UnansweredError
from presage.journal.sqlite import SqliteLog
from presage.service.folders import task_digest
from presage.service.limits import limits
from tests.cli.typed import Presage
from tests.service.fake import FEATURES, TASK
from tests.service.running import until

KILLS = 4


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    (tmp_path / "books.toml").write_text(TASK)
    (tmp_path / "short").write_text("short\n")
    (tmp_path / "token").write_text("right-right-right\n")
    (tmp_path / "open").write_text("right-right-right\n")
    for name, mode in (("short", 0o600), ("token", 0o640), ("open", 0o644)):
        (tmp_path / name).chmod(mode)
    monkeypatch.chdir(tmp_path)
    return Presage(monkeypatch, capsys, "serve", "--task", "books.toml", "--data", "data")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0", "--allowed-host", "*"], "this machine only"),
        (["--host", "::", "--allowed-host", "*"], "this machine only"),
        (["--host", "0.0.0.0", "--token-file", "token"], "needs its host names"),
        (["--host", "no.such.host.invalid"], "host is unknown"),
        (["--host", "192.0.2.1", "--token-file", "token"], "cannot be used"),
        (["--token-file", "short"], "has no valid token"),
        (["--token-file", "nowhere"], "cannot be read"),
        (["--token-file", "open"], "found 'open, mode 0644'; run chmod 600 open"),
        (["--allow-origin", "shop.example"], "not the origin of a page"),
        (["--proxy", "nginx"], "not the address of a proxy"),
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


class Process:
    """`presage serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-c", "from presage.cli import main; main()", "serve", "--port", "0"]
        command += ["--task", "books.toml", "--data", "data"]
        self.process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr
        told = re.search(r"http://\S+", self.process.stderr.readline())
        assert told
        self.url = told[0]

    def learners(self) -> list[int]:
        """The ids of its learners: one, or none while it is replaced."""
        lists = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        with suppress(OSError):  # it, or one of its threads, has ended
            return [int(child) for children in lists for child in children.read_text().split()]
        return []

    def end(self, sent: signal.Signals) -> int:
        """Its exit code after a signal; a process that ends by itself has nothing to report."""
        self.process.send_signal(sent)
        code = self.process.wait(60)
        assert self.process.stderr
        if code == 0:
            *rest, last = self.process.stderr.read().splitlines()
            assert all(re.fullmatch(r"(Listening on|Log:) .*", line) for line in rest)
            assert re.fullmatch(r"Stopped\. Log: [\d,]+ entries, chain [0-9a-f]{64}", last)
        self.process.stderr.close()
        return code


@pytest.mark.long
def test_a_service_keeps_what_it_was_told_when_it_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "books.toml").write_text(TASK)
    statuses = []
    for _ in range(2):
        process = Process(tmp_path)
        with Client(process.url, timeout=60) as client:
            statuses.append(client.predict("emma", FEATURES).status)
            statuses.append(client.outcome("emma", "left").status)
        assert process.end(signal.SIGTERM) == 0
    assert statuses == ["accepted", "accepted", "repeated", "repeated"]


@pytest.mark.long
def test_a_service_ends_with_its_learner_stopped_and_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "books.toml").write_text(TASK)
    process = Process(tmp_path)
    with Client(process.url, timeout=60) as client:
        client.predict("emma", FEATURES)
        client.outcome("emma", "left")
    (learner,) = process.learners()
    os.kill(learner, signal.SIGSTOP)
    assert process.end(signal.SIGTERM) == 0
    until(lambda: not Path(f"/proc/{learner}").exists())


@pytest.mark.long
def test_a_learner_ends_when_its_service_was_killed(tmp_path: Path) -> None:
    (tmp_path / "books.toml").write_text(TASK)
    process = Process(tmp_path)
    (learner,) = process.learners()
    process.end(signal.SIGKILL)
    until(lambda: not Path(f"/proc/{learner}").exists())


@pytest.mark.long
def test_a_service_whose_learners_are_killed_again_and_again_ends_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "books.toml").write_text(TASK)
    process = Process(tmp_path)
    killed = set()

    def end_learners() -> bool:
        for learner in process.learners():
            with suppress(ProcessLookupError):
                os.kill(learner, signal.SIGKILL)
            killed.add(learner)
        return process.process.poll() is not None

    until(end_learners)
    assert process.process.returncode == 3
    assert process.process.stderr
    told = process.process.stderr.read().splitlines()
    process.process.stderr.close()
    assert "killed by SIGKILL" in told[0]
    assert "no learner runs any more" in told[-1]
    assert len(killed) > 1


def post_without_end(client: Client, name: str, acknowledged: list[str], killer: threading.Timer) -> None:
    for number in itertools.count():
        if number == 3:
            killer.start()
        id = f"{name}-{number}"
        client.predict(id, FEATURES)
        client.outcome(id, "left")
        acknowledged.append(id)


@pytest.mark.long
def test_a_service_killed_under_load_keeps_all_that_it_answered(tmp_path: Path, serve: Presage) -> None:
    """The whole service: HTTP, the log, and a learner that loses its parent."""
    acknowledged: list[str] = []
    for turn in range(KILLS):
        process = Process(tmp_path)
        killer = threading.Timer(0.2 + 0.1 * turn, process.end, (signal.SIGKILL,))
        with Client(process.url, tries=1, timeout=60) as client:
            for old in acknowledged[-20:]:
                assert client.predict(old, FEATURES).status == "repeated"
                assert client.outcome(old, "left").status == "repeated"
            with pytest.raises(UnansweredError):
                post_without_end(client, f"{turn}", acknowledged, killer)
        killer.join()
    serve.words = ("log",)
    assert serve("verify", "--data", "data").code == 0
    folded = serve("replay", "--data", "data", "--json")
    assert folded.code == 0
    assert len(acknowledged) > KILLS
    assert json.loads(folded.out)["position"] > 0
    store = SqliteLog(tmp_path / "data", task_digest(tmp_path / "data"))
    found = store.find(acknowledged)
    store.close()
    assert all(found[id].predicted and found[id].outcome_entry for id in acknowledged)
