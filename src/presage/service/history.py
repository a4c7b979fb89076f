"""History replayed into a new service: the events of a log, or of another service's log, in order of time."""

import asyncio
import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from presage.errors import DataError
from presage.files import rename
from presage.joining.entries import NOTHING, EntryKind, feedback_in, predicted_in
from presage.journal.interface import LogStore
from presage.journal.readers import PAGE
from presage.journal.sqlite import SqliteLog
from presage.logs.rows import LogRows, SignalRows
from presage.logs.signals import NEVER_AT
from presage.service.features import Encode, feature_encoder
from presage.service.folders import TASK, made_folder, refolds, task_digest
from presage.service.http.problems import RefusalError
from presage.service.http.requests import Reader
from presage.service.interface import FeedbackRequest, PredictionRequest
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from presage.spaces import Array
from presage.task.signals import Signal
from presage.task.task import Task, load_task

BULK = 1000
"""Events sent at once: those of one bulk do not learn from each other."""

Happened = PredictionRequest | FeedbackRequest


def happened(task: Task, rows: LogRows) -> Iterator[Happened]:
    """The events of the rows of a log, in order of time; at one instant predictions come first.

    Feedback that did not arrive in time is left out: the service itself marks it absent, as it does when it runs.
    """
    assert rows.json is not None
    encode = feature_encoder(task)
    ids = [str(id) if task.log.id else f"row-{id}" for id in rows.id.tolist()]
    _check_ids(task, ids)
    proxy, outcome = task.proxy(), task.outcome
    arrived = [_arrived(rows, rows.proxy(proxy.name), proxy), _arrived(rows, rows.outcome, outcome)]
    row = np.concatenate([np.arange(len(ids)), *(np.flatnonzero(each) for each in arrived)])
    kind = np.repeat([0, 1, 2], [len(ids), *(int(each.sum()) for each in arrived)])
    at = np.stack([rows.shown_at, rows.proxy(proxy.name).known_at, rows.outcome.known_at])[kind, row]
    symbols = np.stack([rows.proxy(proxy.name).symbols, rows.outcome.symbols])
    for place in np.lexsort((row, kind, at)).tolist():
        n, moment = int(row[place]), int(at[place])
        if kind[place] == 0:
            features = rows.json[n].encode()
            yield PredictionRequest(ids[n], features, encode(msgspec.json.decode(features)), moment)
        else:
            name, signal = (("proxy", proxy), ("outcome", outcome))[kind[place] - 1]
            yield FeedbackRequest(ids[n], name, signal.values[symbols[kind[place] - 1, n]], moment)


def count(task: Task, rows: LogRows) -> int:
    """How many events the rows of a log have."""
    proxy = _arrived(rows, rows.proxy(task.proxy().name), task.proxy())
    return len(rows.shown_at) + int(proxy.sum() + _arrived(rows, rows.outcome, task.outcome).sum())


def _check_ids(task: Task, ids: list[str]) -> None:
    reader = Reader(task, Limits())
    for id in ids:
        try:
            reader.id(id, "the log")
        except RefusalError as error:
            raise DataError("an id in the log is not valid in a service", id, "give other ids") from error


def _arrived(rows: LogRows, revealed: SignalRows, signal: Signal) -> Array:
    """Which rows have a signal that arrived: bool [N]."""
    absent = NOTHING if signal.absent_symbol is None else signal.absent_symbol
    missed = (revealed.symbols == absent) & (revealed.known_at == rows.shown_at + signal.horizon.microseconds)
    came: Array = (revealed.symbols >= 0) & (revealed.known_at != NEVER_AT) & ~missed
    return came


def events_of(task: Task, store: LogStore, encode: Encode) -> Iterator[Happened]:
    """The events in the log of a service with this task, in order, with features encoded by another's encoder."""
    values = {EntryKind.PROXY: ("proxy", task.proxy().values), EntryKind.OUTCOME: ("outcome", task.outcome.values)}
    after = 0
    while entries := store.read(after, PAGE):
        after = entries[-1].seq
        for entry in entries:
            if entry.kind == EntryKind.PREDICTED:
                features = predicted_in(entry).features
                yield PredictionRequest(entry.id, features, encode(msgspec.json.decode(features)), entry.at)
            elif entry.kind in values:
                name, known = values[EntryKind(entry.kind)]
                symbol = feedback_in(entry).symbol
                yield FeedbackRequest(entry.id, name, known[symbol] if symbol >= 0 else "", entry.at)


def live_through(service: LiveService, events: Iterable[Happened], bulk: int, progress: Callable[[int], None]) -> None:
    """Send all events in batches, each once the one before is learned."""

    async def send() -> None:
        left = iter(events)
        while some := list(itertools.islice(left, bulk)):
            await service.submit(some)
            while not service.caught_up():
                await asyncio.sleep(0.0005)
            progress(len(some))

    asyncio.run(send())


@contextmanager
def new_service(task_file: Path, folder: Path, start: int) -> Iterator[LiveService]:
    """A service on the clock of its events, in a folder that appears only if all goes well."""
    with made_folder(folder) as waiting:
        service = open_service(task_file, waiting, Limits(clock="events"), lambda: start)
        try:
            yield service
        finally:
            service.close()


def refold_folder(task_file: Path, folder: Path, progress: Callable[[int], None]) -> Path:
    """The new place of the old data folder; the rebuilt one has the same events, under another task or revision.

    The old log has the actual predictions, the new one those that would have been made. Feedback whose value the new
    task does not have is quarantined.
    """
    old_task, encode = load_task(folder / TASK), feature_encoder(load_task(task_file), accepted=True)
    aside, made = next(each for each in refolds(folder) if not each.aside.exists())
    shutil.rmtree(made, ignore_errors=True)  # of a time that was interrupted
    store = SqliteLog(folder, task_digest(folder))
    try:
        with new_service(task_file, made, 0) as service:
            live_through(service, events_of(old_task, store, encode), BULK, progress)
    finally:
        store.close()
    rename(folder, aside)
    rename(made, folder)
    return aside


def sent(folder: Path) -> int:
    """How many events the log of a data folder holds."""
    store = SqliteLog(folder, task_digest(folder))
    try:
        kinds = f"{EntryKind.PREDICTED:d}, {EntryKind.PROXY:d}, {EntryKind.OUTCOME:d}"
        return int(next(store.rows(f"SELECT count(*) FROM log WHERE kind IN ({kinds})"))[0])
    finally:
        store.close()
