"""Rows whose feedback may still come: how a later part of a log goes on with them."""

from typing import NamedTuple

import numpy as np

from presage.backtesting.backtest import seen
from presage.errors import DataError
from presage.logs.rows import LogRows, SignalRows
from presage.logs.signals import NEVER_AT
from presage.spaces import EMPTY, Array, Features, Instance
from presage.task.task import Task
from presage.timeline.episode import Episode


class OpenRows(NamedTuple):
    """Rows in the order of a log, with what is known of their feedback by now.

    Feedback that became known when the last of them was shown, or since, is not learnt for good: what comes in the same
    round is learnt in another order, proxies first.
    """

    number: Array  # int64 [N]: place among all rows that were ever taken
    id: Array  # [N]: whole numbers or words
    shown_at: Array  # int64 [N]: microseconds since 1970 UTC
    x: Instance
    z: Array  # int32 [N]: EMPTY where it is not known
    z_known_at: Array  # int64 [N]: NEVER_AT where it is not known
    y: Array
    y_known_at: Array

    def taken(self, chosen: Array) -> "OpenRows":
        """Some of the rows."""
        x = Instance(self.x.symbols[chosen], self.x.dense[chosen])
        return OpenRows._make(x if part is self.x else part[chosen] for part in self)

    def followed_by(self, new: "OpenRows") -> "OpenRows":
        """These rows, and then others."""
        x = Instance(*(np.concatenate(both) for both in zip(self.x, new.x, strict=True)))
        both = zip(self, new, strict=True)
        return OpenRows._make(x if old is self.x else np.concatenate([old, other]) for old, other in both)

    def waiting(self, task: Task, proxy: str, until: int) -> Array:  # bool [N]
        """Which rows are still needed after `until`: the last one, and those whose feedback is not learnt for good."""
        last = self.shown_at[-1]
        keep = np.zeros(len(self.shown_at), np.bool_)
        for signal, known_at in ((task.proxy(proxy), self.z_known_at), (task.outcome, self.y_known_at)):
            may_come = self.shown_at + signal.horizon.microseconds > until
            keep |= np.where(known_at == NEVER_AT, may_come, known_at >= last)
        keep[-1] = True
        return keep

    def episode(self) -> Episode:
        """The rows as rounds, and after them one that stands for whatever is asked next."""
        x = Instance(*(np.concatenate([part, np.zeros_like(part[:1])]) for part in self.x))
        shown_at = np.append(self.shown_at, NEVER_AT - 1)
        rounds = [seen(shown_at, np.append(each, NEVER_AT)) for each in (self.z_known_at, self.y_known_at)]
        return Episode.varying(x, np.append(self.z, EMPTY), np.append(self.y, EMPTY), *rounds)


def no_rows(features: Features, ids: Array) -> OpenRows:
    """Rows before the first one."""
    x = Instance(np.zeros((0, features.slots), np.int32), np.zeros((0, features.dense), np.float32))
    moments, symbols = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return OpenRows(moments, ids[:0], moments, x, symbols, moments, symbols, moments)


class LaterRows(NamedTuple):
    """What a log holds for a model that has taken all rows shown up to a moment."""

    new: OpenRows
    told: OpenRows  # the rows taken before that are open, with what is known of them now
    feedback: int  # how many proxies and outcomes of those are new
    skipped: int  # rows that were settled, or never taken, and repeated ones


def later_rows(task: Task, proxy: str, rows: LogRows, earlier: OpenRows, spans: tuple[int, int]) -> LaterRows:
    """What the rows of a log add to those taken before.

    `spans` are until when the model has learnt, and until when it shall. What becomes known after that is not known,
    and what should have been known before is taken as known when the last row was shown.
    """
    after, until = spans
    signals = [_known_by(signal, until) for signal in (rows.proxy(proxy), rows.outcome)]
    # An id that is open and comes again is a repeated row, which a log as a whole would leave out, too.
    named = task.log.id is not None or task.in_rows  # without times the number of a row is its id
    place = _places(rows.id, earlier.id) if named else np.full(len(rows.id), EMPTY)
    fresh = (rows.shown_at > after) & (rows.shown_at <= until) & (place == EMPTY)
    past = rows.shown_at <= after
    told, feedback = earlier, 0
    if past.any() and len(earlier.id):
        if not named:
            remedy = "name log.id in the task, or give only rows that were shown later"
            raise DataError("the log holds rows that were learnt, and no ids to tell them by", int(past.sum()), remedy)
        told, feedback = _told(earlier, signals, np.flatnonzero(past & (place != EMPTY)), place)
    chosen = np.flatnonzero(fresh)
    (z, z_known_at), (y, y_known_at) = ((symbols[chosen], known_at[chosen]) for symbols, known_at in signals)
    x = Instance(*(part[chosen] for part in rows.instances))
    number = (earlier.number[-1] + 1 if len(earlier.number) else 0) + np.arange(len(chosen), dtype=np.int64)
    new = OpenRows(number, rows.id[chosen], rows.shown_at[chosen], x, z, z_known_at, y, y_known_at)
    joined = past & (place != EMPTY)
    return LaterRows(new, told, feedback, int(((rows.shown_at <= until) & ~fresh & ~joined).sum()))


def _known_by(signal: SignalRows, until: int) -> tuple[Array, Array]:
    """The symbols of a signal and when they became known; not those that did so after `until`."""
    known = signal.known_at <= until
    return np.where(known, signal.symbols, EMPTY).astype(np.int32), np.where(known, signal.known_at, NEVER_AT)


def _told(earlier: OpenRows, signals: list[tuple[Array, Array]], rows: Array, place: Array) -> tuple[OpenRows, int]:
    """Open rows with the feedback of some rows of a log, and how much of it is new."""
    (proxies, proxy_known_at), (outcomes, outcome_known_at) = signals
    told = earlier._replace(**{name: getattr(earlier, name).copy() for name in ("z", "z_known_at", "y", "y_known_at")})
    feedback, last = 0, earlier.shown_at[-1]
    for symbols, known_at, ours, ours_known_at in (
        (proxies, proxy_known_at, told.z, told.z_known_at),
        (outcomes, outcome_known_at, told.y, told.y_known_at),
    ):
        news = rows[(ours_known_at[place[rows]] == NEVER_AT) & (known_at[rows] != NEVER_AT)]
        ours[place[news]] = symbols[news]
        ours_known_at[place[news]] = np.maximum(known_at[news], last)
        feedback += len(news)
    return told, feedback


def _places(ids: Array, among: Array) -> Array:  # int64 [N]
    """Where each id stands among others, EMPTY if it does not."""
    if not len(among):
        return np.full(len(ids), EMPTY)
    if object in (ids.dtype, among.dtype):
        ids, among = ids.astype(str), among.astype(str)
    order = np.argsort(among)
    found = order[np.minimum(np.searchsorted(among[order], ids), len(among) - 1)]
    places: Array = np.where(among[found] == ids, found, EMPTY)
    return places
