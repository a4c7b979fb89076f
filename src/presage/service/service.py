"""The service behind HTTP: a log that one thread writes, a learner in a process of its own, and predictions between."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Event as Flag
from threading import Thread
from typing import Any

import numpy as np

from presage.drivers.core import Core
from presage.errors import BusyError, StateFileError, StoreFullError
from presage.forecasters.mixture import revisions_of
from presage.joining.entries import NOTHING, EntryKind, FeedbackBody, LogEvent, Predicted, decode_predicted
from presage.joining.join import Bin, Decision, Known
from presage.joining.lessons import proxy_learnt
from presage.journal.appender import EventResult
from presage.journal.interface import LogStore
from presage.journal.writer import Writer
from presage.service.dashboard.watcher import Sample, Watcher
from presage.service.features import feature_encoder
from presage.service.folders import horizons_of
from presage.service.interface import EventStatus, FeedbackRequest, IdStatus, PredictionRequest, PredictionResult
from presage.service.learner.client import LearnerClient, Model
from presage.service.limits import Limits
from presage.spaces import Array, Instance
from presage.task.task import Task

_UNKNOWN = FeedbackBody(NOTHING)


class EventEncoder:
    """Makes the events of a task: of a prediction what it was made from and what was said, of a signal its symbol."""

    def __init__(self, task: Task, engine: Core) -> None:
        self._encode, self._engine = feature_encoder(task), engine
        self._signals = {
            "proxy": (EntryKind.PROXY, _bodies(task.proxy().values)),
            "outcome": (EntryKind.OUTCOME, _bodies(task.outcome.values)),
        }

    def predictions(self, asked: list[PredictionRequest], model: Model) -> tuple[list[LogEvent], Array]:
        """The events of predictions that a model makes, and the log-probabilities [N, Y] that it says."""
        if not asked:
            return [], np.zeros((0, 0))
        each = [self._encode(one.values) for one in asked]
        x = Instance(np.array([one.symbols for one in each], "<i4"), np.array([one.dense for one in each], "<f4"))
        said = self._engine.predict(model.parameters, x)
        columns = map(_rows, (x.symbols, x.dense, said.log_probabilities, said.memo))
        events = []
        for one, symbols, dense, words, memo in zip(asked, *columns, strict=True):
            body = Predicted(one.features, symbols, dense, model.position, words, memo)
            events.append(LogEvent(EntryKind.PREDICTED, one.id, body, one.at or 0))
        return events, said.log_probabilities

    def feedback(self, fed: FeedbackRequest) -> LogEvent:
        """The event of a proxy or an outcome; a value that the task no longer knows has no symbol."""
        kind, bodies = self._signals[fed.kind]
        return LogEvent(kind, fed.id, bodies.get(fed.value, _UNKNOWN), fed.at or 0)


def _bodies(values: Sequence[str]) -> dict[str, FeedbackBody]:
    """What is kept of each value of a signal."""
    return {value: FeedbackBody(symbol) for symbol, value in enumerate(values)}


def _rows(array: Array) -> list[bytes]:
    """The bytes of each row of an array [N, ...]."""
    width, whole = array[0].nbytes, array.tobytes()
    return [whole[place * width : (place + 1) * width] for place in range(len(array))]


TICK = 1.0
"""Seconds between two looks at what is overdue."""

LAG = 500_000
"""Lessons that may wait while the learner is at work before predictions are refused; twice as many, and feedback is."""

_STATUSES = {decision: decision.value for decision in Decision}
_BINS = {bin: "" if bin is Bin.NONE else bin.name.lower() for bin in Bin}


@dataclass(frozen=True)
class ServiceParts:
    """What a service is made of."""

    task: Task
    engine: Core
    writer: Writer
    teacher: LearnerClient
    clock: Callable[[], int]
    watcher: Watcher


class LiveService:
    """Answers predictions from the last published parameters; everything that happens goes through the log."""

    def __init__(self, parts: ServiceParts, settings: Limits) -> None:
        self._parts, self._settings = parts, settings
        self._events = EventEncoder(parts.task, parts.engine)
        self._horizons = horizons_of(parts.task)
        self._values = {"proxy": parts.task.proxy().values, "outcome": parts.task.outcome.values}
        self._latest = 0  # the largest time that a request carried
        self._stopping = Flag()
        parts.teacher.go_live(parts.writer.published)
        parts.watcher.start(self._sample)
        self._ticker = Thread(target=self._tick, name="presage-ticker", daemon=True)
        if settings.clock == "wall":
            self._ticker.start()

    async def predict(self, asked: list[PredictionRequest]) -> list[PredictionResult]:
        """The answers in the same order, each durable in the log."""
        model = self._parts.teacher.model
        events, said = self._events.predictions(asked, model)
        answers = await self._submit(events)
        probabilities = np.exp(said)
        return [await self._answered(*each, model.position) for each in zip(asked, answers, probabilities, strict=True)]

    async def feed(self, fed: list[FeedbackRequest]) -> list[EventStatus]:
        """What became of each, durable in the log."""
        answers = await self._submit([self._events.feedback(each) for each in fed])
        return [_done(each.id, answer) for each, answer in zip(fed, answers, strict=True)]

    async def submit(self, events: list[PredictionRequest | FeedbackRequest]) -> list[EventStatus]:
        """What became of each of a mixed bulk, in order."""
        asked = [event for event in events if isinstance(event, PredictionRequest)]
        predictions, _ = self._events.predictions(asked, self._parts.teacher.model)
        made, feedback = iter(predictions), self._events.feedback
        answers = await self._submit(
            [next(made) if isinstance(each, PredictionRequest) else feedback(each) for each in events]
        )
        return [_done(event.id, answer) for event, answer in zip(events, answers, strict=True)]

    async def look_up(self, id: str) -> IdStatus | None:
        """What is known of an id, or None."""

        def ask(store: LogStore) -> tuple[Known, Predicted | None] | None:
            known = store.find([id]).get(id)
            if known is None:
                return None
            return known, decode_predicted(store.entries([known.predicted])[0].body) if known.predicted else None

        found = await asyncio.wrap_future(self._parts.writer.ask(ask))
        return None if found is None else self._looked(id, *found)

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
            "model": parts.teacher.model.position,
            "weights": parts.engine.weights(parts.teacher.model.parameters),
        }

    def failed(self) -> str:
        """Empty, or why nothing can be kept any more."""
        return str(self._parts.writer.failed or "")

    def ready(self) -> str:
        """Empty if predictions and feedback can be taken, otherwise why not."""
        if self.failed():
            return self.failed()
        return f"the learner stopped: {self._parts.teacher.stopped}" if self._parts.teacher.stopped else ""

    def numbers(self) -> dict[str, float]:
        """Counters and gauges by the names that /metrics shows, without the prefix."""
        counters, teacher = self._parts.writer.counters, self._parts.teacher
        found: dict[str, float] = {f'entries{{bin="{name}"}}': n for name, n in counters.bins._asdict().items()}
        for (kind, decision), count in self._parts.writer.refused.items():
            found[f'refused_total{{kind="{kind.name.lower()}",why="{decision.value}"}}'] = count
        return (
            found
            | self._parts.watcher.numbers()
            | {
                "log_entries": self._parts.writer.head.seq,
                "predictions_total": counters.predictions,
                "lessons_waiting": teacher.waiting,
                "model_position": teacher.model.position,
                "events_waiting": self._parts.writer.waiting,
            }
        )

    def watched(self) -> tuple[int, bytes]:
        """What the dashboard shows, as JSON, and its number, which grows; asking makes the next."""
        return self._parts.watcher.watched()

    def caught_up(self) -> bool:
        """Whether all that the log says is learnt has been learnt."""
        return self._parts.teacher.model.position == self._parts.writer.counters.learn or bool(self.ready())

    def digest(self) -> tuple[str, int]:
        """A hash of all that was learnt, and the log position at which."""
        return self._parts.teacher.digest()

    def close(self) -> None:
        """Keep what was submitted and what was learnt, and stop."""
        self._stopping.set()
        self._parts.watcher.close()
        if self._ticker.is_alive():
            self._ticker.join()
        learn = self._parts.writer.counters.learn
        chain = None
        if learn and not self._parts.writer.failed:
            chain = self._parts.writer.ask(lambda store: store.chain_at(learn)).result()
        self._parts.writer.close()
        if chain:
            with suppress(StateFileError):  # of a learner that stopped: without a snapshot only time is lost
                self._parts.teacher.keep(chain)
        self._parts.teacher.close()

    async def _submit(self, events: list[LogEvent]) -> list[EventResult]:
        self._check_lag(events)
        answers = await asyncio.wrap_future(self._parts.writer.submit(events))
        if self._settings.clock == "events":
            pairs = zip(events, answers, strict=True)
            times = [event.at for event, answer in pairs if answer.decision is Decision.ACCEPTED]
            if times:  # what was not accepted changes nothing, not even the time
                self._latest = max(self._latest, *times)
                with suppress(StoreFullError, BusyError):  # these are kept; what is overdue is decided next time
                    await asyncio.wrap_future(self._parts.writer.tick(self._latest))
        return answers

    def _check_lag(self, events: list[LogEvent]) -> None:
        """Nothing, unless the learner is behind: lessons that wait for the next prediction do not count.

        Of a learner that stopped nothing is asked: its lessons are in the log, for the next one.
        """
        teacher = self._parts.teacher
        idle = teacher.stopped or teacher.model.position == self._parts.writer.counters.learn
        if idle or teacher.waiting <= LAG:
            return
        if teacher.waiting > 2 * LAG or any(event.kind is EntryKind.PREDICTED for event in events):
            raise BusyError("the learner is behind", teacher.waiting, "send the same again soon")

    async def _answered(
        self, asked: PredictionRequest, answer: EventResult, said: Array, model: int
    ) -> PredictionResult:
        if answer.decision is not Decision.REPEATED:
            return PredictionResult(_done(asked.id, answer), said, model)
        found = self._parts.writer.ask(lambda store: decode_predicted(store.entries([answer.seq])[0].body))
        first = await asyncio.wrap_future(found)
        return PredictionResult(_done(asked.id, answer), np.exp(np.frombuffer(first.said, "<f4")), first.model)

    def _looked(self, id: str, known: Known, body: Predicted | None) -> IdStatus:
        proxy, outcome = (
            None if symbol == NOTHING else self._values[kind][symbol]
            for kind, symbol in (("proxy", known.proxy), ("outcome", known.outcome))
        )
        bins = ("awaited" if bin is Bin.NONE else bin.name.lower() for bin in (known.proxy_bin, known.outcome_bin))
        proxy_bin, outcome_bin = bins
        if body is None:
            return IdStatus(id, None, proxy, proxy_bin, outcome, outcome_bin, None, None, 0)
        said = np.exp(np.frombuffer(body.said, "<f4"))
        nowcast = self._nowcast(known, body)
        return IdStatus(id, known.predicted_at, proxy, proxy_bin, outcome, outcome_bin, said, nowcast, body.model)

    def _nowcast(self, known: Known, body: Predicted) -> Array:
        parameters = self._parts.teacher.model.parameters
        x = Instance(np.frombuffer(body.symbols, "<i4")[None], np.frombuffer(body.dense, "<f4")[None])
        z = proxy_learnt(known, self._horizons)  # the value that came, unless it came late; or that of its absence
        if z == NOTHING:
            return np.exp(self._parts.engine.predict(parameters, x).log_probabilities[0])
        return np.exp(self._parts.engine.nowcast(parameters, x, np.array([z]))[0])

    def _sample(self) -> Sample:
        writer, teacher, model = self._parts.writer, self._parts.teacher, self._parts.teacher.model
        weights = self._parts.engine.weights(model.parameters, by="family")
        about = teacher.waiting, model.position, weights, self.ready()
        return Sample(writer.head.seq, writer.counters, writer.refused, *about)

    def _tick(self) -> None:
        while not self._stopping.wait(TICK):
            try:
                self._parts.writer.tick(self._parts.clock()).result()
            except StoreFullError:
                continue  # it is decided when there is room
            except Exception:
                return  # the writer says why to all who ask


def _done(id: str, answer: EventResult) -> EventStatus:
    return EventStatus(id, _STATUSES[answer.decision], _BINS[answer.bin], answer.seq, answer.reason)
