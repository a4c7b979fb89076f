"""Pages that need no network, and the charts on them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.charts import pages
from presage.charts.over_time import Times, delays_chart, over_time_chart, signal_lines, winners_chart
from presage.charts.pages import PageSection, Panel, page, table, word_table
from presage.charts.panels import reliability_chart
from presage.charts.style import (
    COLOURS,
    DASHES,
    FAMILIES,
    SHAPES,
    family_lines,
    key,
    points_key,
    rows_chart,
    styled,
)
from presage.later import alt
from presage.metrics.calibration import reliability
from tests.charts.browser import needs_browser, open_page

DATES = Times(np.arange(5) * 7 * 86_400_000 + 1_704_067_200_000, "")
DAYS = Times(np.arange(5) * 5.0, "day", dates=False)
LOSSES = {
    "marginal": np.array([0.5, 0.7, np.nan, 0.3]),
    "direct": np.array([0.5, 0.6, np.nan, 0.4]),
    "mixture": np.array([0.5, 0.5, np.nan, 0.2]),
}
EVIL = "</script><script>alert(1)</script>"


def data_of(chart: Any) -> list[dict[str, Any]]:
    drawn = chart.to_dict(validate=False)
    return [row for part in (drawn, *drawn["layer"]) for row in part.get("data", {}).get("values", [])]


def panels(times: Times) -> list[Panel]:
    lines = signal_lines(["proxy", EVIL], "outcome")
    steps = np.linspace(0, 1, 20)
    found = reliability(np.linspace(0.1, 0.4, 500), np.arange(500) % 3 == 0)
    return [
        Panel("losses", over_time_chart(times, LOSSES, "loss", {EVIL: float(times.edges[1])}, zero=True)),
        Panel("weights", over_time_chart(times, {"direct": np.full(4, 0.4)}, "weight", {}, share=True)),
        Panel("winners", winners_chart(times, LOSSES)),
        Panel("delays", delays_chart(lines, steps, dict.fromkeys(lines, steps), "days")),
        Panel(EVIL, reliability_chart({"direct": found, "mixture": found})),
    ]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without the library that draws: it takes seconds to put together."""
    monkeypatch.setattr(pages, "_bundle", lambda: "/* the library */")


@pytest.mark.usefixtures("short")
def test_a_page_holds_all_it_needs_and_forbids_itself_to_fetch() -> None:
    written = page(
        "Title", ["First.", "Second."], [PageSection("Charts", "<p>text</p>", panels(DATES))], "foot"
    ).decode()
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="http', written)
    assert "default-src 'none'" in written
    assert '<script type="text/javascript">/* the library */</script>' in written
    assert written.count("vegaEmbed('#chart-") == 5
    assert written.index("<p>First.</p><p>Second.</p>") < written.index("<h2>Charts</h2>")


@pytest.mark.usefixtures("short")
def test_a_page_without_charts_carries_no_code_to_draw_them() -> None:
    assert b"the library" not in page("Title", ["Lead."], [PageSection("Words", "")], "foot")


@pytest.mark.usefixtures("short")
def test_words_of_a_log_cannot_become_code() -> None:
    sections = [PageSection(EVIL, table([EVIL], [[EVIL]]) + word_table([(EVIL, EVIL)]), panels(DATES))]
    written = page(EVIL, [EVIL], sections, EVIL).decode()
    assert EVIL not in written
    assert EVIL not in key({EVIL: family_lines(["direct"])["direct"]}, {EVIL: EVIL + "!"})


def test_every_family_has_a_colour_a_dash_and_a_shape_of_its_own() -> None:
    for looks in (COLOURS, DASHES, SHAPES):
        assert len({str(looks[family]) for family in FAMILIES}) == len(FAMILIES)
    assert key(family_lines(FAMILIES)).count("<li>") == points_key(FAMILIES).count("<li>") == len(FAMILIES)


def test_the_least_loss_wins_and_nobody_where_all_are_alike_or_nothing_is_known() -> None:
    rows = [row for row in data_of(winners_chart(DAYS, LOSSES)) if row["wins"]]
    assert [(row["family"], row["from"]) for row in rows] == [("mixture", 5.0), ("mixture", 15.0)]


def test_a_tie_is_drawn_as_a_tie() -> None:
    losses = {name: np.array([loss]) for name, loss in (("marginal", 0.7), ("factored", 0.50004), ("residual", 0.5))}
    rows = data_of(winners_chart(Times(np.array([0.0, 5.0]), "day", dates=False), losses))
    assert {row["family"] for row in rows if row["wins"]} == {"factored", "residual"}


def test_what_is_not_known_is_a_gap_in_the_line() -> None:
    gaps = [row for row in data_of(over_time_chart(DAYS, LOSSES, "loss", {})) if row["value"] is None]
    assert {row["from"] for row in gaps} == {10.0}
    assert len(gaps) == 3


def test_points_stand_in_the_middle_of_their_blocks() -> None:
    rows = data_of(over_time_chart(DAYS, {"direct": np.full(4, 0.5)}, "loss", {}))
    assert [(row["from"], row["at"]) for row in rows] == [(0.0, 2.5), (5.0, 7.5), (10.0, 12.5), (15.0, 17.5)]


def test_moments_outside_the_time_shown_are_not_marked() -> None:
    drawn = data_of(over_time_chart(DAYS, LOSSES, "loss", {"inside": 7.0, "outside": 99.0}))
    assert {row["text"] for row in drawn if "text" in row} == {"inside"}


@needs_browser
@pytest.mark.long
def test_charts_are_drawn_without_a_network_and_fit_every_screen(tmp_path: Path) -> None:
    sections = [
        PageSection("Dates", "", panels(DATES)),
        PageSection("Days", table(["a"], [["b" * 300]]), panels(DAYS), small=True),
    ]
    written = page("Title", ["Lead."], sections, "foot")
    for width in (390, 1280):
        opened = open_page(written, tmp_path, width)
        assert opened.console == []
        assert len(opened.marks) == 10
        assert min(opened.marks.values()) > 0, opened.marks
        assert opened.right <= width


@needs_browser
@pytest.mark.long
def test_a_chart_that_is_not_drawn_and_a_page_that_is_too_wide_are_noticed(tmp_path: Path) -> None:
    empty = styled(rows_chart([]).mark_point().encode(x=alt.X("a:Q")).properties(width="container"))
    script = '<div style="width: 700px">wide</div><script>console.error("planted")</script>'
    opened = open_page(page("Title", [], [PageSection("", script, [Panel("empty", empty)])], ""), tmp_path, 390)
    assert opened.marks == {"chart-0": 0}
    assert "planted" in "".join(opened.console)
    assert opened.right > 700
