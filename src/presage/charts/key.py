"""The key of charts, as HTML: it wraps on narrow screens, which a key inside a chart does not."""

import html
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from presage.charts.style import COLOURS, DASHES, SHAPES

PATHS = {
    "circle": "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0",
    "square": "M-5,-5h10v10h-10z",
    "triangle-up": "M0,-6L6,5H-6z",
    "diamond": "M0,-7L5,0L0,7L-5,0z",
    "cross": "M-6,-2h4v-4h4v4h4v4h-4v4h-4v-4h-4z",
}
"""The shapes that points have, drawn around the origin."""


class Line(NamedTuple):
    """How a line looks."""

    colour: str
    dash: list[int]


def family_lines(families: Sequence[str]) -> dict[str, Line]:
    """The line of each family of forecasters."""
    return {family: Line(COLOURS[family], DASHES[family]) for family in families}


def key(lines: Mapping[str, Line], notes: Mapping[str, str] | None = None) -> str:
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
