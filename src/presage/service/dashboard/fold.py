"""The dashboard as a fold over the log: entries in, sums out. No clock: times are those of the entries."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from presage.forecasters.contexts.layout import from_codes
from presage.joining.entries import NOTHING, EntryKind
from presage.joining.join import Bin, Known
from presage.joining.lessons import ObservedEntry
from presage.service.dashboard.buckets import Buckets
from presage.service.dashboard.columns import BINS, COHORT, DELAYS, DOUBLING, KINDS, Columns, Subject
from presage.service.dashboard.drift import Drift, DriftMonitor, matured
from presage.service.dashboard.early_loss import EarlyEstimate, ForecastRows
from presage.spaces import Array


class SignalColumns(NamedTuple):
    """A proxy or an outcome, of the id of each entry [N]."""

    value: Array  # as it is learnt; NOTHING: it is not, so far
    seq: Array  # of the entry that made it learnable; 0: none did, so far
    teaches: Array  # whether this entry made it learnable
    settles: Array  # whether it is awaited no longer, from this entry on


class EntryColumns(NamedTuple):
    """Entries in order [N]."""

    seq: Array
    at: Array
    kind: Array
    predicted: Array  # seq of the prediction; 0: none so far
    predicted_at: Array
    parked: Array  # feedback before its prediction
    late: Array  # feedback after its horizon
    proxy: SignalColumns
    outcome: SignalColumns


class PredictedColumns(NamedTuple):
    """The predictions of some entries [M]."""

    log_probabilities: Array  # float64 [M, Y]
    memo: Array  # float64 [M, K, Y]: those of experts
    model: Array  # the position whose parameters answered


def entry_columns(entries: Sequence[ObservedEntry], subject: Subject) -> EntryColumns:
    """Entries as columns."""
    seqs, ats, kinds, *_ = zip(*(observed.entry for observed in entries), strict=True)
    seq, at, kind = np.array(seqs, np.int64), np.array(ats, np.int64), _small(kinds)
    known = dict(zip(Known._fields, zip(*(observed.known for observed in entries), strict=True), strict=True))
    predicted, predicted_at = (np.array(known[name], np.int64) for name in ("predicted", "predicted_at"))
    awaited = (predicted > 0) & (predicted < seq)  # the prediction came before this entry
    feedback = (kind == EntryKind.PROXY) | (kind == EntryKind.OUTCOME)
    bin: Array = np.where(kind == EntryKind.PROXY, _small(known["proxy_bin"]), _small(known["outcome_bin"]))
    late = feedback & awaited & (bin == Bin.LATE)
    on_time = np.where(awaited & ~late, kind, 0)
    proxy, outcome = (
        _signal(known, name, absent, seq, (kind == EntryKind.PREDICTED, on_time == own, kind == missed))
        for name, absent, own, missed in (
            ("proxy", subject.horizons.absent_proxy, EntryKind.PROXY, EntryKind.ABSENT_PROXY),
            ("outcome", subject.horizons.absent_outcome, EntryKind.OUTCOME, EntryKind.ABSENT_OUTCOME),
        )
    )
    return EntryColumns(seq, at, kind, predicted, predicted_at, feedback & ~awaited, late, proxy, outcome)


def _signal(
    known: Mapping[str, tuple[Any, ...]], name: str, absent: int, seq: Array, entry: tuple[Array, Array, Array]
) -> SignalColumns:
    """One of both signals; `entry` tells whether each is a prediction, or its feedback on time, or its absence."""
    value, came, learnable = (np.array(known[part], np.int64) for part in (name, f"{name}_entry", f"{name}_seq"))
    learnt = np.where(_small(known[f"{name}_bin"]) == Bin.TRAINED, value, absent)
    predicted, on_time, missed = entry
    parked = predicted & (came > 0) & (came < seq)
    teaches = (learnable > 0) & (learnable == seq)
    return SignalColumns(np.where(learnable > 0, learnt, NOTHING), learnable, teaches, parked | on_time | missed)


def _small(values: Sequence[int]) -> Array:
    """Whole numbers below 256; enumerations take NumPy ten times as long otherwise."""
    return np.frombuffer(bytes(values), np.uint8)


def predicted_columns(entries: Sequence[ObservedEntry], rows: Array, subject: Subject, most: float) -> PredictedColumns:
    """The predictions of some rows of entries; no log-probability is below -`most`."""
    bodies = [body for body in (entries[row].body for row in rows.tolist()) if body is not None]
    assert len(bodies) == len(rows)
    log_probabilities = np.frombuffer(b"".join([body.log_probabilities for body in bodies]), "<f4")
    log_probabilities = log_probabilities.reshape(len(bodies), subject.outcomes).astype(np.float64)
    log_probabilities[np.isnan(log_probabilities)] = -most  # an answer that was no number is the worst there is
    width = (1 if subject.coded else 4) * subject.experts * subject.outcomes
    begun = b"".join([body.memo[:width] for body in bodies])
    memo = from_codes(np.frombuffer(begun, "|u1")) if subject.coded else np.frombuffer(begun, "<f4")
    memo = memo.reshape(len(bodies), subject.experts, subject.outcomes)
    model = np.array([body.model for body in bodies], np.int64)
    return PredictedColumns(np.maximum(log_probabilities, -most), np.maximum(memo.astype(np.float64), -most), model)


MOST = 4096
"""How many of its earlier states are remembered."""

ALPHA = 1.0
"""The pseudo-count of every outcome."""


class Marginal:
    """Counts of outcomes, now and as they were at earlier positions of the log.

    A prediction was answered by a model that had learnt all outcomes before some position; the marginal of the same
    outcomes is what it is compared with. Every `every`-th state is remembered, so few that they fit.

    >>> marginal = Marginal(outcomes=2)
    >>> marginal.add(np.array([3, 5, 8]), np.array([1, 1, 0]))
    >>> np.exp(-marginal.losses(np.array([0, 4, 6, 9]), np.array([1, 1, 1, 1]))).round(3)
    array([0.5  , 0.667, 0.75 , 0.6  ])
    """

    def __init__(self, outcomes: int) -> None:
        self.rows = 0
        self.every = 1
        self._seqs = np.zeros(1, np.int64)  # of outcomes; the first stands for the beginning
        self._states = np.zeros((1, outcomes))  # the counts up to and with them
        self._counts = np.zeros(outcomes)

    def begin(self, counts: Array) -> None:
        """Start from these counts, as if they were known before the first entry."""
        self._counts, self._states = np.array(counts, np.float64), np.array(counts, np.float64)[None]

    def add(self, seq: Array, y: Array) -> None:
        """Outcomes became learnable at these positions [N], in order."""
        states = self._counts + np.eye(len(self._counts))[y].cumsum(axis=0)
        kept = (self.rows + 1 + np.arange(len(y))) % self.every == 0
        self._seqs = np.concatenate([self._seqs, seq[kept]])
        self._states = np.concatenate([self._states, states[kept]])
        self._counts = states[-1] if len(states) else self._counts
        self.rows += len(y)
        while len(self._seqs) > MOST:
            # What was kept are the outcomes numbered every, 2 every, ...; every other one of those stays.
            self._seqs, self._states, self.every = self._seqs[::2], self._states[::2], 2 * self.every

    def losses(self, model: Array, y: Array) -> Array:
        """The losses of the marginal on outcomes [N], with what models at positions [N] had learned."""
        counts = self._states[np.maximum(np.searchsorted(self._seqs, model, side="left") - 1, 0)]
        likely = (counts[np.arange(len(y)), y] + ALPHA) / (counts.sum(axis=1) + ALPHA * counts.shape[1])
        return -np.log(likely)


SPAN = 4
"""How many horizons of the outcome the watch remembers at least."""

MOST_LOSS = 50.0
"""Nats that one prediction counts for at most."""

_COHORT = {name: place for place, name in enumerate(COHORT)}


class Watch:
    """Sums over log entries; the same however the entries are cut into parts."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.columns = Columns(subject.proxies, subject.outcomes, len(subject.families))
        span = SPAN * subject.horizons.outcome
        self.arrived = Buckets(self.columns.by_arrival, span)
        self.predicted = Buckets(self.columns.by_prediction, span)
        self.marginal = Marginal(subject.outcomes)
        self.early = EarlyEstimate(subject.proxies, subject.outcomes)
        self.start = -1  # the position after which everything was seen
        self.estimated = 0  # proxies that came after this position have an early loss; 0: none has
        self.at = self.seq = 0  # of the last entry
        self.learnt = 0, 0  # position and time of the last LEARN entry
        self.monitor = DriftMonitor(subject.proxies, subject.outcomes)

    def add_entries(self, entries: Sequence[ObservedEntry]) -> None:
        """Add the next entries of the log."""
        if not entries:
            return
        if self.start < 0:
            self.start = entries[0].entry.seq - 1
        seen = entry_columns(entries, self.subject)
        self.seq, self.at = int(seen.seq[-1]), int(seen.at[-1])
        for at in (int(seen.at[0]), self.at):
            self.arrived.reach(at)
            self.predicted.reach(at)
        learns = np.flatnonzero(seen.kind == EntryKind.LEARN)
        if len(learns):
            self.learnt = int(seen.seq[learns[-1]]), int(seen.at[learns[-1]])
        self._count(seen)
        self._settle(seen)
        self._score(seen, entries)

    def weigh(self, weights: dict[str, float]) -> None:
        """Note the weights of the families of experts as they are now."""
        if not self.seq:
            return
        now = np.array([self.at])
        self.arrived.add(now, self.columns.weights)
        for place, family in enumerate(self.subject.families):
            self.arrived.add(now, self.columns.weights + 1 + place, weights[family])

    def update_drift(self) -> Drift:
        """Whether g is stable, by the predictions that have matured; tested again if enough more have."""
        stretch, pairs = self.predicted.stretches(), self.columns.pairs
        predictions, settled = stretch.sums[:, _COHORT["predictions"]], stretch.sums[:, _COHORT["outcome"]]
        mature = matured(stretch, predictions, settled, self.at, self.subject.horizons.outcome)
        own = stretch._replace(sums=np.where(mature[:, None], stretch.sums[:, pairs], 0.0))
        return self.monitor.update(own, float(self.predicted.gone[pairs].sum()))

    def _count(self, seen: EntryColumns) -> None:
        """Count what arrived, by kind and time."""
        on_time = ~(seen.parked | seen.late)
        masks = {
            "predictions": seen.kind == EntryKind.PREDICTED,
            "proxies": (seen.kind == EntryKind.PROXY) & on_time,
            "outcomes": (seen.kind == EntryKind.OUTCOME) & on_time,
            "absent_proxies": seen.kind == EntryKind.ABSENT_PROXY,
            "absent_outcomes": seen.kind == EntryKind.ABSENT_OUTCOME,
            "late": seen.late,
            "parked": seen.parked,
        }
        for place, name in enumerate(KINDS):
            self.arrived.add(seen.at[masks[name]], place)
        self.predicted.add(seen.at[masks["predictions"]], _COHORT["predictions"])

    def _settle(self, seen: EntryColumns) -> None:
        """Count settled signals, their delays, and pairs of proxy and outcome."""
        mine = seen.predicted > self.start
        for signal, name, first in ((seen.proxy, "proxy", 0), (seen.outcome, "outcome", DELAYS)):
            settled = np.flatnonzero(signal.settles & mine)
            self.predicted.add(seen.predicted_at[settled], _COHORT[name])
            known = settled[signal.seq[settled] > 0]
            place = self._delay_bins(seen.at[known] - seen.predicted_at[known])
            self.predicted.add(seen.predicted_at[known], self.columns.delays + first + place)
        both = (seen.proxy.seq > 0) & (seen.outcome.seq > 0) & mine
        pairs = np.flatnonzero(both & (np.maximum(seen.proxy.seq, seen.outcome.seq) == seen.seq))
        place = seen.proxy.value[pairs] * self.subject.outcomes + seen.outcome.value[pairs]
        self.predicted.add(seen.predicted_at[pairs], self.columns.pairs.start + place)

    def _delay_bins(self, delay: Array) -> Array:
        """A decision that something did not come is made a little after its horizon; it belongs to the last bin."""
        share = np.maximum(delay, 1) / self.subject.horizons.outcome
        found: Array = np.clip(np.ceil(DELAYS - 1 + DOUBLING * np.log2(share)), 0, DELAYS - 1).astype(np.int64)
        return found

    def _score(self, seen: EntryColumns, entries: Sequence[ObservedEntry]) -> None:
        """Losses: those expected of predictions whose proxies came, and those of predictions whose outcomes came."""
        mine = seen.predicted > self.start
        unknown = (seen.outcome.seq == 0) | (seen.outcome.seq > seen.seq)
        due = np.flatnonzero(seen.proxy.teaches & unknown & mine)
        came = np.flatnonzero(seen.outcome.teaches)
        early = predicted_columns(entries, due, self.subject, MOST_LOSS)
        answered = predicted_columns(entries, came, self.subject, MOST_LOSS)
        y, before = seen.outcome.value[came], (seen.proxy.seq[came] > 0) & (seen.proxy.seq[came] < seen.seq[came])
        matured = ForecastRows(
            seen.seq[came[before]], seen.proxy.value[came[before]], answered.log_probabilities[before]
        )
        expected = self.early.fold(
            ForecastRows(seen.seq[due], seen.proxy.value[due], early.log_probabilities), matured, y[before]
        )
        self._add_expected(seen, due, expected)
        if not len(came):
            return
        self.marginal.add(seen.seq[came], y)
        rows = np.arange(len(y))
        served = -answered.log_probabilities[rows, y]
        direct = self._direct(answered.memo[rows, :, y]) if self.subject.direct else np.zeros(len(y))
        marginal = self.marginal.losses(answered.model, y)
        amounts = np.ones(len(y)), served, direct, marginal, (served - direct) ** 2, (served - marginal) ** 2
        for place, amount in enumerate(amounts):
            self.arrived.add(seen.at[came], self.columns.losses + place, amount)
        self._add_true(seen, came[before], served[before])
        self._add_reliability(seen.at[came], y, np.exp(answered.log_probabilities))

    def _direct(self, log_probabilities: Array) -> Array:
        """The loss of the direct experts with equal weights; log-probabilities [N, K] of the actual outcomes."""
        return -np.log(np.exp(log_probabilities[:, list(self.subject.direct)]).mean(axis=1))

    def _add_expected(self, seen: EntryColumns, due: Array, expected: Array) -> None:
        estimated = due[~np.isnan(expected)]
        if len(estimated):
            self.estimated = self.estimated or int(seen.seq[estimated[0]]) - 1
            self.predicted.add(seen.predicted_at[estimated], _COHORT["early_rows"])
            self.predicted.add(seen.predicted_at[estimated], _COHORT["early"], expected[~np.isnan(expected)])

    def _add_true(self, seen: EntryColumns, came: Array, served: Array) -> None:
        """The true losses of predictions whose losses were expected when their proxies came."""
        if not self.estimated:
            return
        estimated = (seen.proxy.seq[came] > self.estimated) & (seen.predicted[came] > self.start)
        at, losses = seen.predicted_at[came[estimated]], served[estimated]
        self.predicted.add(at, _COHORT["true_rows"])
        self.predicted.add(at, _COHORT["true"], losses)
        self.predicted.add(at, _COHORT["true_squared"], losses**2)

    def _add_reliability(self, at: Array, y: Array, likely: Array) -> None:
        place = np.clip((likely * BINS).astype(np.int64), 0, BINS - 1)
        for outcome in range(self.subject.outcomes):
            first = self.columns.reliability + 3 * outcome * BINS + place[:, outcome]
            self.arrived.add(at, first)
            self.arrived.add(at, first + BINS, likely[:, outcome])
            self.arrived.add(at, first + 2 * BINS, (y == outcome).astype(np.float64))
