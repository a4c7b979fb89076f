"""Delay curves: how much of each signal is known a while after the prediction."""

from collections.abc import Mapping, Sequence
from typing import Any

from presage.charts.key import Line
from presage.charts.style import alt, rows_chart, short, styled
from presage.spaces import Array

PROXIES = (
    Line("#0072B2", [7, 3]),
    Line("#D55E00", [2, 2]),
    Line("#009E73", [9, 2, 2, 2]),
    Line("#CC79A7", [4, 4]),
    Line("#56B4E9", [12, 3]),
)
OUTCOME = Line("#000000", [1, 0])


def signal_lines(proxies: Sequence[str], outcome: str) -> dict[str, Line]:
    """How the lines of proxies and of the outcome look."""
    return {name: PROXIES[place % len(PROXIES)] for place, name in enumerate(proxies)} | {outcome: OUTCOME}


def delays_chart(lines: Mapping[str, Line], at: Array, shares: Mapping[str, Array], unit: str) -> Any:
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
