"""Who watches a running service: frames for whoever looks, and nobody who is kept waiting."""

import json
import threading

import pytest

from presage.joining.entries import EntryKind
from presage.joining.join import Decision
from presage.service.dashboard.drift import DriftState
from presage.service.dashboard.fold import Watch
from presage.service.dashboard.watcher import WAITING, Sample, WatchedNames, Watcher
from tests.service.played import (
    SUBJECT,
    Played,
    happen,
    play,
)

NAMES = WatchedNames("books", "mixture", "mixture", ("closed", "begun", "half"), ("left", "finished"))


@pytest.fixture(scope="module")
def played() -> Played:
    return play(happen(1500))


def sample(played: Played) -> Sample:
    refused = {(EntryKind.PROXY, Decision.REPEATED): 3, (EntryKind.OUTCOME, Decision.CONFLICT): 2}
    weights = {"direct": 0.5, "residual": 0.5}
    return Sample(played.store.head.seq, played.store.counters, refused, 7, 5, weights, "")


def test_a_frame_is_made_when_somebody_looks_and_has_everything(played: Played) -> None:
    watcher = Watcher(Watch(SUBJECT), NAMES)
    for entries in played.shown:
        watcher.add_entries(entries)
    watcher.turn(sample(played))
    assert watcher.watched()[0] == 0, "nobody had looked"
    watcher.turn(sample(played))
    number, frame = watcher.watched()
    assert number == 1
    told = json.loads(frame)
    assert told["bins"] == played.store.counters.bins._asdict()
    assert told["refused"] == {
        "repeated": {"predictions": 0, "proxies": 3, "outcomes": 0},
        "conflict": {"predictions": 0, "proxies": 0, "outcomes": 2},
    }
    assert told["weights"]["families"] == {"direct": [0.5], "residual": [0.5]}
    assert told["lag"]["lessons"] == 7
    assert told["lag"]["over_time"] == [7, 7]
    assert told["drift"]["state"] == "stable"
    assert len(frame) < 20_000
    assert watcher.drift.state is not DriftState.ALARM


def test_a_frame_can_be_made_of_nothing() -> None:
    watcher = Watcher(Watch(SUBJECT), NAMES)
    watcher.watched()
    watcher.turn(sample(play([])))
    told = json.loads(watcher.watched()[1])
    assert told["at"] is None
    assert told["loss"]["at"] == told["early"]["at"] == told["drift"]["at"] == []
    assert told["drift"]["state"] == "unknown"


def test_the_one_who_shows_is_never_kept_waiting_and_what_is_too_much_is_counted(played: Played) -> None:
    watcher = Watcher(Watch(SUBJECT), NAMES)
    shown = 0
    while not watcher.missed:
        watcher.add_entries(played.shown[shown % len(played.shown)])
        shown += 1
    assert watcher._given - watcher._taken <= WAITING + 100
    watcher.add_entries(played.shown[0])
    assert watcher.missed > len(played.shown[0])


def test_a_watcher_takes_turns_in_a_thread_until_it_is_closed(played: Played) -> None:
    watcher, folded = Watcher(Watch(SUBJECT), NAMES), threading.Event()

    def stands() -> Sample:
        if watcher.watch.seq == played.store.head.seq:
            folded.set()
        return sample(played)

    for entries in played.shown:
        watcher.add_entries(entries)
    watcher.start(stands)
    watcher.watched()
    assert folded.wait(60)
    watcher.close()
    assert watcher.watched()[0] > 0
