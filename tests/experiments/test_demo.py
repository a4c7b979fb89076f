"""The demo in small: what it measures, what it says, and the page it makes."""

import re
from pathlib import Path

import numpy as np
import pytest

from presage.charts import pages
from presage.experiments.demo.page import demo_page, score_rows
from presage.experiments.demo.problem import NAMES, ShopRun, first_day_ahead, run_shop, verdict
from presage.worlds.shop import ShopSettings
from tests.charts.browser import needs_browser, open_page

SHOP = ShopSettings(days=60, purchases=50, outcome_days=20, first_titles=20)


@pytest.fixture(scope="module")
def run() -> ShopRun:
    return run_shop(SHOP, trials=4, seed=0, progress=lambda trials: None)


def test_before_any_outcome_all_are_equally_ignorant(run: ShopRun) -> None:
    early = np.stack([run.excess[name][:, :20] for name in NAMES])
    assert np.abs(early - early[0]).max() < 1e-5


def test_proxies_gain_on_titles_without_outcomes(run: ShopRun) -> None:
    scores = {score.name: score for score in run.scores}
    assert scores["factored"].excess_new.mean < scores["direct"].excess_new.mean
    assert scores["mixture"].excess_new.mean < scores["direct"].excess_new.mean
    day = first_day_ahead(run)
    assert day is not None
    assert 20 < day < 60
    assert f"clearly ahead by day {day}" in verdict(SHOP, run)


def test_where_nothing_is_gained_it_says_so(run: ShopRun) -> None:
    swapped = run._replace(excess=run.excess | {"mixture": run.excess["direct"]})
    assert "does not help" in verdict(SHOP, swapped)


def test_the_page_is_whole_and_fetches_nothing(run: ShopRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_bundle", lambda: "")  # it takes seconds to put together
    page = demo_page(SHOP, 4, 0, run).decode()
    assert verdict(SHOP, run).split("(")[0] in page
    assert page.count("vegaEmbed('#chart-") == 4
    assert [f"<h2>{name}</h2>" in page for name in ("Loss over time", "Best over time", "Delays", "Reliability")] == [
        True
    ] * 4
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="http', page)
    head, rows = score_rows(run)
    assert [row[0] for row in rows] == list(NAMES)
    assert len(head) == len(rows[0])


def test_the_mixture_is_right_on_average(run: ShopRun) -> None:
    found = run.reliable["mixture"]
    assert found.rows.sum() == 4 * 40 * 50
    off = np.abs(found.observed - found.predicted) @ found.rows / found.rows.sum()
    assert off < 0.05
    assert set(run.reliable) == {"direct", "mixture"}


@needs_browser
@pytest.mark.long
def test_the_page_is_drawn_without_a_network(run: ShopRun, tmp_path: Path) -> None:
    opened = open_page(demo_page(SHOP, 4, 0, run), tmp_path, 390)
    assert opened.console == []
    assert len(opened.marks) == 4
    assert min(opened.marks.values()) > 0
    assert opened.right <= 390
