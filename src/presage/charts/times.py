"""Blocks of time on the horizontal axis of a chart: dates, or plain days."""

from typing import Any, NamedTuple

from presage.charts.style import alt
from presage.spaces import Array


class Times(NamedTuple):
    """Where blocks of time begin and end."""

    edges: Array  # [B + 1]: where each begins, and where the last ends; milliseconds since 1970 UTC, or numbers
    title: str
    dates: bool = True

    @property
    def middles(self) -> list[float]:
        """Where points that stand for blocks are drawn."""
        return [float(a + b) / 2 for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)]

    def axis(self, field: str) -> Any:
        """The horizontal axis for a field of the rows, from the first block to the last."""
        ends = [float(self.edges[0]), float(self.edges[-1])]
        if self.dates:  # as expressions, which Vega does not turn into dates on one layer and not on the other
            low, high = ({"expr": f"{end:.0f}"} for end in ends)
            scale = alt.Scale(type="utc", domainMin=low, domainMax=high, nice=False)
        else:
            scale = alt.Scale(domain=ends, nice=False)
        axis = alt.Axis(labelOverlap=True, labelSeparation=8, tickCount=8, grid=False)
        return alt.X(f"{field}:{self.kind}", title=self.title, scale=scale, axis=axis)

    def told(self, field: str) -> Any:
        """What a pointer resting on a mark is told of the moment."""
        if not self.dates:
            return alt.Tooltip(f"{field}:Q", title=self.title)
        return alt.Tooltip(f"{field}:T", title="from", format="%Y-%m-%d %H:%M", timeUnit="utcyearmonthdatehoursminutes")

    @property
    def kind(self) -> str:
        """Vega's letter for what the axis measures."""
        return "T" if self.dates else "Q"
