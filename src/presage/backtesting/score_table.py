"""The table of scores, for the terminal and for the page."""

from collections.abc import Mapping

import numpy as np

from presage.backtesting.scores import Score
from presage.metrics.intervals import Interval

GAP = 2
"""Letters between columns."""

Table = tuple[list[str], list[list[str]]]


def score_table(scores: Mapping[str, Score]) -> Table:
    """Head and rows: losses with half the length of their 95 % intervals, then calibration and ranking.

    Columns that hold nothing are left out: delay costs without twins, ranking without groups.
    """
    columns = {
        "forecaster": list(scores),
        "log loss": [spread(score.losses.overall) for score in scores.values()],
        "gain on marginal": [spread(s.losses.gain) if name != "marginal" else "" for name, s in scores.items()],
        "gain over direct": [_over(score, "overall") for score in scores.values()],
        "new: log loss": [spread(score.losses.new_instances) for score in scores.values()],
        "new: over direct": [_over(score, "new_instances") for score in scores.values()],
        "delay cost": [spread(score.losses.delay_cost) for score in scores.values()],
        "calibration": [f"{score.calibration_error:.4f}" for score in scores.values()],
        "AUC": [_number(float(np.mean(score.auc))) for score in scores.values()],
        "NDCG": [_number(score.ndcg) for score in scores.values()],
        "MAP": [_number(score.mean_average_precision) for score in scores.values()],
    }
    held = {head: cells for head, cells in columns.items() if any(cells)}
    return list(held), [list(row) for row in zip(*held.values(), strict=True)]


def side_by_side(table: Table, width: int) -> list[Table]:
    """The table in pieces that fit into so many letters, each with the first column again.

    >>> side_by_side((["a", "b", "c"], [["1", "22", "333"]]), 6)
    [(['a', 'b'], [['1', '22']]), (['a', 'c'], [['1', '333']])]
    """
    head, rows = table
    columns = list(zip(*rows, strict=True))
    sizes = [max(map(len, [name, *cells])) for name, cells in zip(head, columns, strict=True)]
    pieces, used = [[0]], sizes[0]
    for place in range(1, len(head)):
        if used + GAP + sizes[place] > width and len(pieces[-1]) > 1:
            pieces.append([0])
            used = sizes[0]
        pieces[-1].append(place)
        used += GAP + sizes[place]
    return [([head[p] for p in piece], [[row[p] for p in piece] for row in rows]) for piece in pieces]


def spread(interval: Interval | None) -> str:
    """A mean with half the length of its interval; nothing where there is none.

    >>> spread(Interval(0.5, 0.49, 0.51)), spread(None)
    ('0.5000 ±0.0100', '')
    """
    if interval is None or np.isnan(interval.mean):
        return ""
    return f"{interval.mean:.4f} ±{(interval.high - interval.low) / 2:.4f}"


def _over(score: Score, part: str) -> str:
    return spread(getattr(score.losses.over_direct, part)) if score.losses.over_direct else ""


def _number(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.3f}"
