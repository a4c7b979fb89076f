"""Power cuts, on two file systems; without syncing, the same cuts lose data, so they are real."""

from collections.abc import Callable
from pathlib import Path

import pytest

from presage.errors import StoreFailedError
from tests.faults.checker import violations
from tests.faults.counts import COUNTS
from tests.faults.ledger import Asked
from tests.faults.power import disk
from tests.faults.processes import module, run_for_json
from tests.faults.script import HORIZONS, asked, play
from tests.faults.tracing import killed_before

Record = Callable[[str, object], None]
CONTROLS = ("commits not synced", "the marker not synced")
"""Planted bugs that only a power cut shows."""


@pytest.mark.long
def test_nothing_acknowledged_is_lost_by_a_power_cut(file_system: str, tmp_path: Path, record_property: Record) -> None:
    found = run_for_json(module("tests.faults.power", file_system, tmp_path, "--cuts", COUNTS.cuts))
    assert found["violations"] == []
    assert found["acknowledged"] > 10 * COUNTS.cuts, "there was hardly any load"
    record_property(
        f"power cuts on {file_system}", f"{found['rounds']} cuts, {found['acknowledged']} acknowledged, 0 lost"
    )


@pytest.mark.long
@pytest.mark.parametrize("bug", CONTROLS)
def test_a_power_cut_without_syncing_is_noticed(
    file_system: str, bug: str, tmp_path: Path, record_property: Record
) -> None:
    """The control: `synchronous = NORMAL` loses what was acknowledged, and both the checker and the log say so."""
    found = run_for_json(module("tests.faults.power", file_system, tmp_path, "--cuts", 10, "--bug", bug))
    assert found["violations"]
    record_property(f"control on {file_system}: {bug}", found["violations"][0][:100])


def killed_resent_cut(kind: str, place: Path, sync: int) -> list[str]:
    """What is broken if a commit is killed before it is synced, sent again, answered, and then the power fails."""
    with disk(kind, place) as made:
        folder = made.folder / "log"
        requests = asked(killed_before(("fdatasync", sync), module("tests.faults.script", folder)))
        course = play(folder)
        for number, request in enumerate(requests):
            requests[number] = Asked(request.events, "ok", next(course))
        made.cut()
        with pytest.raises(StoreFailedError):
            course.close()
        made.restart()
        return violations(folder, requests, HORIZONS)


@pytest.mark.long
@pytest.mark.usefixtures("strace")
def test_what_a_kill_left_unsynced_is_synced_before_it_is_answered_for(file_system: str, tmp_path: Path) -> None:
    for sync in range(21, 27):
        assert killed_resent_cut(file_system, tmp_path, sync) == [], sync
