"""Learners that are killed and stopped at random instants under load: what is learnt is the fold of the log."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from presage.journal.sqlite import SqliteLog
from presage.service.folders import folder_forecaster, horizons_of, open_folder
from presage.service.learner import child, client
from presage.service.learner.snapshots import fold_log
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from tests.faults.counts import COUNTS
from tests.service.running import until
from tests.service.shop import START, Happening, happenings, write_task

Record = Callable[[str, object], None]
EVENTS = 2000
"""Events for each learner that is killed."""


async def load(service: LiveService, happened: list[Happening], random: Random, over: asyncio.Event) -> None:
    """Send bulks until all is sent and no learner is to be killed any more."""
    while happened:
        some = [happened.pop().event for _ in range(min(len(happened), random.randint(1, 40)))]
        await service.submit(some)
        await asyncio.sleep(0 if over.is_set() else random.uniform(0, 0.05))


async def kill(service: LiveService, random: Random, kills: int, over: asyncio.Event) -> None:
    """End learners one after another, some of them before they have caught up."""
    for number in range(kills):
        while number % 4 and not service.numbers().learner.up:
            await asyncio.sleep(0.01)
        await asyncio.sleep(random.uniform(0, 0.5))
        sent = random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGBUS, signal.SIGSTOP])
        if found := service._parts.learner._child:
            with suppress(ProcessLookupError):
                os.kill(found.pid, sent)
        while service.numbers().learner.deaths <= number:
            await asyncio.sleep(0.01)
    over.set()


@pytest.mark.long
def test_learners_that_die_under_load_end_in_the_fold_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
) -> None:
    monkeypatch.setattr(child, "SNAPSHOT", 300)
    monkeypatch.setattr(client, "DEATHS", 10 * COUNTS.learners)
    random, kills = Random(0), COUNTS.learners
    service = open_service(write_task(tmp_path), tmp_path / "data", Limits(clock="events"), lambda: START)
    happened = happenings(EVENTS * kills // 3, days=600)[::-1]

    async def talk() -> None:
        over = asyncio.Event()
        await asyncio.gather(
            *(load(service, happened, random, over) for _ in range(4)), kill(service, random, kills, over)
        )

    asyncio.run(talk())
    until(lambda: service.caught_up() and service.numbers().learner.up)
    assert not service.failed()
    deaths, lessons = service.numbers().learner.deaths, service.numbers().counters
    state, position = service.digest()
    service.close()
    task, digest = open_folder(tmp_path / "books.toml", tmp_path / "data")
    store = SqliteLog(tmp_path / "data", digest)
    found = fold_log(
        folder_forecaster(tmp_path / "data"), store, horizons_of(task), tmp_path / "data" / "snapshots", lambda _: None
    )
    store.close()
    assert (found.state, found.position) == (state, position)
    assert all(found.snapshots.values())
    assert deaths == kills
    learnt = lessons.learnt_proxies + lessons.learnt_outcomes
    record_property("learners killed or stopped under load", f"{deaths} deaths, {learnt} lessons, each learned once")
