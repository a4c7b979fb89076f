"""Charts as files: SVG and PNG without a browser, and one HTML page that needs no network."""

import html
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import vl_convert

from presage.charts.style import alt


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


def as_picture(svg: str, zoom: float = 2.0) -> Picture:
    """An SVG, and the PNG of it."""
    return Picture(svg.encode(), bytes(vl_convert.svg_to_png(svg, scale=zoom)))


def _shorter(svg: str) -> str:
    """The picture with no more than two decimals in its places: a hundredth of a point cannot be seen."""

    def rounded(number: re.Match[str]) -> str:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")

    return re.sub(r' (d|transform)="[^"]*"', lambda place: re.sub(r"\d+\.\d{3,}", rounded, place[0]), svg)


_bundle: Callable[..., str] = vl_convert.javascript_bundle


def warm_up() -> None:
    """Load the library of charts and start the renderer: a second or two, while something else computes."""
    drawn = alt.Chart(alt.Data(values=[])).mark_point().to_json(validate=False)
    vl_convert.svg_to_png(vl_convert.vegalite_to_svg(drawn))


class Section(NamedTuple):
    """A part of a page: a heading, HTML, and a chart if there is one."""

    heading: str
    text: str
    chart: Any = None


STYLE = """
body { font: 16px/1.5 Helvetica, Arial, sans-serif; color: #1a1a1a; background: #fff; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; }
td, th { padding: .3rem .9rem .3rem 0; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, th:first-child { text-align: left; } .lead { font-size: 1.1rem; }
.chart { width: 100%; overflow-x: auto; }
code, pre { background: #f5f5f5; padding: .1rem .3rem; } footer { margin-top: 3rem; color: #555; font-size: .85rem; }
"""


def page(title: str, lead: str, sections: list[Section], foot: str) -> bytes:
    """A self-contained HTML page: the charts' code is inside, nothing is fetched."""
    charts = [(f"chart-{number}", part.chart) for number, part in enumerate(sections) if part.chart is not None]
    bodies = [_body(number, part) for number, part in enumerate(sections)]
    draws = [f"vegaEmbed('#{name}', {_script_safe(chart.to_json())}, {{actions: false}});" for name, chart in charts]
    return "".join(
        [
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<link rel="icon" href="data:,"><style>{STYLE}</style></head><body>',
            f'<h1>{html.escape(title)}</h1><p class="lead">{html.escape(lead)}</p>',
            *bodies,
            f"<footer>{html.escape(foot)}</footer>",
            f'<script type="text/javascript">{_bundle()}</script>',
            f'<script type="text/javascript">{"".join(draws)}</script></body></html>\n',
        ]
    ).encode()


def table(head: list[str], rows: list[list[str]]) -> str:
    """An HTML table of plain text."""
    cells = ["".join(f"<th>{html.escape(cell)}</th>" for cell in head)]
    cells += ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _body(number: int, part: Section) -> str:
    chart = f'<div class="chart" id="chart-{number}"></div>' if part.chart is not None else ""
    return f"<h2>{html.escape(part.heading)}</h2>{part.text}{chart}"


def _script_safe(specification: str) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(json.loads(specification)).replace("<", "\\u003c")
