"""The service behind HTTP: one thread writes the log, a process of its own learns from it, and this one predicts."""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any

import numpy as np

from presage.drivers.core import Core
from presage.errors import BusyError, NotFiniteError, StoreFullError
from presage.files import has_space
from presage.forecasters.mixture import revisions_of
from presage.joining.entries import NOTHING, EntryKind, FeedbackBody, LogEvent, Predicted, predicted_in
from presage.joining.join import Bin, Decision, Known
from presage.joining.lessons import proxy_learnt
from presage.journal.appender import Appender, EventResult
from presage.journal.interface import Head, LogStore
from presage.journal.writer import Writer
from presage.service.dashboard.drift import DriftState
from presage.service.dashboard.watcher import Sample, Watcher
from presage.service.folders import horizons_of
from presage.service.interface import FeedbackRequest, PredictionRequest, ServiceNumbers
from presage.service.learner.client import LearnerClient, ServedModel
from presage.service.learner.snapshots import SnapshotNotes
from presage.service.limits import Limits
from presage.service.replies import PredictionReply, SignalReply, StateReply
from presage.spaces import Array, Instance
from presage.task.task import Task

TICK = 1.0
"""Seconds between two checks for overdue signals."""

LAG = 500_000
"""Lessons that may wait for a busy learner before predictions are refused; feedback is refused from twice as many."""

SPACE = 4 << 20
"""Bytes that a disk which was full must have room for before the service says that it is ready again."""

_KINDS = {"proxy": EntryKind.PROXY, "outcome": EntryKind.OUTCOME}
_UNKNOWN = FeedbackBody(NOTHING)


@dataclass(frozen=True)
class ServiceParts:
    """The parts of a service."""

    task: Task
    engine: Core
    writer: Writer
    learner: LearnerClient
    clock: Callable[[], int]
    watcher: Watcher
    snapshots: SnapshotNotes
    folder: Path


class LiveService:
    """Predicts with the current parameters; everything that happens goes through the log."""

    def __init__(self, parts: ServiceParts, settings: Limits) -> None:
        self._parts, self._settings = parts, settings
        self._horizons = horizons_of(parts.task)
        self._values = {"proxy": parts.task.proxy().values, "outcome": parts.task.outcome.values}
        self._bodies = {
            kind: {value: FeedbackBody(symbol) for symbol, value in enumerate(values)}
            for kind, values in self._values.items()
        }
        self._latest = 0  # the largest time that a request carried
        self._stopping = Flag()
        parts.learner.go_live(parts.writer)
        parts.watcher.start(self._sample)
        self._ticker = Thread(target=self._tick, name="presage-ticker", daemon=True)
        self._ticker.start()

    async def predict(self, requests: list[PredictionRequest]) -> list[PredictionReply]:
        """The predictions in the same order, each durable in the log."""
        model = self._parts.learner.model
        events, log_probabilities = self._prediction_events(requests, model)
        results = await self._submit(events)
        rows = zip(requests, results, np.exp(log_probabilities), strict=True)
        return [await self._prediction_reply(*row, model.position) for row in rows]

    async def feed(self, feedback: list[FeedbackRequest]) -> list[EventResult]:
        """The result of each, durable in the log."""
        return await self._submit([self._feedback_event(each) for each in feedback])

    async def submit(self, events: list[PredictionRequest | FeedbackRequest]) -> list[EventResult]:
        """The result of each event of a mixed bulk, in order."""
        requests = [event for event in events if isinstance(event, PredictionRequest)]
        predictions = iter(self._prediction_events(requests, self._parts.learner.model)[0])
        return await self._submit(
            [
                next(predictions) if isinstance(each, PredictionRequest) else self._feedback_event(each)
                for each in events
            ]
        )

    async def look_up(self, id: str) -> StateReply | None:
        """The state of an id; None if it is unknown."""

        def find(store: LogStore) -> tuple[Known, Predicted | None] | None:
            known = store.find([id]).get(id)
            if known is None:
                return None
            return known, predicted_in(store.entries([known.predicted])[0]) if known.predicted else None

        found = await asyncio.wrap_future(self._parts.writer.ask(find))
        return None if found is None else self._state_reply(id, *found)

    def describe(self) -> dict[str, Any]:
        """The model: task, forecaster, log position, and the position of the parameters in use."""
        parts, writer = self._parts, self._parts.writer
        return {
            "task": parts.task.name,
            "forecaster": parts.engine.forecaster.name,
            "revisions": revisions_of(parts.engine.forecaster),
            "outcomes": list(self._values["outcome"]),
            "proxies": list(self._values["proxy"]),
            "log": {"position": writer.head.seq, "chain": writer.head.chain.hex()},
            "model": parts.learner.model.position,
            "weights": parts.engine.weights(parts.learner.model.parameters),
        }

    @property
    def head(self) -> Head:
        """The last entry that is durable."""
        return self._parts.writer.head

    def failed(self) -> str:
        """Empty, or why the process must end: nothing can be kept any more, or no learner runs any more."""
        return str(self._parts.writer.failed or self._parts.learner.failed)

    def ready(self) -> str:
        """Empty if predictions and feedback can be taken, otherwise why not."""
        if self.failed():
            return self.failed()
        if self._parts.writer.full:
            self._parts.writer.look_for_space(partial(has_space, self._parts.folder, SPACE))
            return "the disk is full; free some space: the service continues by itself"
        behind = self._behind()
        return f"the learner is behind: {behind:,} lessons wait" if behind > LAG else ""

    def numbers(self) -> ServiceNumbers:
        """The numbers that /metrics shows."""
        writer, learner, watcher = self._parts.writer, self._parts.learner, self._parts.watcher
        return ServiceNumbers(
            log_entries=writer.head.seq,
            counters=writer.counters,
            refused=writer.refused,
            events_waiting=writer.waiting,
            lessons_waiting=learner.waiting,
            model_position=learner.model.position,
            model_seconds=self._model_seconds(),
            learner=learner.status,
            drift_alarm=watcher.drift.state is DriftState.ALARM,
            drift_p=watcher.drift.p,
            drift_nats=watcher.drift.nats,
            watch_missed=watcher.missed,
        )

    def watched(self) -> tuple[int, bytes]:
        """The current frame of the dashboard as JSON, and its number, which grows; each call requests the next."""
        return self._parts.watcher.watched()

    def caught_up(self) -> bool:
        """Whether the model has learned everything up to the last LEARN entry of the log."""
        return self._parts.learner.model.position == self._parts.writer.counters.learn or bool(self.failed())

    def digest(self) -> tuple[str, int]:
        """A hash of the learned state, and its log position."""
        return self._parts.learner.digest()

    def close(self) -> None:
        """Write what was submitted and a snapshot of the model, and stop."""
        self._stopping.set()
        self._parts.watcher.close()
        if self._ticker.is_alive():
            self._ticker.join()
        self._parts.writer.close(self._keep_snapshot)
        self._parts.learner.close()

    def _keep_snapshot(self, appender: Appender) -> None:
        """Keep what is learnt when everything is written, and name it in the log; without it only time is lost."""
        learn = appender.store.counters.learn
        self._parts.learner.close(appender.store.chain_at(learn) if learn else None)
        with suppress(StoreFullError):
            self._parts.snapshots.take(appender)

    def _prediction_events(self, requests: list[PredictionRequest], model: ServedModel) -> tuple[list[LogEvent], Array]:
        """The events of the predictions that a model makes, and their log-probabilities [N, Y]."""
        if not requests:
            return [], np.zeros((0, 0))
        x = Instance(
            np.array([request.encoded.symbols for request in requests], "<i4"),
            np.array([request.encoded.dense for request in requests], "<f4"),
        )
        made = self._parts.engine.predict(model.parameters, x)
        _check_answers(made.log_probabilities, [request.id for request in requests])
        columns = map(_row_bytes, (x.symbols, x.dense, made.log_probabilities, made.memo))
        events = []
        for request, symbols, dense, log_probabilities, memo in zip(requests, *columns, strict=True):
            body = Predicted(request.features, symbols, dense, model.position, log_probabilities, memo)
            events.append(LogEvent(EntryKind.PREDICTED, request.id, body, request.at or 0))
        return events, made.log_probabilities

    def _feedback_event(self, feedback: FeedbackRequest) -> LogEvent:
        """The event of a proxy or an outcome; a value that the task no longer has gets no symbol."""
        body = self._bodies[feedback.kind].get(feedback.value, _UNKNOWN)
        return LogEvent(_KINDS[feedback.kind], feedback.id, body, feedback.at or 0)

    async def _submit(self, events: list[LogEvent]) -> list[EventResult]:
        self._check_lag(events)
        results = await asyncio.wrap_future(self._parts.writer.submit(events))
        if self._settings.clock == "events":
            pairs = zip(events, results, strict=True)
            times = [event.at for event, result in pairs if result.decision is Decision.ACCEPTED]
            if times:  # an event that is not accepted changes nothing, not even the time
                self._latest = max(self._latest, *times)
                with suppress(StoreFullError, BusyError):  # the events are kept; overdue signals wait for the next time
                    await asyncio.wrap_future(self._parts.writer.tick(self._latest))
        return results

    def _check_lag(self, events: list[LogEvent]) -> None:
        """Raise BusyError if the learner is behind."""
        behind = self._behind()
        if behind > 2 * LAG or (behind > LAG and any(event.kind is EntryKind.PREDICTED for event in events)):
            raise BusyError("the learner is behind", behind, "send the same again shortly")

    def _behind(self) -> int:
        """How many lessons wait for the learner; those that wait for the next prediction do not count."""
        learner = self._parts.learner
        return 0 if learner.model.position == self._parts.writer.counters.learn else learner.waiting

    def _model_seconds(self) -> float:
        """The age of the model in use, by the clock of the log; NaN before the first."""
        model = self._parts.learner.model
        now = self._parts.clock() if self._settings.clock == "wall" else self._parts.writer.head.at
        return max(0, now - model.at) / 1e6 if model.position else math.nan

    async def _prediction_reply(
        self, request: PredictionRequest, result: EventResult, probabilities: Array, model: int
    ) -> PredictionReply:
        """The reply to a request; a repeated one gets the probabilities of the first."""
        if result.decision is Decision.CONFLICT:
            return PredictionReply(request.id, "conflict", 0, 0, {}, result.reason)
        if result.decision is Decision.ACCEPTED:
            return PredictionReply(request.id, "accepted", result.seq, model, self._by_outcome(probabilities))
        found = self._parts.writer.ask(lambda store: predicted_in(store.entries([result.seq])[0]))
        first = await asyncio.wrap_future(found)
        return PredictionReply(request.id, "repeated", result.seq, first.model, self._recorded(request.id, first))

    def _state_reply(self, id: str, known: Known, body: Predicted | None) -> StateReply:
        proxy, outcome = (
            SignalReply(None if symbol == NOTHING else self._values[kind][symbol], _signal_state(bin))
            for kind, symbol, bin in (
                ("proxy", known.proxy, known.proxy_bin),
                ("outcome", known.outcome, known.outcome_bin),
            )
        )
        if body is None:
            return StateReply(id, None, proxy, outcome, None, None, 0)
        nowcast = self._by_outcome(self._nowcast(id, known, body))
        return StateReply(id, known.predicted_at, proxy, outcome, self._recorded(id, body), nowcast, body.model)

    def _recorded(self, id: str, body: Predicted) -> dict[str, float]:
        """The probabilities of a prediction in the log."""
        said = np.frombuffer(body.log_probabilities, "<f4")
        _check_answers(said[None], [id], "an older version recorded it: ask again under another id")
        return self._by_outcome(np.exp(said))

    def _by_outcome(self, probabilities: Array) -> dict[str, float]:
        """Probabilities by the names of the outcomes."""
        return dict(zip(self._values["outcome"], probabilities.tolist(), strict=True))

    def _nowcast(self, id: str, known: Known, body: Predicted) -> Array:
        parameters = self._parts.learner.model.parameters
        x = Instance(np.frombuffer(body.symbols, "<i4")[None], np.frombuffer(body.dense, "<f4")[None])
        z = proxy_learnt(known, self._horizons)  # the value that came, unless it came late; or that of its absence
        if z == NOTHING:
            said = self._parts.engine.predict(parameters, x).log_probabilities
        else:
            said = self._parts.engine.nowcast(parameters, x, np.array([z]))
        _check_answers(said, [id])
        return np.exp(said[0])

    def _sample(self) -> Sample:
        writer, learner, model = self._parts.writer, self._parts.learner, self._parts.learner.model
        weights = self._parts.engine.weights(model.parameters, by="family")
        about = learner.waiting, model.position, weights, self.ready(), learner.status.doing
        return Sample(writer.head.seq, writer.counters, writer.refused, *about)

    def _tick(self) -> None:
        while not self._stopping.wait(TICK):
            try:
                self._parts.writer.ask(lambda store: store.check_files()).result()
                if self._parts.snapshots.any():
                    self._parts.writer.call(self._parts.snapshots.take).result()
                if self._settings.clock == "wall":
                    self._parts.writer.tick(self._parts.clock()).result()
            except StoreFullError:
                continue  # the next tick tries again
            except Exception:
                return  # the writer raises the same to every caller


def _check_answers(
    log_probabilities: Array,
    ids: list[str],
    remedy: str = "nothing was recorded: bound the numbers of the instance by min and max in the task file",
) -> None:
    """Raise NotFiniteError for the first row [N, Y] whose probabilities are no finite numbers."""
    wrong = ~np.isfinite(np.exp(log_probabilities)).all(axis=1)
    if wrong.any():
        raise NotFiniteError("the answer is no finite number", ids[int(wrong.argmax())], remedy)


def _row_bytes(array: Array) -> list[bytes]:
    """The bytes of each row of an array [N, ...]."""
    width, whole = array[0].nbytes, array.tobytes()
    return [whole[place * width : (place + 1) * width] for place in range(len(array))]


def _signal_state(bin: Bin) -> str:
    return "awaited" if bin is Bin.NONE else bin.name.lower()
