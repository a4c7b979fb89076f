"""A page opened in headless Chromium that finds no host: what its console says, and what is drawn."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not on this machine")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9", "--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom",
)  # fmt: skip

MEASURE = """<script>setTimeout(() => {
  const shown = [...document.querySelectorAll("body *")].filter(
    (part) => [".scroll", "svg", "pre"].every((box) => !part.closest(box) || part.matches(box)));
  document.body.dataset.right = Math.max(...shown.map((part) => Math.ceil(part.getBoundingClientRect().right)));
}, 5000)</script>"""
"""Notes how far to the right anything reaches that is not in a box of its own.

A window cannot be narrower than 500 pixels, but the page in it can.
"""


class Opened(NamedTuple):
    """What became of a page."""

    console: list[str]  # every line, warnings included
    marks: dict[str, int]  # how many marks are drawn in each place for a chart
    right: int  # the pixel up to which the page reaches


class _Marks(HTMLParser):
    """Counts the shapes that lie inside groups of marks, by the chart they are in."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[str, int] = {}
        self.groups: list[bool] = []  # whether each open <g> is, or lies in, a group of marks
        self.chart = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "div" and re.fullmatch(r"chart-\d+", found.get("id", "")):
            self.chart, self.groups = found["id"], []
            self.marks[self.chart] = 0
        if tag == "g":
            inside = bool(self.groups) and self.groups[-1]
            self.groups.append(inside or bool(re.search(r"mark-(?!group).* role-mark", found.get("class", ""))))
        drawn = tag in ("path", "line", "text", "circle", "rect") and found.get("d", "M0") != ""
        if self.chart and drawn and self.groups and self.groups[-1]:
            self.marks[self.chart] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "g" and self.groups:
            self.groups.pop()


def open_page(page: bytes, folder: Path, width: int) -> Opened:
    """The page opened in a window that is so many pixels wide."""
    assert CHROMIUM is not None
    path = folder / f"opened-{width}.html"
    head, _, body = page.partition(b"</head>")
    start, _, end = body.rpartition(b"</body>")
    narrow = f"<style>html {{ width: {width}px }}</style></head>".encode()
    path.write_bytes(head + narrow + start + MEASURE.encode() + b"</body>" + end)
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},844", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    counted = _Marks()
    counted.feed(done.stdout)
    measured = re.search(r'<body[^>]* data-right="(\d+)"', done.stdout)
    assert measured, done.stderr[-2000:]
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Opened(said, counted.marks, int(measured[1]))
