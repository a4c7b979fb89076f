"""The reliability plot: how often an outcome happened against how likely it was said to be."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from presage.charts.style import COLOURS, SHAPES, alt, rows_chart, scale, short, styled
from presage.metrics.calibration import Reliability


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
