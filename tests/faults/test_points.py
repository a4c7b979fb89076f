"""kill -9 at chosen places: on the threshold of a write or a sync, anywhere in a fixed course of events."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from presage.joining.counters import Bins
from presage.journal.readers import read_lessons
from presage.journal.sqlite import SqliteLog
from tests.faults.checker import violations
from tests.faults.counts import COUNTS
from tests.faults.processes import module
from tests.faults.script import HORIZONS, asked, play
from tests.faults.tracing import killed_before, points
from tests.journal.events import TASK, CountingTable

HALVES = 2


def ended(folder: Path) -> tuple[Bins, Counter[tuple[object, ...]]]:
    """The bins and the counts in the end, when the whole course is sent again, as clients do that got no answer."""
    for _ in play(folder):
        pass
    log, table = SqliteLog(folder, TASK), CountingTable()
    for part in read_lessons(log, HORIZONS):
        table.feed(*part)
    table.learn()
    bins = log.counters.bins
    log.close()
    return bins, table.counts


@pytest.mark.long
@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("half", range(HALVES))
def test_a_kill_before_any_write_or_sync_loses_nothing_and_trains_nothing_twice(
    half: int, quick_folder: Path, record_property: Callable[[str, object], None]
) -> None:
    chosen = points(quick_folder / "counted", COUNTS.points)[half::HALVES]
    expected, acknowledged = ended(quick_folder / "whole"), 0
    for number, point in enumerate(chosen):
        folder = quick_folder / str(number)
        requests = asked(killed_before(point, module("tests.faults.script", folder)))
        acknowledged += sum(len(each.replies) for each in requests)
        assert violations(folder, requests, HORIZONS) == [], point
        assert ended(folder) == expected, point
        shutil.rmtree(folder)
    calls = Counter(call for call, _ in chosen)
    record_property("kill before a system call", f"{len(chosen)} points {dict(calls)}, {acknowledged} acknowledged")
