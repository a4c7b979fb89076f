"""How charts look: each forecaster has its own colour, dash and shape, so that grey prints and all eyes can tell."""

import math
from typing import Any

from presage.later import Later

alt: Any = Later("altair")
"""The library of charts takes half a second to import."""

FORECASTERS = ("direct", "factored", "residual", "mixture")

# Okabe and Ito's palette, ordered from dark to light; dashes and shapes say the same without colour.
COLOURS = {
    "direct": "#000000",
    "factored": "#0072B2",
    "residual": "#D55E00",
    "mixture": "#009E73",
    "marginal": "#8c8c8c",
}
DASHES = {
    "direct": [1, 0],
    "factored": [7, 3],
    "residual": [2, 2],
    "mixture": [9, 2, 2, 2],
    "marginal": [4, 3],
}
SHAPES = {
    "direct": "circle",
    "factored": "square",
    "residual": "triangle-up",
    "mixture": "diamond",
    "marginal": "cross",
}
FAMILIES = ("marginal", *FORECASTERS)
"""The families in the order that keys and rows have them."""

FONT = "Helvetica, Arial, sans-serif"


def rows_chart(rows: list[dict[str, Any]]) -> Any:
    """A chart of these rows, which travel with it."""
    return alt.Chart(alt.Data(values=rows))


def short(number: float) -> float | None:
    """A number with five digits, as charts carry it; nothing for NaN.

    >>> short(0.123456789), short(float("nan"))
    (0.12346, None)
    """
    return None if math.isnan(number) else float(f"{number:.5g}")


def scale(values: dict[str, Any], names: list[str]) -> Any:
    """The scale that gives each name its value."""
    return alt.Scale(domain=names, range=[values[name] for name in names])


def styled(chart: Any) -> Any:
    """A chart in the common style."""
    return (
        chart.configure_view(strokeOpacity=0)
        .configure_axis(labelFont=FONT, titleFont=FONT, titleFontWeight="normal", gridColor="#e6e6e6", titleFontSize=12)
        .configure_title(font=FONT, fontSize=14, anchor="start", subtitleFont=FONT, subtitleFontSize=11)
        .configure_legend(labelFont=FONT, titleFont=FONT, symbolStrokeWidth=2, symbolSize=120, labelFontSize=12)
        .configure_header(labelFont=FONT, titleFont=FONT, labelFontSize=12, labelFontWeight="bold")
    )
