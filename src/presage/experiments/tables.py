"""Curves as CSV: a picture is never the only record."""

from presage.metrics.intervals import mean_intervals
from presage.spaces import Array


def curve_table(along: str, at: Array, curves: dict[str, Array]) -> str:
    """One row a point and curve, with the mean over trials [trials, points] and its 95 % interval."""
    lines = [f"{along},forecaster,mean,low,high"]
    for name, values in curves.items():
        for point, *numbers in zip(at, *mean_intervals(values), strict=True):
            lines.append(f"{point:.5g},{name},{','.join(f'{number:.6g}' for number in numbers)}")
    return "\n".join(lines) + "\n"
