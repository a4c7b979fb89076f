"""The panels of losses: over time, estimated from proxies, and the weights of experts."""

import numpy as np

from presage.service.dashboard.buckets import merge_neighbours
from presage.service.dashboard.columns import COHORT, LOSSES
from presage.service.dashboard.fold import Watch
from presage.service.dashboard.frame import POINTS, ROWS, EarlyLoss, Loss, Means, Weights, milliseconds, numbers, recent
from presage.spaces import Array

MATURE = 0.98
"""The share of the predictions of a point that need their outcome before the true loss is drawn."""

_LOSS = {name: place for place, name in enumerate(LOSSES)}
_COHORT = {name: place for place, name in enumerate(COHORT)}


def loss_panel(watch: Watch) -> Loss:
    """The log loss of the service, of the running marginal and of the direct experts, by arrival of outcomes."""
    stretch = watch.arrived.stretches()
    own = stretch._replace(sums=stretch.sums[:, watch.columns.losses : watch.columns.reliability])
    counted = own.sums[:, 0]
    points = merge_neighbours(own, counted, most=POINTS, least=max(ROWS, counted.sum() / 80))
    means = points.sums / np.maximum(points.sums[:, :1], 1)
    has_direct = bool(watch.subject.direct)
    means_now = _recent_means(own.sums, has_direct)
    return Loss(
        milliseconds(points.middle),
        numbers(means[:, _LOSS["served"]]),
        numbers(means[:, _LOSS["marginal"]]),
        numbers(means[:, _LOSS["direct"]]) if has_direct else None,
        means_now,
        _loss_words(means_now),
        "" if has_direct else "There are no direct experts to compare with.",
    )


def _recent_means(sums: Array, has_direct: bool) -> Means | None:
    rows, served, direct, marginal, over_direct, over_marginal = recent(sums, sums[:, 0]).sum(axis=0).tolist()
    if not rows:
        return None
    found = Means(int(rows), served / rows, marginal / rows, _gain(rows, marginal - served, over_marginal))
    if has_direct:
        found.direct, found.over_direct = direct / rows, _gain(rows, direct - served, over_direct)
    return found


def _loss_words(means: Means | None) -> str:
    if means is None:
        return "No outcomes yet."
    words = f"Last {means.rows:,} outcomes: a log loss of {means.served:.3f} nats per prediction, "
    words += f"{_than(means.over_marginal)} the running marginal"
    return words + (f" and {_than(means.over_direct)} the direct experts." if means.over_direct else ".")


def _than(gain: tuple[float, float]) -> str:
    mean, half = gain
    if abs(mean) <= half:
        return "no clear difference from"
    return f"{abs(mean):.3f} ± {half:.3f} {'less' if mean > 0 else 'more'} than"


def _gain(rows: float, total: float, squares: float) -> tuple[float, float]:
    """The mean and half its 95 % interval, rows taken as independent."""
    mean = total / rows
    return mean, 1.96 * float(np.sqrt(max(squares / rows - mean**2, 0.0) / rows))


def weights_panel(watch: Watch, forecaster: str) -> Weights:
    """The weights of the families of experts over time."""
    if not watch.subject.families:
        return Weights([], {}, f"A single forecaster ({forecaster}) has no expert weights.")
    stretch = watch.arrived.stretches()
    own = stretch._replace(sums=stretch.sums[:, watch.columns.weights :])
    points = merge_neighbours(own, own.sums[:, 0], most=POINTS, least=1)
    means = points.sums[:, 1:] / np.maximum(points.sums[:, :1], 1)
    lines = {family: numbers(means[:, place]) for place, family in enumerate(watch.subject.families)}
    return Weights(milliseconds(points.middle), lines)


def early_panel(watch: Watch) -> EarlyLoss:
    """Losses estimated from proxies, and the true ones of the same predictions, by time of prediction."""
    stretch = watch.predicted.stretches()
    own = stretch._replace(sums=stretch.sums[:, : len(COHORT)])
    rows = own.sums[:, _COHORT["early_rows"]]
    points = merge_neighbours(own, rows, most=POINTS, least=max(ROWS, rows.sum() / 80))
    sums = points.sums.T
    early = sums[_COHORT["early"]] / np.maximum(sums[_COHORT["early_rows"]], 1)
    true = sums[_COHORT["true"]] / np.maximum(sums[_COHORT["true_rows"]], 1)
    settled = sums[_COHORT["outcome"]] >= MATURE * sums[_COHORT["predictions"]]
    over = settled & (sums[_COHORT["true_rows"]] >= ROWS) & (points.end <= watch.at)
    until = int(points.end[over][-1]) // 1000 if over.any() else None
    compared = _compared(points.sums[over].sum(axis=0)) if over.any() else None
    words = _early_words(compared, len(points.sums))
    true_lines = numbers(np.where(over, true, np.nan))
    return EarlyLoss(milliseconds(points.middle), numbers(early), true_lines, until, compared, words)


def _compared(sums: Array) -> tuple[int, float, float, float]:
    rows, true = sums[_COHORT["true_rows"]], sums[_COHORT["true"]]
    mean = true / rows
    half = 1.96 * float(np.sqrt(max(sums[_COHORT["true_squared"]] / rows - mean**2, 0.0) / rows))
    return int(rows), float(sums[_COHORT["early"]] / sums[_COHORT["early_rows"]]), float(mean), half


def _early_words(compared: tuple[int, float, float, float] | None, points: int) -> str:
    if not points:
        return "The estimate starts once some outcomes are known."
    if compared is None:
        return "The outcomes of the predictions with an estimate are not all in yet."
    rows, early, true, half = compared
    off = abs(early - true)
    verdict = "within chance" if off <= half else "more than chance"
    return (
        f"Over {rows:,} predictions with all outcomes in: {early:.3f} expected when the proxies arrived, "
        f"{true:.3f} ± {half:.3f} true. The difference is {off:.3f}: {verdict}."
    )
