"""The watch as a fold over the log: sightings in, sums out. No clock: times are those of the entries."""

from collections.abc import Sequence

import numpy as np

from presage.joining.entries import EntryKind
from presage.joining.lessons import ObservedEntry
from presage.service.watch.buckets import Buckets
from presage.service.watch.columns import BINS, COHORT, DELAYS, DOUBLING, KINDS, Columns
from presage.service.watch.drift import Drift, Looker, matured
from presage.service.watch.early import Early, Given
from presage.service.watch.marginal import Marginal
from presage.service.watch.sights import Sights, bodies, sights
from presage.service.watch.subject import Subject
from presage.spaces import Array

SPAN = 4
"""How many horizons of the outcome the watch remembers at least."""

MOST_LOSS = 50.0
"""Nats that one prediction counts for at most."""

_COHORT = {name: place for place, name in enumerate(COHORT)}


class Watch:
    """Sums over what was seen; the same however the sightings are cut into parts."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.columns = Columns(subject.proxies, subject.outcomes, len(subject.families))
        span = SPAN * subject.horizons.outcome
        self.arrived = Buckets(self.columns.by_arrival, span)
        self.predicted = Buckets(self.columns.by_prediction, span)
        self.marginal = Marginal(subject.outcomes)
        self.early = Early(subject.proxies, subject.outcomes)
        self.start = -1  # the position after which everything was seen
        self.estimated = 0  # proxies that came after this position have an early loss; 0: none has
        self.at = self.seq = 0  # of the last entry
        self.learnt = 0, 0  # position and time of the last LEARN entry
        self.looker = Looker(subject.proxies, subject.outcomes)

    def see(self, sightings: Sequence[ObservedEntry]) -> None:
        """Add what was seen."""
        if not sightings:
            return
        if self.start < 0:
            self.start = sightings[0].entry.seq - 1
        seen = sights(sightings, self.subject)
        self.seq, self.at = int(seen.seq[-1]), int(seen.at[-1])
        for at in (int(seen.at[0]), self.at):
            self.arrived.reach(at)
            self.predicted.reach(at)
        learns = np.flatnonzero(seen.kind == EntryKind.LEARN)
        if len(learns):
            self.learnt = int(seen.seq[learns[-1]]), int(seen.at[learns[-1]])
        self._count(seen)
        self._settle(seen)
        self._score(seen, sightings)

    def weigh(self, weights: dict[str, float]) -> None:
        """Note the weights of the families of experts as they are now."""
        if not self.seq:
            return
        now = np.array([self.at])
        self.arrived.add(now, self.columns.weights)
        for place, family in enumerate(self.subject.families):
            self.arrived.add(now, self.columns.weights + 1 + place, weights[family])

    def look(self) -> Drift:
        """Whether g is stable, by predictions that have matured; looked at again if enough more have."""
        stretch, pairs = self.predicted.stretches(), self.columns.pairs
        predictions, settled = stretch.sums[:, _COHORT["predictions"]], stretch.sums[:, _COHORT["outcome"]]
        wanted = matured(stretch, predictions, settled, self.at, self.subject.horizons.outcome)
        own = stretch._replace(sums=np.where(wanted[:, None], stretch.sums[:, pairs], 0.0))
        return self.looker.look(own, float(self.predicted.gone[pairs].sum()))

    def _count(self, seen: Sights) -> None:
        """How much of everything arrived, and when."""
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

    def _settle(self, seen: Sights) -> None:
        """What is awaited no longer, how long it took where it is known, and pairs of proxy and outcome."""
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

    def _score(self, seen: Sights, sightings: Sequence[ObservedEntry]) -> None:
        """Losses: those expected of predictions whose proxies came, and those of predictions whose outcomes came."""
        mine = seen.predicted > self.start
        unknown = (seen.outcome.seq == 0) | (seen.outcome.seq > seen.seq)
        asked = np.flatnonzero(seen.proxy.teaches & unknown & mine)
        came = np.flatnonzero(seen.outcome.teaches)
        told = bodies(sightings, asked, self.subject, MOST_LOSS)
        answered = bodies(sightings, came, self.subject, MOST_LOSS)
        y, before = seen.outcome.value[came], (seen.proxy.seq[came] > 0) & (seen.proxy.seq[came] < seen.seq[came])
        matured = Given(seen.seq[came[before]], seen.proxy.value[came[before]], answered.said[before])
        expected = self.early.fold(Given(seen.seq[asked], seen.proxy.value[asked], told.said), matured, y[before])
        self._add_expected(seen, asked, expected)
        if not len(came):
            return
        self.marginal.add(seen.seq[came], y)
        rows = np.arange(len(y))
        served = -answered.said[rows, y]
        direct = self._direct(answered.memo[rows, :, y]) if self.subject.direct else np.zeros(len(y))
        marginal = self.marginal.losses(answered.model, y)
        amounts = np.ones(len(y)), served, direct, marginal, (served - direct) ** 2, (served - marginal) ** 2
        for place, amount in enumerate(amounts):
            self.arrived.add(seen.at[came], self.columns.losses + place, amount)
        self._add_true(seen, came[before], served[before])
        self._add_reliability(seen.at[came], y, np.exp(answered.said))

    def _direct(self, said: Array) -> Array:
        """The loss of the direct experts, all of one weight; said [N, K] of what came."""
        return -np.log(np.exp(said[:, list(self.subject.direct)]).mean(axis=1))

    def _add_expected(self, seen: Sights, asked: Array, expected: Array) -> None:
        estimated = asked[~np.isnan(expected)]
        if len(estimated):
            self.estimated = self.estimated or int(seen.seq[estimated[0]]) - 1
            self.predicted.add(seen.predicted_at[estimated], _COHORT["early_rows"])
            self.predicted.add(seen.predicted_at[estimated], _COHORT["early"], expected[~np.isnan(expected)])

    def _add_true(self, seen: Sights, came: Array, served: Array) -> None:
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
