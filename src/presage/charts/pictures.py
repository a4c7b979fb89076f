"""Charts as files: SVG and PNG, without a browser."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import vl_convert


class Picture(NamedTuple):
    """A chart in both forms people put into documents."""

    svg: bytes
    png: bytes


def picture(chart: Any, zoom: float = 2.0) -> Picture:
    """The chart as SVG, and as PNG with `zoom` pixels to the point."""
    return as_picture(as_svg(chart), zoom)


def as_svg(chart: Any) -> str:
    """The chart as the text of an SVG file."""
    return _shorter(vl_convert.vegalite_to_svg(chart.to_json(validate=False)))


def drawn(figure: Callable[..., Any], *shown: Any) -> str:
    """What a function makes a chart of, as the text of an SVG file."""
    return as_svg(figure(*shown))


def as_picture(svg: str, zoom: float = 2.0) -> Picture:
    """An SVG, and the PNG of it."""
    return Picture(svg.encode(), bytes(vl_convert.svg_to_png(svg, scale=zoom)))


def _shorter(svg: str) -> str:
    """The picture with no more than two decimals in its places: a hundredth of a point cannot be seen."""

    def rounded(number: re.Match[str]) -> str:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")

    return re.sub(r' (d|transform)="[^"]*"', lambda place: re.sub(r"\d+\.\d{3,}", rounded, place[0]), svg)
