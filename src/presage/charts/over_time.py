"""Charts over time: losses, winners, and how late feedback is."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from presage.charts.style import COLOURS, DASHES, FONT, KeyLine, rows_chart, scale, short, styled
from presage.later import alt
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
        """The tooltip of a mark."""
        if not self.dates:
            return alt.Tooltip(f"{field}:Q", title=self.title)
        return alt.Tooltip(f"{field}:T", title="from", format="%Y-%m-%d %H:%M", timeUnit="utcyearmonthdatehoursminutes")

    @property
    def kind(self) -> str:
        """Vega's letter for what the axis measures."""
        return "T" if self.dates else "Q"


def over_time_chart(
    times: Times,
    lines: Mapping[str, Array],
    title: str,
    marks: Mapping[str, float],
    *,
    zero: bool = False,
    share: bool = False,
) -> Any:
    """Lines [B] by family over blocks of time, with named moments marked.

    `zero` draws the line at 0; `share` makes the vertical axis that of shares of a whole.
    """
    names = list(lines)
    rows = [
        {"family": name, "at": at, "from": float(start), "value": short(value)}
        for name, values in lines.items()
        for at, start, value in zip(times.middles, times.edges[:-1], values, strict=True)
    ]
    axis = alt.Axis(tickCount=5, format="%") if share else alt.Axis(tickCount=5)
    ends = alt.Scale(domain=[0, 1]) if share else alt.Scale(zero=False)
    told = [alt.Tooltip("family:N", title="forecaster"), times.told("from"), alt.Tooltip("value:Q", title=title)]
    line = (
        rows_chart(rows)
        .mark_line(strokeWidth=2)
        .encode(
            x=times.axis("at"),
            y=alt.Y("value:Q", title=title, scale=ends, axis=axis),
            color=alt.Color("family:N", scale=scale(COLOURS, names), legend=None),
            strokeDash=alt.StrokeDash("family:N", scale=scale(DASHES, names), legend=None),
            tooltip=told,
        )
    )
    layers = [line, *_moments(times, marks)]
    if zero:
        layers.insert(0, rows_chart([{"value": 0}]).mark_rule(color="#333333").encode(y=alt.Y("value:Q", title=title)))
    return styled(alt.layer(*layers).properties(width="container", height=240))


def _moments(times: Times, marks: Mapping[str, float]) -> list[Any]:
    """Upright lines at moments with names, such as when the first outcomes are known."""
    inside = {text: at for text, at in marks.items() if times.edges[0] <= at <= times.edges[-1]}
    drawn = []
    for place, (text, at) in enumerate(inside.items()):
        late = at > (times.edges[0] + times.edges[-1]) / 2  # the words stand where there is room for them
        base = rows_chart([{"at": float(at), "text": text}]).encode(x=times.axis("at"))
        words = base.mark_text(
            align="right" if late else "left", dx=-4 if late else 4, baseline="top", font=FONT, color="#444444"
        )
        drawn += [
            base.mark_rule(strokeDash=[6, 4], color="#777777"),
            words.encode(y=alt.value(14 * place), text="text:N"),
        ]
    return drawn


ALIKE = 1e-4
"""A forecaster within this many nats of the lowest loss wins as well; if all are, there is no winner."""

CLOSE, FAR = "#c6c6c6", "#fbfbfb"
"""The shades of families that do not win: darker ones come nearer."""


def winners_chart(times: Times, losses: Mapping[str, Array]) -> Any:
    """One row per family, one cell per block of time [B]; winners' cells have the colours of their families.

    A tie has several winners. A block is blank if all are equal, or nothing is known.
    """
    names, values = list(losses), np.stack(list(losses.values()))  # [K, B]
    known = ~np.isnan(values).any(axis=0)
    behind = values - np.where(known, np.where(known, values, 0).min(axis=0), np.nan)
    rows = [
        {
            "family": name,
            "from": float(times.edges[block]),
            "to": float(times.edges[block + 1]),
            "behind": short(behind[place, block]),
            "loss": short(values[place, block]),
            "wins": bool(behind[place, block] <= ALIKE),
        }
        for place, name in enumerate(names)
        for block in np.flatnonzero(known & (np.where(known, behind, 0).max(axis=0) > ALIKE))
    ]
    most = max(float(np.quantile(behind[:, known], 0.9)), 1e-6) if known.any() else 1.0
    y = alt.Y("family:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=alt.Axis(ticks=False))
    told = [
        alt.Tooltip("family:N", title="forecaster"),
        times.told("from"),
        alt.Tooltip("loss:Q"),
        alt.Tooltip("behind:Q", title="behind the best"),
    ]
    cells = rows_chart(rows).encode(x=times.axis("from"), x2="to", y=y, tooltip=told)
    shade = alt.Scale(domain=[0, most], range=[CLOSE, FAR], clamp=True)
    others = (
        cells.transform_filter("!datum.wins").mark_rect().encode(fill=alt.Fill("behind:Q", scale=shade, legend=None))
    )
    colour = alt.Color("family:N", scale=scale(COLOURS, names), legend=None)
    best = cells.transform_filter("datum.wins").mark_rect(stroke=None).encode(color=colour)
    layers = alt.layer(others, best).properties(width="container", height=26 * len(names))
    return styled(layers)


PROXIES = (
    KeyLine("#0072B2", [7, 3]),
    KeyLine("#D55E00", [2, 2]),
    KeyLine("#009E73", [9, 2, 2, 2]),
    KeyLine("#CC79A7", [4, 4]),
    KeyLine("#56B4E9", [12, 3]),
)
OUTCOME = KeyLine("#000000", [1, 0])


def signal_lines(proxies: Sequence[str], outcome: str) -> dict[str, KeyLine]:
    """How the lines of proxies and of the outcome look."""
    return {name: PROXIES[place % len(PROXIES)] for place, name in enumerate(proxies)} | {outcome: OUTCOME}


def delays_chart(lines: Mapping[str, KeyLine], at: Array, shares: Mapping[str, Array], unit: str) -> Any:
    """Steps of the share [G] of each signal that is known `at` [G] a time after the prediction, in some unit."""
    names = list(shares)
    rows = [
        {"signal": name, "after": short(after), "share": short(share)}
        for name in names
        for after, share in zip(at, shares[name], strict=True)
    ]
    colour, dash = ([getattr(lines[name], part) for name in names] for part in ("colour", "dash"))
    chart = rows_chart(rows).mark_line(interpolate="step-after", strokeWidth=2)
    whole, ends = alt.Scale(domain=[0, 1]), alt.Scale(domain=[0, float(at[-1])])
    steps = alt.Axis(tickCount=10, labelSeparation=8)
    return styled(
        chart.encode(
            x=alt.X("after:Q", title=f"{unit} after the prediction", scale=ends, axis=steps),
            y=alt.Y("share:Q", title="share known", axis=alt.Axis(format="%", tickCount=5), scale=whole),
            color=alt.Color("signal:N", scale=alt.Scale(domain=names, range=colour), legend=None),
            strokeDash=alt.StrokeDash("signal:N", scale=alt.Scale(domain=names, range=dash), legend=None),
            tooltip=["signal:N", alt.Tooltip("after:Q", title=unit), alt.Tooltip("share:Q", format=".1%")],
        ).properties(width="container", height=220)
    )
