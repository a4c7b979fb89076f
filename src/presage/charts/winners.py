"""Who wins when: in each block of time the family with the least loss, and how near the others come."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from presage.charts.style import COLOURS, alt, rows_chart, scale, short, styled
from presage.charts.times import Times
from presage.spaces import Array

ALIKE = 1e-4
"""If all come within so many nats, nobody wins."""

CLOSE, FAR = "#c6c6c6", "#fbfbfb"
"""The shades of families that do not win: darker ones come nearer."""


def winners_chart(times: Times, losses: Mapping[str, Array]) -> Any:
    """A row for each family, a cell for each block of time [B]; the winner's cell has the colour of its family."""
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
            "wins": bool(behind[place, block] <= 0),
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
