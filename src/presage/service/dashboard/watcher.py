"""A thread that folds the entries of the log, and keeps a frame ready for the dashboard."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, islice
from threading import Event as Flag
from threading import Thread
from typing import NamedTuple

import msgspec
import numpy as np

from presage.joining.counters import Counters
from presage.joining.entries import EntryKind
from presage.joining.join import Decision
from presage.joining.lessons import ObservedEntry, outcome_learnt
from presage.journal.interface import LogStore
from presage.journal.readers import read_observed
from presage.service.dashboard.drift import Drift
from presage.service.dashboard.feedback_panels import known_panel, pending_panel, reliability_panel, stability_panel
from presage.service.dashboard.fold import Watch
from presage.service.dashboard.frame import DashboardFrame, Lag
from presage.service.dashboard.loss_panels import early_panel, loss_panel, weights_panel

TURN = 1.0
"""Seconds between two turns."""

WAITING = 20_000
"""Entries that may wait; further ones are left out, and counted."""

SOON = 5_000
"""Entries that are folded before the next turn is due."""

LAGS = 120
"""How many turns the lag of the learner is shown for."""


class WatchedNames(NamedTuple):
    """The names that the page shows."""

    task: str
    forecaster: str
    family: str
    proxies: tuple[str, ...]
    outcomes: tuple[str, ...]


class Sample(NamedTuple):
    """The state of the service at one moment."""

    position: int  # of the log
    counters: Counters
    refused: dict[tuple[EntryKind, Decision], int]
    lessons: int  # that wait for the learner
    model: int
    weights: dict[str, float]  # of families of experts
    ready: str
    learner: str = "waiting"  # what it does


class Watcher:
    """Folds log entries on its own thread; handing them over never waits."""

    def __init__(self, watch: Watch, names: WatchedNames) -> None:
        self.watch, self.names = watch, names
        self.missed = 0  # entries that were left out
        self.drift: Drift = watch.update_drift()
        self._inbox: deque[list[ObservedEntry]] = deque()
        self._given = self._taken = 0  # entries; each is counted by one thread only
        self._lags: deque[int] = deque(maxlen=LAGS)
        self._frame = 0, b"{}"
        self._asked = self._closed = False
        self._idle = True  # no viewer at the last turn
        self._wake = Flag()
        self._thread: Thread | None = None

    def start(self, sample: Callable[[], Sample]) -> None:
        """Begin to take turns; `sample` returns the state of the service."""
        self._thread = Thread(target=self._run, args=(sample,), name="presage-watch", daemon=True)
        self._thread.start()

    def add_entries(self, entries: list[ObservedEntry]) -> None:
        """Queue entries for the next turn."""
        waiting = self._given - self._taken
        if waiting > WAITING:
            self.missed += len(entries)
            return
        self._given += len(entries)
        self._inbox.append(entries)
        if waiting > SOON:
            self._wake.set()

    def watched(self) -> tuple[int, bytes]:
        """The last frame and its number; each call requests the next."""
        self._asked = True
        if self._idle:
            self._idle = False
            self._wake.set()
        return self._frame

    def close(self) -> None:
        """Take no more turns."""
        self._closed = True
        self._wake.set()
        if self._thread:
            self._thread.join()

    def turn(self, sample: Sample) -> None:
        """Fold the queued entries, and make a frame if there is a viewer."""
        self._fold()
        if sample.weights:
            self.watch.weigh(sample.weights)
        self._lags.append(sample.lessons)
        self.drift = self.watch.update_drift()
        self._idle = not self._asked
        if self._asked:
            self._asked = False
            number = self._frame[0] + 1
            self._frame = number, msgspec.json.encode(self.frame(number, sample))

    def frame(self, number: int, sample: Sample) -> DashboardFrame:
        """All that is shown."""
        watch, names = self.watch, self.names
        horizons = watch.subject.horizons
        return DashboardFrame(
            number=number,
            task=names.task,
            forecaster=names.forecaster,
            family=names.family,
            proxies=list(names.proxies),
            outcomes=list(names.outcomes),
            horizons=(horizons.proxy // 1000, horizons.outcome // 1000),
            at=watch.at // 1000 if watch.seq else None,
            ready=sample.ready,
            predictions=sample.counters.predictions,
            bins=sample.counters.bins._asdict(),
            refused=_refused(sample.refused),
            loss=loss_panel(watch),
            weights=weights_panel(watch, names.forecaster),
            early=early_panel(watch),
            pending=pending_panel(watch, sample.counters.bins.open),
            known=known_panel(watch),
            reliability=reliability_panel(watch),
            drift=stability_panel(watch, self.drift),
            lag=self._lag(sample),
        )

    def _lag(self, sample: Sample) -> Lag:
        learnt, at = self.watch.learnt
        behind = (self.watch.at - at) // 1000 if learnt and sample.lessons else 0
        return Lag(sample.lessons, sample.model, sample.position, behind, list(self._lags), sample.learner)

    def _fold(self) -> None:
        while self._inbox:
            part: list[ObservedEntry] = []
            while self._inbox and len(part) < SOON:
                part += self._inbox.popleft()
            self._taken += len(part)
            self.watch.add_entries(part)

    def _run(self, sample: Callable[[], Sample]) -> None:
        while not self._closed:
            self._wake.wait(TURN)
            self._wake.clear()
            self.turn(sample())


def _refused(counts: dict[tuple[EntryKind, Decision], int]) -> dict[str, dict[str, int]]:
    kinds = {EntryKind.PREDICTED: "predictions", EntryKind.PROXY: "proxies", EntryKind.OUTCOME: "outcomes"}
    return {
        decision.value: {name: counts.get((kind, decision), 0) for kind, name in kinds.items()}
        for decision in (Decision.REPEATED, Decision.CONFLICT)
    }


REMEMBERED = 50_000
"""How many of the last entries the dashboard starts from."""

PAGES = 5
"""Pages of those whose outcomes stand in for the marginal before them."""


def add_recent_entries(watch: Watch, store: LogStore, entries: int = REMEMBERED) -> None:
    """Add the last entries of a log to a watch.

    Outcomes of predictions from before them would be compared with a marginal that knows nothing; one that knows the
    first outcomes after that position stands in for it.
    """
    after = max(0, store.head.seq - entries)
    pages: Iterator[list[ObservedEntry]] = read_observed(store, after)
    if after:
        first = list(islice(pages, PAGES))
        counts = np.zeros(watch.subject.outcomes)
        for observed in (each for page in first for each in page):
            if observed.known.outcome_seq == observed.entry.seq:
                counts[outcome_learnt(observed.known, watch.subject.horizons)] += 1
        watch.marginal.begin(counts)
        pages = chain(first, pages)
    for page in pages:
        watch.add_entries(page)
        watch.update_drift()
