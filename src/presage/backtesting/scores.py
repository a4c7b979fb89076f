"""Scores of forecasts on a log: log loss, AUC, calibration, each with its interval."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from presage.backtesting.families import direct_counterpart
from presage.backtesting.replay import Said
from presage.drivers.threads import over_cores
from presage.metrics.bootstrap import bootstrap_mean
from presage.metrics.calibration import Reliability, calibration_error, predicted_to_observed, reliability
from presage.metrics.intervals import Interval
from presage.metrics.losses import log_loss
from presage.metrics.ranking import mean_average_precision, ndcg
from presage.spaces import Array


def aucs(probabilities: Array, y: Array) -> Array:  # [Y]
    """The AUC of each outcome against the rest, as `presage.metrics.ranking.auc_of_each` gives it; all y are known."""
    return np.array([_auc(each, y == outcome) for outcome, each in enumerate(probabilities.T)])


def _auc(scores: Array, positive: Array) -> float:
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if not positives or not negatives:
        return float("nan")
    # Floats that are not negative sort like their bits, whose first is 0: it makes room for the label.
    keys = np.ascontiguousarray(scores, np.float32).view(np.uint32) << np.uint32(1)
    keys |= positive
    keys.sort()
    label = (keys & np.uint32(1)).astype(np.bool_)
    # Among equal scores negatives come first, so that a positive has all of them below it: half of them too many.
    below = int(np.flatnonzero(label).sum()) - positives * (positives - 1) // 2
    keys >>= np.uint32(1)
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    equal = np.add.reduceat(label, first, dtype=np.int64)
    sizes = np.diff(np.append(first, len(keys)))
    return float((below - (equal * (sizes - equal)).sum() / 2) / (positives * negatives))


BINS = 12
"""How many bins a table has, of equally many rows each."""


def reliabilities(said: Said, y: Array, names: Iterable[str]) -> dict[str, list[Reliability]]:
    """For each of the named forecasters a table for each outcome; rows whose outcome nobody knows are left out."""
    known = y >= 0

    def tables(name: str) -> list[Reliability]:
        return [
            reliability(np.exp(each[known]), y[known] == outcome, BINS, "rows")
            for outcome, each in enumerate(said[name].T)
        ]

    chosen = list(names)
    return dict(zip(chosen, over_cores(tables, chosen), strict=True))


class OverDirect(NamedTuple):
    """How much less a forecaster loses than a direct one, row by row."""

    against: str
    overall: Interval
    new_instances: Interval

    def as_json(self) -> dict[str, Any]:
        """The gain as JSON values."""
        return {"against": self.against, **self.overall._asdict(), "new_instances": self.new_instances._asdict()}


class ScoredLosses(NamedTuple):
    """The mean losses of one forecaster."""

    overall: Interval
    new_instances: Interval  # on rows of instances with a proxy and no outcome yet
    gain: Interval  # how far it lies below the running marginal
    over_direct: OverDirect | None = None  # the one that is built like it
    delay_cost: Interval | None = None  # how far it lies above its twin without delays, if that was played
    from_first: Interval | None = None  # on rows that were shown once some outcome was known


class Score(NamedTuple):
    """What is reported of one forecaster."""

    losses: ScoredLosses
    calibration_error: float
    predicted_to_observed: list[float]  # by outcome
    auc: list[float]  # of each outcome against the rest
    ndcg: float | None  # of the last outcome's probability within groups of candidates, where there are groups
    mean_average_precision: float | None
    seconds: float | None = None  # how long it was played, where that is told

    def with_delay_cost(self, cost: Interval) -> "Score":
        """The same with what its delays cost it."""
        return self._replace(losses=self.losses._replace(delay_cost=cost))


def score_log(
    said: Said, y: Array, new: Array, group: Array | None, against: Array, *, first: int = 0
) -> dict[str, Score]:
    """The score of each forecaster by what it said of outcomes y [N]; `against` [N] are the marginal's losses.

    `first` is the first row that was shown once some outcome was known.
    """
    losses, known = _losses(said, y, new, against, first), y >= 0

    def score(name: str) -> Score:
        parts = said[name], y, group
        judged = parts if known.all() else (None if part is None else part[known] for part in parts)
        return _score(losses[name], *judged)

    return dict(zip(said, over_cores(score, said), strict=True))


def gain_over(said: Said, y: Array, new: Array, ours: str, direct: str) -> OverDirect:
    """How much less one forecaster loses than another."""
    return _over(direct, log_loss(said[direct], y) - log_loss(said[ours], y), new)


def _over(direct: str, gain: Array, new: Array) -> OverDirect:
    """The gain [N] over a direct forecaster: an interval is that of the gain alone, whoever else is played."""
    return OverDirect(direct, bootstrap_mean(gain), bootstrap_mean(_only(gain, new)))


def _only(losses: Array, rows: Array) -> Array:
    return np.where(rows, losses, np.float32(np.nan))


def percent_of(gain: Interval, loss: float) -> Interval:
    """A gain in nats as percent of a log loss.

    >>> percent_of(Interval(0.02, 0.01, 0.03), 0.5)
    Interval(mean=4.0, low=2.0, high=6.0)
    """
    return Interval(*(100 * part / loss for part in gain))


def _losses(said: Said, y: Array, new: Array, against: Array, first: int) -> dict[str, ScoredLosses]:
    """The mean losses of each forecaster."""

    def losses(name: str) -> ScoredLosses:  # one series after the other: together those of a long log take much memory
        own, direct = log_loss(said[name], y), direct_counterpart(name, said)
        found = ScoredLosses(bootstrap_mean(own), bootstrap_mean(_only(own, new)), bootstrap_mean(against - own))
        found = found._replace(from_first=bootstrap_mean(_only(own, np.arange(len(own)) >= first)))
        if direct is None:
            return found
        return found._replace(over_direct=_over(direct, log_loss(said[direct], y) - own, new))

    return dict(zip(said, over_cores(losses, said), strict=True))


def _score(losses: ScoredLosses, said: Array, y: Array, group: Array | None) -> Score:
    """The score of what was said of outcomes y [n] that are all known."""
    probabilities = np.exp(said)
    last = probabilities[:, -1], y == said.shape[1] - 1
    return Score(
        losses,
        calibration_error=float(calibration_error(probabilities, y)),
        predicted_to_observed=predicted_to_observed(probabilities, y).tolist(),
        auc=aucs(probabilities, y).tolist(),
        ndcg=None if group is None else float(ndcg(last[0], last[1].astype(float), group)),
        mean_average_precision=None if group is None else float(mean_average_precision(*last, group)),
    )


def plain_json(value: Any) -> Any:
    """A value as JSON takes it: NaN becomes null."""
    if isinstance(value, dict):
        return {name: plain_json(part) for name, part in value.items()}
    if isinstance(value, list):
        return [plain_json(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
