"""The ebook shop deals what its settings say."""

from typing import Any

import numpy as np
import pytest

from presage.errors import SettingError
from presage.worlds.shop import ShopSettings

SHOP = ShopSettings(days=40, outcome_days=20, first_titles=20)


def test_titles_are_sold_only_once_they_are_on_sale() -> None:
    dealt = SHOP.deal(3, seed=0)
    assert (dealt.age >= 0).all()
    assert dealt.episode.x.symbols[..., 0].max() < SHOP.titles == 20 + 2 * 39
    assert (dealt.day == np.repeat(np.arange(40), 100)).all()


def test_feedback_is_as_late_as_it_is_said_to_be() -> None:
    episode = SHOP.deal(1, seed=0).episode
    assert (episode.proxy_seen - np.arange(episode.rounds) == 100).all()
    assert (episode.outcome_seen - np.arange(episode.rounds) == 2000).all()


def test_the_truth_is_calibrated() -> None:
    dealt = ShopSettings(days=60, purchases=500, outcome_days=30).deal(4, seed=1)
    y, loss = dealt.episode.y, dealt.true_loss
    p = np.where(y == 1, np.exp(-loss), 1 - np.exp(-loss))  # the true probability of finishing
    for low in np.arange(0.1, 0.8, 0.1):
        bin_ = (p >= low) & (p < low + 0.1)
        assert abs(y[bin_].mean() - p[bin_].mean()) < 5 * np.sqrt(0.25 / bin_.sum())


def test_the_proxy_tells_all_only_without_title_effects() -> None:
    def spread(title_spread: float) -> float:
        dealt = ShopSettings(days=60, purchases=500, outcome_days=30, title_spread=title_spread).deal(1, seed=3)
        title, z, y = dealt.episode.x.symbols[0, :, 0], dealt.episode.z[0], dealt.episode.y[0]
        often = [t for t in np.unique(title) if ((title == t) & (z == 2)).sum() > 60]
        return float(np.std([y[(title == t) & (z == 2)].mean() for t in often]))

    assert spread(0.0) < 0.075 < spread(1.0)


@pytest.mark.parametrize(
    "change", [{"days": 0}, {"finish": (1.0,)}, {"proxy_days": 91}, {"fashion_days": 0.0}, {"title_spread": -1.0}]
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        ShopSettings(**change)
