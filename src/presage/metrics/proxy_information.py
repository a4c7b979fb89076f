"""How much a proxy says about the outcome, what it leaves to the instance, and what passes through it; in nats per row.

    I(Y;Z)      what the proxy tells
    I(X;Y|Z)    the sufficiency gap: what the instance tells once the proxy is known
    I(X;Y)      what the instance tells
    share       of I(X;Y) that passes through the proxy (see `passage`)

I(Y;Z) is of a small table: the plug-in estimate less its bias, (|Z| - 1)(|Y| - 1) / 2n (Miller and Madow). The others
are of tables with many rare instances: see `divergence` for why and how these are estimated.
"""

from typing import NamedTuple

import numpy as np

from presage.errors import ShapeError
from presage.metrics.divergence import Divergence, divergence
from presage.metrics.families import families
from presage.metrics.intervals import Estimate
from presage.metrics.passage import passed
from presage.metrics.special import student_975, x_log_y
from presage.spaces import Array, check_symbols, whole_numbers


class Information(NamedTuple):
    """How much proxies and instances say about outcomes."""

    entropy: Estimate  # H(Y)
    information: Estimate  # I(Y;Z)
    gap: Estimate  # I(X;Y|Z)
    total: Estimate  # I(X;Y)
    share: Estimate  # from 0 to 1; NaN where the instance tells nothing that could pass


def information(
    x: Array, z: Array, y: Array, symbols: int, outcomes: int, *, block: Array | None = None
) -> Information:
    """How much z and x say about y, from rows [n] in which all three are known.

    Args:
        x: instances, any whole numbers from 0.
        z: proxies, of which there are `symbols`.
        y: outcomes, of which there are `outcomes`.
        symbols: |Z|.
        outcomes: |Y|.
        block: pieces of time [n], from 0; rows of different ones count as independent. Without it all rows do.

    >>> x, y = np.arange(1000) % 2, np.arange(1000) // 2 % 2
    >>> told = information(x, y, y, symbols=2, outcomes=2)
    >>> round(told.information.value, 2), round(told.gap.value, 2)
    (0.69, 0.0)
    """
    x, z, y = whole_numbers("instance", x), check_symbols("proxy", z, symbols), check_symbols("outcome", y, outcomes)
    if not x.shape == z.shape == y.shape or x.ndim != 1 or len(x) < 2:
        found = {"x": x.shape, "z": z.shape, "y": y.shape}
        raise ShapeError("information needs rows of x, z and y", found, "give three arrays of one length, 2 or more")
    alone = np.zeros(len(x), np.int64)
    by_proxy, by_instance = families(x, z, y, (symbols, outcomes)), families(x, alone, y, (1, outcomes))
    gap, total = divergence(by_proxy), divergence(by_instance)
    through = passed(families(x, alone, z, (1, symbols)), by_proxy, by_instance)
    entropy, told = _of_small_table(by_proxy.pooled, z, y, block)
    return Information(
        entropy, told, _estimate(gap, block), _estimate(total, block), _share(through, total, gap, block)
    )


def _of_small_table(counts: Array, z: Array, y: Array, block: Array | None) -> tuple[Estimate, Estimate]:
    """H(Y) and I(Y;Z)."""
    rows = counts.sum()
    of_z, of_y = counts.sum(axis=1), counts.sum(axis=0)
    freedom = int(np.count_nonzero(of_y)) - 1
    shared = freedom * (int(np.count_nonzero(of_z)) - 1)
    surprise = -np.log(np.maximum(of_y, 1) / rows)
    told = (np.log(np.maximum(counts, 1) / np.maximum(of_z, 1)[:, None]) + surprise)[z, y]
    entropy = -x_log_y(of_y / rows, of_y / rows).sum() + freedom / (2 * rows)
    most = float(np.log(max(len(of_y), 2)))
    return (
        _around(entropy, half_interval(surprise[y], block, freedom)).within(0, most),
        _around(told.mean() - shared / (2 * rows), half_interval(told, block, shared)).within(0, most),
    )


def _estimate(found: Divergence, block: Array | None) -> Estimate:
    half = float(np.hypot(found.of_strength, half_interval(found.of_rows, block, found.freedom)))
    return Estimate(found.value, found.value - half, found.value + half + found.unknown).within(0, found.most)


def _share(through: Divergence, total: Divergence, gap: Divergence, block: Array | None) -> Estimate:
    """The ratio of what passes to what there is, by the delta method.

    What does not pass is at most the gap, which is known better where it is small. A share that comes out below
    1 - gap / total by more than chance takes the interval of that bound.
    """
    if total.value <= 0:
        return Estimate(float("nan"), 0.0, 1.0)
    share = through.value / total.value
    of_rows = half_interval(through.of_rows - share * total.of_rows, block)
    half = float(np.linalg.norm([of_rows, through.of_strength, share * total.of_strength])) / total.value
    unseen = _unseen(len(gap.of_rows)) / total.value if gap.most <= 0 else 0.0
    bound, half = _estimate(gap, block), max(half, unseen)
    least = 1 - max(bound.high / total.value, unseen)
    low = share - half if _estimate(total, block).low > 0 else 0.0
    high = share + half if bound.low > 0 and share > least else 1 - bound.low / total.value
    return Estimate(max(share, least), max(low, least), max(high, share)).within(0, 1)


def _unseen(rows: int) -> float:
    """The most nats a row that a proxy may leave which settled every outcome of so many rows.

    By the rule of three it may fail in 3 of them, and what comes then costs the entropy of that.
    """
    rare = min(3 / rows, 0.5)
    return float(rare * (1 - np.log(rare)))


def _around(value: float, half: float) -> Estimate:
    return Estimate(float(value), float(value - half), float(value + half))


def half_interval(of_row: Array, block: Array | None, freedom: float = 0.0) -> float:
    """Half the 95 % interval of a mean over rows [n], those of one `block` depending on each other.

    Where nothing is told, rows do not vary, and twice the sum of what they tell is a chi-square with `freedom`.
    """
    rows = len(of_row)
    chance = freedom / (2 * rows**2)
    if block is None:
        return float(1.96 * np.sqrt(of_row.var() / rows + chance))
    sizes = np.bincount(block)
    blocks = np.count_nonzero(sizes)
    if blocks < 2:
        raise ShapeError("an interval needs at least two blocks of time", blocks, "use more blocks")
    sums = np.bincount(block, of_row) - of_row.mean() * sizes
    variance = (sums**2).sum() / rows**2 * blocks / (blocks - 1)
    return float(student_975(int(blocks) - 1) * np.sqrt(variance + chance))
