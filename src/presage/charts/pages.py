"""One HTML page that needs no network: its scripts are inside, and its content policy lets it fetch nothing."""

import html
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import vl_convert


class Panel(NamedTuple):
    """A chart with words above it."""

    caption: str
    chart: Any


class PageSection(NamedTuple):
    """A part of a page: a heading, HTML, and charts below it."""

    heading: str
    text: str
    panels: Sequence[Panel] = ()
    small: bool = False  # the charts stand side by side where there is room


POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"

STYLE = """
* { box-sizing: border-box; }
body { font: 16px/1.5 Helvetica, Arial, sans-serif; color: #1a1a1a; background: #fff; max-width: 74rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin: 2.6rem 0 .4rem; }
p { max-width: 46rem; } .lead { font-size: 1.1rem; border-left: 4px solid #0072B2; padding-left: .9rem; }
.lead p { margin: .5rem 0; } .caption { margin: 1.2rem 0 .2rem; font-weight: bold; font-size: .95rem; }
.lead p:first-child, .lead .next { font-weight: bold; }
.whole { white-space: nowrap; }
.warning { background: #fdecea; border-left: 6px solid #c00000; padding: .5rem .9rem; margin: .6rem 0;
  max-width: 46rem; }
.warning p { margin: .2rem 0; } .warning small { color: #444; }
.meanings { font-size: .95rem; color: #333; padding-left: 1.2rem; max-width: 46rem; } .meanings li { margin: .15rem 0; }
.scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
td, th { padding: .3rem 0 .3rem 1.1rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap;
  vertical-align: top; }
th { border-bottom: 2px solid #888; vertical-align: bottom; white-space: normal; line-height: 1.2; }
td:first-child, th:first-child { text-align: left; padding-left: 0; }
tr.strong td { font-weight: bold; }
.words td { text-align: left; white-space: normal; overflow-wrap: anywhere; } .words td:first-child { min-width: 8rem; }
.panel { min-width: 0; } .chart { width: 100%; }
.small { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); gap: 0 1.5rem; }
.key { list-style: none; padding: 0; margin: .6rem 0; font-size: .9rem; display: flex; flex-wrap: wrap;
  gap: .2rem 1.4rem; }
.key svg { vertical-align: middle; margin-right: .35rem; } .key small { color: #555; }
.card { border: 1px solid #ccc; border-radius: 4px; padding: .2rem 1rem .6rem; margin: 1rem 0; }
.card h3 { font-size: 1rem; margin: .6rem 0 .2rem; }
code, pre { background: #f5f5f5; padding: .1rem .3rem; } pre { overflow-x: auto; padding: .6rem; font-size: .85rem; }
footer { margin-top: 3rem; color: #555; font-size: .85rem; }
@media (max-width: 40rem) { body { margin: 1rem auto; } h1 { font-size: 1.35rem; } table { font-size: .82rem; } }
"""

_bundle: Callable[..., str] = vl_convert.javascript_bundle


def page(title: str, lead: Sequence[str], sections: Sequence[PageSection], foot: str, *, top: str = "") -> bytes:
    """A self-contained HTML page: title, HTML for the `top`, the sentences that matter, then section after section."""
    panels = [panel for section in sections for panel in section.panels]
    names = [f"chart-{number}" for number in range(len(panels))]
    left = iter(names)
    bodies = [_body(section, [next(left) for _ in section.panels]) for section in sections]
    draws = [_drawing(name, panel.chart) for name, panel in zip(names, panels, strict=True)]
    return "".join(
        [
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f'<link rel="icon" href="data:,"><style>{STYLE}</style></head><body>',
            f'<h1>{html.escape(title)}</h1>{top}<div class="lead">{"".join(map(_sentence, lead))}</div>',
            *bodies,
            f"<footer>{html.escape(foot)}</footer>",
            f'<script type="text/javascript">{_bundle()}</script>' if panels else "",
            f'<script type="text/javascript">{"".join(draws)}</script></body></html>\n',
        ]
    ).encode()


def paragraph(text: str) -> str:
    """Plain text as a paragraph."""
    return f"<p>{_whole(text)}</p>"


WHOLE = re.compile(r"\d[\d.,]* %|\d{4}-\d{2}-\d{2}")
"""What stands on one line: percentages and dates."""


def _whole(text: str) -> str:
    return WHOLE.sub(r'<span class="whole">\g<0></span>', html.escape(text))


def _sentence(text: str) -> str:
    """A sentence of the verdict; what to do next stands out."""
    return f'<p class="next">{_whole(text)}</p>' if text.startswith("Next: ") else paragraph(text)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, strong: int | None = None) -> str:
    """An HTML table of plain text, which scrolls in a box of its own; the row with number `strong` stands out."""
    lines = [f"<tr>{''.join(f'<th>{html.escape(cell)}</th>' for cell in head)}</tr>"]
    for number, row in enumerate(rows):
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        lines.append(f'<tr class="strong">{cells}</tr>' if number == strong else f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


def word_table(rows: Sequence[tuple[str, str]]) -> str:
    """An HTML table of names and words that may be long."""
    lines = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(text)}</td></tr>" for name, text in rows)
    return f'<div class="scroll"><table class="words">{lines}</table></div>'


def _body(section: PageSection, names: Sequence[str]) -> str:
    panels = "".join(
        f'<div class="panel"><div class="caption">{html.escape(panel.caption)}</div>'
        f'<div class="chart" id="{name}"></div></div>'
        for name, panel in zip(names, section.panels, strict=True)
    )
    drawn = f'<div class="small">{panels}</div>' if section.small else panels
    return f"<h2>{html.escape(section.heading)}</h2>{section.text}{drawn}"


def _drawing(name: str, chart: Any) -> str:
    options = "{actions: false, renderer: 'svg'}"
    return f"vegaEmbed('#{name}', {_script_safe(chart.to_json(validate=False))}, {options});\n"


def _script_safe(specification: str) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(json.loads(specification)).replace("<", "\\u003c")
