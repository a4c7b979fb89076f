"""Panels that figures are made of: curves, and reliability plots."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from presage.charts.style import COLOURS, DASHES, FONT, FORECASTERS, SHAPES, rows_chart, scale, short, styled
from presage.later import alt
from presage.metrics.calibration import Reliability
from presage.metrics.intervals import Interval, mean_intervals
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


class Bar(NamedTuple):
    """A named number, and whether it stands out."""

    name: str
    value: Interval
    strong: bool


STRONG, WEAK = "#0072B2", "#b9b9b9"


def bars_chart(bars: Sequence[Bar], title: str, of: str) -> Any:
    """A bar for each number with its interval and its value in digits, in the order in which they are given."""
    names = [bar.name for bar in bars]
    largest = max((abs(bar.value.mean) for bar in bars if bar.value.mean), default=1.0)
    digits = max(3, 2 - math.floor(math.log10(largest))) if largest > 0 else 3
    rows: list[dict[str, Any]] = [
        {"name": bar.name, "strong": bar.strong, "text": f"{bar.value.mean:+.{digits}f}"}
        | dict(zip(Interval._fields, map(short, bar.value), strict=True))
        for bar in bars
    ]
    ends = [value for bar in bars for value in (bar.value.low, bar.value.high) if not np.isnan(value)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    span = high - low or 1.0
    x = alt.Scale(domain=[low - 0.02 * span, high + 0.3 * span], nice=False)  # digits stand at the end
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=150))
    told = [alt.Tooltip("name:N", title=of), *(alt.Tooltip(f"{part}:Q") for part in Interval._fields)]
    base = rows_chart(rows).encode(y=y, tooltip=told)
    axis = alt.Axis(tickCount=5, labelOverlap=True)
    colour = alt.Color("strong:N", scale=alt.Scale(domain=[True, False], range=[STRONG, WEAK]), legend=None)
    layers = alt.layer(
        base.mark_bar(height={"band": 0.6}).encode(x=alt.X("mean:Q", title=title, scale=x, axis=axis), color=colour),
        base.mark_rule(color="#222222", strokeWidth=1.4).encode(x=alt.X("low:Q", title=title, scale=x), x2="high:Q"),
        base.mark_text(align="left", dx=6, font=FONT, fontSize=12).encode(
            x=alt.X("high:Q", title=title, scale=x), text="text:N"
        ),
        rows_chart([{"mean": 0}]).mark_rule(color="#333333").encode(x=alt.X("mean:Q", title=title, scale=x)),
    )
    return styled(layers.properties(width="container", height=26 * max(len(bars), 2)))
