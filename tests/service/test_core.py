"""The service on a real log with a real learner: what it learnt is a fold over the log, however often it stopped."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from presage.errors import OtherTaskError
from presage.service.core import LiveService, open_service
from presage.service.limits import Limits
from presage.service.messages import Answered, Asked, Done, Fed
from tests.service.shop import START, Happening, happenings, write_task

EVENTS = Limits(clock="events")


def opened(folder: Path, kind: str = "mixture") -> LiveService:
    return open_service(write_task(folder, kind), folder / "data", EVENTS, lambda: START)


def live(service: LiveService, happened: Sequence[Happening], batch: int = 7) -> list[Answered | Done]:
    """What became of each event, sent in small bulks; in between the learner gets a moment to publish."""

    async def send() -> list[Answered | Done]:
        found: list[Answered | Done] = []
        for first in range(0, len(happened), batch):
            found += await service.submit([each.event for each in happened[first : first + batch]])
            await asyncio.sleep(0.002)
        return found

    return asyncio.run(send())


def settled(service: LiveService) -> tuple[str, int]:
    """The hash of what was learnt once nothing more is to be learnt at the last position of the log."""
    return service.digest()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["residual-table-shrunk", "mixture"])
def test_what_was_learnt_is_the_fold_of_the_log(kind: str, tmp_path: Path) -> None:
    happened = happenings(400)
    service = opened(tmp_path, kind)
    answered = live(service, happened)
    lived = settled(service)
    service.close()
    assert lived[1] > 0
    assert len({each.model for each in answered if isinstance(each, Answered)}) > 10, "it learns as it goes"
    resumed = opened(tmp_path, kind)
    assert settled(resumed) == lived
    resumed.close()
    shutil.rmtree(tmp_path / "data" / "snapshots")
    folded = opened(tmp_path, kind)
    assert settled(folded) == lived
    folded.close()


@pytest.mark.long
def test_stopping_in_between_changes_nothing_that_is_learnt_later(tmp_path: Path) -> None:
    happened = happenings(300)
    (tmp_path / "one").mkdir()
    service = opened(tmp_path / "one")
    live(service, happened[:400])
    service.close()
    service = opened(tmp_path / "one")
    live(service, happened[400:])
    lived = settled(service)
    service.close()
    shutil.rmtree(tmp_path / "one" / "data" / "snapshots")
    folded = opened(tmp_path / "one")
    assert settled(folded) == lived
    folded.close()


@pytest.mark.long
def test_a_resend_is_answered_as_before_and_another_value_is_a_conflict(tmp_path: Path) -> None:
    service = opened(tmp_path)
    first = Asked("a", b'{"title":"x","genre":"maps"}', {"title": "x", "genre": "maps"}, START)
    other = Asked("a", b'{"title":"y","genre":"maps"}', {"title": "y", "genre": "maps"}, START)

    async def talk() -> None:
        one, again, conflict = [(await service.predict([each]))[0] for each in (first, first, other)]
        assert (one.done.status, again.done.status, conflict.done.status) == ("accepted", "repeated", "conflict")
        assert np.array_equal(one.probabilities, again.probabilities)
        assert again.done.seq == one.done.seq
        feedback = [Fed("a", "proxy", value, START) for value in ("half", "half", "begun")]
        assert [(await service.feed([each]))[0].status for each in feedback] == ["accepted", "repeated", "conflict"]
        looked = await service.look_up("a")
        assert looked is not None
        assert (looked.proxy, looked.proxy_bin, looked.outcome_bin) == ("half", "trained", "awaited")
        assert await service.look_up("b") is None

    asyncio.run(talk())
    service.close()


@pytest.mark.long
def test_a_folder_of_another_task_is_refused_with_the_difference(tmp_path: Path) -> None:
    opened(tmp_path).close()
    file = write_task(tmp_path)
    file.write_text(file.read_text().replace("30 days", "40 days"))
    with pytest.raises(OtherTaskError, match="40 days"):
        open_service(file, tmp_path / "data", EVENTS, lambda: START)
