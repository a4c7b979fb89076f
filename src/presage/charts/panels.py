"""Panels that figures are made of: curves, and reliability plots."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from presage.charts.style import COLOURS, DASHES, FORECASTERS, SHAPES, rows_chart, scale, short, styled
from presage.later import alt
from presage.metrics.calibration import Reliability
from presage.metrics.intervals import mean_intervals
from presage.spaces import Array

POINTS = 240
"""The most points drawn of a curve."""


class Axes(NamedTuple):
    """What a panel of curves shows."""

    title: str
    x: str
    y: str
    switch: float | None = None  # where a dashed line stands
    first: float = 0.0  # where the horizontal axis begins


def curves_panel(axes: Axes, at: Array, curves: dict[str, Array], width: int = 380) -> Any:
    """The means of curves [trials, points] against `at` [points], with 95 % bands; thinned out to be light."""
    chosen = np.unique(np.linspace(0, len(at) - 1, min(POINTS, len(at))).round().astype(int))
    rows = []
    for name, values in curves.items():
        mean, low, high = (part[chosen] for part in mean_intervals(values))
        for x, m, a, b in zip(at[chosen], mean, low, high, strict=True):
            rows.append({"forecaster": name, "x": _short(x), "mean": _short(m), "low": _short(a), "high": _short(b)})
    names = [name for name in FORECASTERS if name in curves]
    legend = alt.Legend(orient="bottom", symbolType="stroke", symbolSize=500)
    colour = alt.Color("forecaster:N", scale=scale(COLOURS, names), title=None, legend=legend)
    dash = alt.StrokeDash("forecaster:N", scale=scale(DASHES, names), title=None, legend=legend)
    x = alt.X("x:Q", title=axes.x, scale=alt.Scale(domain=[axes.first, float(np.ceil(at[-1] - 1e-6))], nice=False))
    y = alt.Y("mean:Q", title=axes.y, scale=alt.Scale(zero=False))
    base = rows_chart(rows)
    line = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, strokeDash=dash)
    layers = [
        base.transform_filter(f"datum.forecaster == '{name}'")
        .mark_area(opacity=0.2, color=COLOURS[name])  # without a channel of its own, it stays out of the legend
        .encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
        for name in names
    ]
    layers.append(line)
    if axes.switch is not None:
        rule = rows_chart([{"x": axes.switch}]).mark_rule(color="#555555", strokeDash=[5, 4])
        layers.append(rule.encode(x=alt.X("x:Q", title=axes.x)))
    return alt.layer(*layers).properties(width=width, height=260, title=alt.TitleParams(axes.title, fontSize=12))


def _short(number: float) -> float:
    return float(f"{number:.5g}")


def reliability_chart(tables: Mapping[str, Reliability]) -> Any:
    """Points by family, each a bin of predictions with its interval; on the slanted line all would be right."""
    names = list(tables)
    rows: list[dict[str, Any]] = [
        {"family": name, "rows": int(size)}
        | dict(zip(("predicted", "observed", "low", "high"), map(short, parts), strict=True))
        for name, found in tables.items()
        for size, *parts in zip(*found, strict=True)
    ]
    most = max(float(np.ceil(10 * max(max(row["predicted"], row["high"]) for row in rows) - 1e-9) / 10), 0.1)
    ends = alt.Scale(domain=[0, most], nice=False)
    axis = alt.Axis(tickCount=5)
    x = alt.X("predicted:Q", title="predicted", scale=ends, axis=axis)
    y = alt.Y("observed:Q", title="happened", scale=ends, axis=axis)
    colour = alt.Color("family:N", scale=scale(COLOURS, names), legend=None)
    shape = alt.Shape("family:N", scale=scale(SHAPES, names), legend=None)
    base = rows_chart(rows).encode(x=x, color=colour)
    right = rows_chart([{"predicted": 0, "observed": 0}, {"predicted": most, "observed": most}])
    layers = alt.layer(
        right.mark_line(color="#999999", strokeDash=[3, 3]).encode(x=x, y=y),
        base.mark_rule().encode(y=alt.Y("low:Q", title="happened", scale=ends), y2="high:Q"),
        base.mark_point(filled=True, size=55, opacity=0.85).encode(
            y=y, shape=shape, tooltip=["family:N", "predicted:Q", "observed:Q", "rows:Q"]
        ),
    )
    return styled(layers.properties(width="container", height=230))
