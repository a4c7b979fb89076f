"""Learners that die or hang, in every way and place: each is replaced, and what is learnt is the fold of the log."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.errors import StateFileError
from presage.joining.entries import Entry
from presage.journal import readers
from presage.journal.interface import LogStore
from presage.journal.sqlite import SqliteLog
from presage.journal.writer import Writer
from presage.service import service as core
from presage.service.http.metrics import Metrics
from presage.service.interface import FeedbackRequest
from presage.service.learner import child, client
from presage.service.learner.child import LearnerChild, ended_by
from presage.service.learner.client import DEATHS, HEALTHY, STARTS, Deaths
from presage.service.learner.heartbeat import STATES
from presage.service.learner.shared_parameters import NAME
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from tests.service import broken_learners
from tests.service.running import PATIENCE, until
from tests.service.shop import START, Happening, happenings, request, write_task

KINDS = ["residual-table-shrunk", "mixture", "residual-network"]
BATCH = 7


@contextmanager
def opened(folder: Path, kind: str = "residual-table-shrunk") -> Iterator[LiveService]:
    folder.mkdir(exist_ok=True)
    service = open_service(write_task(folder, kind), folder / "data", Limits(clock="events"), lambda: START)
    with closing(service):
        yield service


def running(service: LiveService) -> LearnerChild:
    """The learner that runs and has caught up."""
    until(lambda: service.numbers().learner.up)
    found = service._parts.learner._child
    assert found
    return found


def play(service: LiveService, happened: list[Happening], trouble: dict[int, Callable[[], None]] | None = None) -> None:
    """Send bulks in step, so that the log does not depend on speed; trouble comes right after bulks by number."""

    async def send() -> None:
        for number, first in enumerate(range(0, len(happened), BATCH)):
            await service.submit([each.event for each in happened[first : first + BATCH]])
            if trouble and number in trouble:
                trouble[number]()
            while not service.caught_up():
                await asyncio.sleep(0.001)

    asyncio.run(send())
    assert not service.failed()


def mapped() -> int:
    """How many learners' memory this process holds, where that can be seen."""
    maps = Path("/proc/self/maps")
    return maps.read_text().count(NAME) if maps.is_file() else 0


def undisturbed(folder: Path, kind: str, happened: list[Happening]) -> tuple[str, int]:
    with opened(folder / "undisturbed", kind) as service:
        play(service, happened)
        return service.digest()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_learners_that_are_killed_change_nothing_in_what_is_learnt(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "SNAPSHOT", 20)  # so that some begin at a snapshot
    happened = happenings(60)
    with opened(tmp_path / "killed", kind) as service:

        def kill(sent: signal.Signals = signal.SIGKILL) -> None:
            os.kill(running(service).pid, sent)

        def kill_two() -> None:
            first = running(service)
            first.kill()
            until(lambda: service._parts.learner._child is not first)
            found = service._parts.learner._child
            assert found
            found.kill()  # while it starts

        play(service, happened, {2: kill, 6: kill_two, 11: lambda: kill(signal.SIGBUS), 20: kill})
        running(service)
        assert service.numbers().learner.deaths == 5
        assert (tmp_path / "killed" / "data" / "snapshots").exists()
        until(lambda: mapped() <= 1)  # the memory of those that died is given back
        numbers = service.numbers()
        assert numbers.lessons_waiting == numbers.counters.waiting
        killed = service.digest()
    assert killed == undisturbed(tmp_path, kind, happened)


@pytest.mark.long
@pytest.mark.parametrize("way", ["torn", "half a message", "hung", "dying parent"])
def test_a_learner_that_breaks_where_it_hurts_is_replaced(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mark = tmp_path / "mark"
    broken_learners.use(monkeypatch, way, mark)
    happened = happenings(40)
    with opened(tmp_path / "broken") as service:
        seen = []

        def look() -> None:
            seen.append(max(float(np.max(part, initial=0)) for part in service._parts.learner.model.parameters))

        play(service, happened, dict.fromkeys(range(40), look))
        assert mark.exists(), "it broke"
        assert service.numbers().learner.deaths == 1
        found = service.digest()
    if left := mark.read_text():
        os.kill(int(left), signal.SIGKILL)
    assert found == undisturbed(tmp_path, "residual-table-shrunk", happened)
    assert ("no work for 4 seconds while folding" if way == "hung" else "killed by SIGKILL") in caplog.text
    assert 77 not in seen, "what was half written is never read"


@pytest.mark.long
@pytest.mark.parametrize("killable", [True, False])
def test_a_stopped_learner_that_goes_on_after_it_was_replaced_publishes_nothing(
    killable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened = happenings(40)
    with opened(tmp_path / "stopped") as service:
        play(service, happened[:28])
        old = running(service)
        if not killable:  # as in a system call that does not return
            monkeypatch.setattr(LearnerChild, "kill", lambda _: None)
        os.kill(old.pid, signal.SIGSTOP)
        play(service, happened[28:56])  # which it finds in its pipe when it goes on
        assert running(service) is not old
        assert "no sign of life" in old.why
        monkeypatch.undo()
        model = service._parts.learner.model
        if not killable:
            os.kill(old.pid, signal.SIGCONT)
        old._process.wait(60)
        assert service._parts.learner.model is model
        play(service, happened[56:])
        assert service.numbers().learner.deaths == 1
        found = service.digest()
    assert found == undisturbed(tmp_path, "residual-table-shrunk", happened)


@pytest.mark.long
def test_who_predicts_while_the_learner_is_replaced_reads_what_was_published(tmp_path: Path) -> None:
    happened = happenings(60)
    with opened(tmp_path) as service:
        play(service, happened[:70])
        held = service._parts.learner.model.parameters
        before = [part.copy() for part in held]
        running(service).kill()
        (made,) = asyncio.run(service.predict([request("during", {"title": "x", "genre": "maps"}, happened[70].at)]))
        assert made.status == "accepted"
        play(service, happened[70:])
        running(service)
        assert all(np.array_equal(*pair) for pair in zip(held, before, strict=True)), "the memory of the dead stays"


@pytest.mark.long
def test_the_numbers_are_true_while_no_learner_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "LAG", 12)
    happened = happenings(60)
    with opened(tmp_path) as service:
        play(service, happened[:70])
        running(service)
        model, mark = service.numbers().model_position, tmp_path / "mark"
        broken_learners.use(monkeypatch, "held", mark)
        running(service).kill()
        until(lambda: not service.numbers().learner.up)
        asked = [request(f"new-{number}", {"title": "x", "genre": "maps"}, happened[70].at) for number in range(20)]
        asyncio.run(service.predict(asked))
        first = service.numbers()
        assert first.model_position == model
        assert not service.ready(), "predictions and feedback are taken"
        feedback = [FeedbackRequest(each.id, "proxy", "half", happened[70].at) for each in asked]
        asyncio.run(service.feed(feedback[:10]))
        until(lambda: service.numbers().lessons_waiting == first.lessons_waiting + 10)
        page = Metrics(service).exposition().decode()
        assert "\npresage_learner_up 0.0\n" in page
        numbers = service.numbers()
        assert numbers.log_entries > model
        assert f"\npresage_model_age_entries {float(numbers.log_entries - model)}\n" in page
        states = [line for line in page.splitlines() if line.startswith("presage_learner_state{")]
        assert len(states) == len(STATES)
        assert [line.partition('"')[2].partition('"')[0] for line in states if line.endswith(" 1.0")] in (
            ["starting"],
            ["replaced"],
        )
        asyncio.run(service.feed(feedback[10:]))
        until(lambda: service.numbers().lessons_waiting == first.lessons_waiting + 20)
        assert "the learner is behind" in service.ready(), "predictions are refused"
        mark.with_suffix(".go").touch()
        until(lambda: service.numbers().learner.up)
        assert not service.ready()
        assert service.numbers().model_position > model
        assert service.numbers().learner.deaths == 1
        assert "\npresage_learner_up 1.0\n" in Metrics(service).exposition().decode()


@pytest.mark.long
def test_others_get_the_log_between_the_pages_that_a_learner_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as service:
        play(service, happenings(60))
        learner = running(service)
        pages, reads = [0], SqliteLog.read
        ask = Writer.ask

        def read(store: SqliteLog, after: int, limit: int) -> list[Entry]:
            pages[-1] += 1
            return reads(store, after, limit)

        def asked(writer: Writer, question: Callable[[LogStore], Any]) -> "Future[Any]":
            def counted(store: LogStore) -> Any:
                pages.append(0)
                return question(store)

            return ask(writer, counted)

        monkeypatch.setattr(SqliteLog, "read", read)
        monkeypatch.setattr(Writer, "ask", asked)
        monkeypatch.setattr(readers, "PAGE", 10)
        learner.kill()
        until(lambda: service._parts.learner._child is not learner)
        running(service)
        assert sum(pages) > service.numbers().log_entries // 10
        assert max(pages) == 1


@pytest.mark.long
def test_a_question_is_answered_by_the_learner_that_replaces_the_one_asked(tmp_path: Path) -> None:
    happened = happenings(30)
    with opened(tmp_path) as service:
        play(service, happened)
        os.kill(running(service).pid, signal.SIGSTOP)
        found = tuple(service._parts.learner._ask(["digest"]).result(PATIENCE))
        assert service.numbers().learner.deaths == 1
    assert found == undisturbed(tmp_path, "residual-table-shrunk", happened)


@pytest.mark.long
@pytest.mark.parametrize("way", ["ending", "wrong words"])
def test_a_service_whose_learners_all_end_early_says_why_and_ends(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deaths, "pause", 0)
    mark = tmp_path / "mark"
    with opened(tmp_path) as service:
        broken_learners.use(monkeypatch, way, mark / "never made")
        running(service).kill()
        until(service.failed)
        assert f"{STARTS} learners in a row ended before they had caught up" in service.failed()
        assert service.ready() == service.failed()
        status = service.numbers().learner
        assert (status.up, status.doing, status.deaths) == (False, "stopped", STARTS + 1)
        with pytest.raises(StateFileError, match="the learner has stopped"):
            service.digest()


@pytest.mark.long
def test_a_service_that_finds_no_learner_does_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deaths, "pause", 0)
    broken_learners.use(monkeypatch, "ending", tmp_path / "never")
    with pytest.raises(StateFileError, match="exit code 7"), opened(tmp_path):
        pass
    monkeypatch.undo()
    with opened(tmp_path):
        pass


def test_deaths_are_forgotten_after_a_long_life_and_not_after_a_short_one() -> None:
    deaths = Deaths()
    for _ in range(10 * DEATHS):
        assert not deaths.count(caught_up=True, beats=HEALTHY, why="tired")
        assert deaths.pause == 0
    found = [deaths.count(caught_up=True, beats=1, why="tired") for _ in range(DEATHS - 1)]
    assert [why for why in found if why] == [f"{DEATHS} learners in a row ended, the last one: tired"]
    deaths = Deaths()
    pauses = []
    for _ in range(STARTS - 1):
        assert not deaths.count(caught_up=False, beats=10 * HEALTHY, why="tired")
        pauses.append(deaths.pause)
    assert pauses == sorted(set(pauses))
    assert deaths.count(caught_up=False, beats=0, why="tired")


@pytest.mark.long
@pytest.mark.parametrize("trouble", ["stopped", "slow to save", "held"])
def test_closing_waits_for_no_learner(trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit it would wait for ever: nothing of this ends by itself."""
    monkeypatch.setattr(client, "CLOSING", 2.0)
    mark = tmp_path / "mark"
    if trouble == "slow to save":
        broken_learners.use(monkeypatch, trouble, mark)
    with opened(tmp_path) as service:
        play(service, happenings(30))
        learner = running(service)
        if trouble == "stopped":
            os.kill(learner.pid, signal.SIGSTOP)
        if trouble == "held":
            broken_learners.use(monkeypatch, trouble, mark)
            learner.kill()
            until(lambda: service._parts.learner._child is not learner)
        keeper = service._parts.learner._keeper
        last = service._parts.learner._child
    assert mark.exists() == (trouble == "slow to save")
    assert not keeper.is_alive()
    assert last
    assert last._process.poll() is not None, "it is gone"


def test_the_words_for_an_end() -> None:
    assert ended_by(None) == "it closed its pipe"
    assert ended_by(-70) == "killed by signal 70"
    assert ended_by(-signal.SIGBUS) == "killed by SIGBUS"
    assert sys.executable in child.COMMAND
