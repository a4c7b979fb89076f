"""The simulated market deals what its settings say, and resembles the real one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from examples.market_statistics import calendars, engagement, information, launches
from presage.errors import SettingError
from presage.worlds.marketplace import DAYS, ENGAGEMENTS, LAUNCH, MOVES, Market, MarketplaceSettings

ENOUGH = 4_000
"""Items, so that one market tells of the settings rather than of its seed."""


@pytest.fixture(scope="module")
def market() -> Market:
    return MarketplaceSettings(items=ENOUGH).deal(seed=0)


def test_the_same_seed_deals_the_same_and_another_deals_another() -> None:
    first, again, other = (MarketplaceSettings(items=20).deal(seed) for seed in (1, 1, 2))
    for part, same, different in zip(first[1:], again[1:], other[1:], strict=True):
        assert np.array_equal(part, same)
        assert not np.array_equal(part, different)
    assert len(set(first.items)) == 20


def test_probabilities_sum_to_one_and_volumes_are_counts(market: Market) -> None:
    assert market.proxies.shape == (ENOUGH, 4)
    assert market.outcomes.shape == (ENOUGH, 4, 4)
    assert market.launch.shape == market.calendar.shape == (ENOUGH, DAYS)
    np.testing.assert_allclose(market.proxies.sum(axis=-1), 1, atol=1e-12)
    np.testing.assert_allclose(market.outcomes.sum(axis=-1), 1, atol=1e-12)
    for counts in (market.launch, market.calendar):
        assert np.array_equal(counts, np.round(counts))
        assert (counts >= 0).all()
        assert (counts.sum(axis=1) > 0).all()


def test_engagements_only_grow_and_what_is_deleted_stays_deleted(market: Market) -> None:
    possible = {(z, z) for z in range(4)} | set(MOVES)
    for z in range(4):
        for y in range(4):
            assert (market.outcomes[:, z, y] > 0).all() == ((z, y) in possible), (ENGAGEMENTS[z], ENGAGEMENTS[y])
    assert (market.outcomes[:, 0, 0] == 1).all()


def test_without_violation_all_items_share_one_way_from_proxy_to_outcome() -> None:
    plain = MarketplaceSettings(items=50, violation=0.0).deal(seed=3)
    assert np.array_equal(plain.outcomes, np.broadcast_to(plain.outcomes[0], plain.outcomes.shape))
    told = information(plain)
    assert told["I(X;Y given Z)"] == pytest.approx(0, abs=1e-9)
    assert told["share of I(X;Y) through Z"] == pytest.approx(1, abs=1e-9)


def test_the_violation_changes_nothing_but_how_far_outcomes_are_the_items_own() -> None:
    markets = [MarketplaceSettings(violation=violation).deal(seed=4) for violation in (0.0, 0.5, 1.0)]
    for other in markets[1:]:
        for name in ("proxies", "launch", "calendar"):
            assert np.array_equal(getattr(markets[0], name), getattr(other, name))
    told = [information(each) for each in markets]
    for name in ("H(Y)", "I(Y;Z)"):
        np.testing.assert_allclose([each[name] for each in told], told[0][name], atol=1e-9)
    none, half, whole = (each["I(X;Y given Z)"] for each in told)
    assert none < half < whole / 2


# The value in the real data, and the standard deviation over seeds of a market of 400 items.
REAL_ENGAGEMENT = {
    "p(z=zero), mean": (0.866, 0.007),
    "p(z=zero), between items": (0.105, 0.007),
    "p(z=one), mean": (0.110, 0.006),
    "p(z=one), between items": (0.075, 0.006),
    "p(z=many), mean": (0.021, 0.0015),
    "p(z=many), between items": (0.035, 0.003),
    "p(y=zero given z=zero), mean": (0.867, 0.006),
    "p(y=one given z=zero), mean": (0.100, 0.004),
    "p(y=many given z=zero), mean": (0.030, 0.0025),
    "p(y=many given z=zero), between items": (0.045, 0.005),
    "p(y=many given z=one), mean": (0.350, 0.020),
    "p(y=many given z=one), between items": (0.195, 0.007),
    "p(y=many given z=many), mean": (0.998, 0.0008),
    "I(Y;Z)": (0.258, 0.008),
    "I(X;Y given Z)": (0.060, 0.005),
    "I(X;Y)": (0.104, 0.0085),
    "share of I(X;Y) through Z": (0.676, 0.0075),
}


def test_items_are_engaged_with_as_in_the_real_data(market: Market) -> None:
    """Within two standard deviations of a market of 400, itself of one ten times as large."""
    found = engagement(market) | information(market)
    far = {
        name: (found[name], real)
        for name, (real, deviation) in REAL_ENGAGEMENT.items()
        if abs(found[name] - real) > 2 * deviation
    }
    assert not far


def test_volumes_are_as_uneven_and_as_steady_as_in_the_real_data(market: Market) -> None:
    """The tolerance is the misfit admitted in the documentation and twice the deviation between seeds."""
    launch, calendar = launches(market), calendars(market)
    assert launch["share of 21 days at age 0"] == pytest.approx(0.102, abs=0.01)
    assert launch["share of 21 days at age 7"] == pytest.approx(0.045, abs=0.005)
    assert launch["share of the top 10 of 100 items"] == pytest.approx(0.316, abs=0.04)
    assert launch["log acquisitions, correlation at lag 1"] == pytest.approx(0.783, abs=0.04)
    assert launch["log acquisitions, correlation at lag 7"] == pytest.approx(0.477, abs=0.05)
    assert calendar["share of the top 10 of 100 items"] == pytest.approx(0.242, abs=0.03)
    assert calendar["log acquisitions, correlation at lag 1"] == pytest.approx(0.777, abs=0.08)
    assert calendar["total variation in a week"] == pytest.approx(0.376, abs=0.03)


def test_the_calendar_rises_and_falls_with_the_week(market: Market) -> None:
    still = MarketplaceSettings(items=ENOUGH, weekly=0.0).deal(seed=0).calendar.sum(axis=0)
    week = np.log(market.calendar.sum(axis=0) / still)
    assert np.corrcoef(week[:-7], week[7:])[0, 1] > 0.95
    # Without it the days at both ends weigh a little more: each item's wavering days are scaled to its volume.
    assert np.log(still).std() < 0.1
    assert np.log(market.calendar.sum(axis=0)).std() > 0.2


@pytest.mark.parametrize(
    "change",
    [
        {"items": 0},
        {"violation": -0.1},
        {"proxy_odds": (1.0, 2.0)},
        {"outcome_spread": (-1.0,) * 6},
        {"appeal": 1.5},
        {"fade_days": 0.0},
        {"launch": LAUNCH._replace(memory=1.0)},
        {"launch": LAUNCH._replace(excess=0.0)},
        {"calendar": LAUNCH._replace(waver=-1.0)},
    ],
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        replace(MarketplaceSettings(), **change)
