"""How well each forecaster did on a log: loss, calibration and ranking, with intervals."""

from typing import Any, NamedTuple

import numpy as np

from presage.backtest.replay import Said
from presage.metrics.bootstrap import bootstrap_differences, bootstrap_means
from presage.metrics.calibration import calibration_error, predicted_to_observed
from presage.metrics.intervals import Interval
from presage.metrics.loss import log_loss
from presage.metrics.ranking import auc_of_each, mean_average_precision, ndcg
from presage.spaces import Array


class Losses(NamedTuple):
    """The mean losses of one forecaster."""

    overall: Interval
    new_instances: Interval  # on rows of instances with a proxy and no outcome yet
    gain: Interval  # how much less it loses than the running marginal


class Score(NamedTuple):
    """What is reported of one forecaster."""

    losses: Losses
    calibration_error: float
    predicted_to_observed: list[float]  # by outcome
    auc: list[float]  # of each outcome against the rest
    ndcg: float | None  # of the last outcome's probability within groups of candidates, where there are groups
    mean_average_precision: float | None

    def as_json(self) -> dict[str, Any]:
        """The score as JSON values; NaN becomes null."""
        log_loss, low, high = self.losses.overall
        plain = {
            "log_loss": log_loss,
            "low": low,
            "high": high,
            "new_instances": self.losses.new_instances.mean,
            "gain": self.losses.gain._asdict(),
            **dict(zip(self._fields[1:], self[1:], strict=True)),
        }
        return {name: _plain(value) for name, value in plain.items()}


def score_log(said: Said, y: Array, new: Array, group: Array | None, against: Array) -> dict[str, Score]:
    """The score of each forecaster by what it said of outcomes y [N]; `against` [N] are the marginal's losses."""
    losses = np.stack([log_loss(each, y) for each in said.values()])  # [K, N]
    means = bootstrap_means(losses)
    on_new = bootstrap_means(np.where(new, losses, np.nan))
    gains = bootstrap_differences(-losses, -against)
    losses_of = zip(means, on_new, gains, strict=True)
    return {n: _score(each, y, group, Losses(*i)) for (n, each), i in zip(said.items(), losses_of, strict=True)}


def _score(said: Array, y: Array, group: Array | None, losses: Losses) -> Score:
    probabilities = np.exp(said)
    known = y >= 0
    ranked = None if group is None else (probabilities[known, -1], y[known] == said.shape[1] - 1, group[known])
    return Score(
        losses,
        calibration_error=float(calibration_error(probabilities, y)),
        predicted_to_observed=predicted_to_observed(probabilities, y).tolist(),
        auc=auc_of_each(probabilities, y).tolist(),
        ndcg=None if ranked is None else float(ndcg(ranked[0], ranked[1].astype(float), ranked[2])),
        mean_average_precision=None if ranked is None else float(mean_average_precision(*ranked)),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
