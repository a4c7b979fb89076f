"""How charts look: their colours, scales and keys."""

import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from presage.later import alt

PATHS = {
    "circle": "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0",
    "square": "M-5,-5h10v10h-10z",
    "triangle-up": "M0,-6L6,5H-6z",
    "triangle-down": "M0,6L6,-5H-6z",
    "diamond": "M0,-7L5,0L0,7L-5,0z",
    "cross": "M-6,-2h4v-4h4v4h4v4h-4v4h-4v-4h-4z",
}
"""The shapes that points have, drawn around the origin."""


class KeyLine(NamedTuple):
    """How a line looks."""

    colour: str
    dash: list[int]


def family_lines(families: Sequence[str]) -> dict[str, KeyLine]:
    """The line of each family of forecasters."""
    return {family: KeyLine(COLOURS[family], DASHES[family]) for family in families}


def key(lines: Mapping[str, KeyLine], notes: Mapping[str, str] | None = None) -> str:
    """The key of these lines; a note stands behind its name in small letters."""
    items = []
    for name, line in lines.items():
        dash = " ".join(map(str, line.dash))
        items.append(
            '<li><svg width="34" height="10" aria-hidden="true"><line x1="0" y1="5" x2="34" y2="5" stroke-width="2.4" '
            f'stroke="{line.colour}" stroke-dasharray="{dash}"/></svg>{_named(name, notes)}</li>'
        )
    return f'<ul class="key">{"".join(items)}</ul>'


def points_key(families: Sequence[str], notes: Mapping[str, str] | None = None) -> str:
    """The key of the points that stand for families."""
    items = [
        f'<li><svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true"><path d="{PATHS[SHAPES[family]]}" '
        f'fill="{COLOURS[family]}"/></svg>{_named(family, notes)}</li>'
        for family in families
    ]
    return f'<ul class="key">{"".join(items)}</ul>'


def _named(name: str, notes: Mapping[str, str] | None) -> str:
    note = (notes or {}).get(name, name)
    return html.escape(name) + ("" if note == name else f" <small>{html.escape(note)}</small>")


FORECASTERS = ("direct", "factored", "residual", "mixture")

# Okabe and Ito's palette, ordered from dark to light; dashes and shapes say the same without colour.
COLOURS = {
    "direct": "#000000",
    "factored": "#0072B2",
    "residual": "#D55E00",
    "mixture": "#009E73",
    "rival": "#CC79A7",
    "marginal": "#8c8c8c",
}
DASHES = {
    "direct": [1, 0],
    "factored": [7, 3],
    "residual": [2, 2],
    "mixture": [9, 2, 2, 2],
    "rival": [5, 2, 1, 2],
    "marginal": [4, 3],
}
SHAPES = {
    "direct": "circle",
    "factored": "square",
    "residual": "triangle-up",
    "mixture": "diamond",
    "rival": "triangle-down",
    "marginal": "cross",
}
FAMILIES = ("marginal", *FORECASTERS, "rival")
"""The families in the order that keys and rows have them."""

FONT = "Helvetica, Arial, sans-serif"


def rows_chart(rows: list[dict[str, Any]]) -> Any:
    """A chart of these rows, which travel with it."""
    data: Callable[..., Any] = alt.Data
    return alt.Chart(data(values=rows))


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
