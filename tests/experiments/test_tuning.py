"""The two-stage search finds what it should, on seeds of its own."""

from dataclasses import replace

import pytest

from presage.errors import SettingError
from presage.experiments.marketplace.settings import SMOKE, MarketplaceRunSettings
from presage.experiments.tuning import APART, Search, trials_played, tune


def bowl(settings: MarketplaceRunSettings) -> dict[str, float]:
    """Losses that are least at learning rate 0.3, l2 0.001 and, for factored and residual, proxy rate 1."""
    assert settings.seed == 5 + APART
    direct = abs(settings.learning_rate - 0.3) + abs(settings.l2 - 1e-3)
    through = direct + abs(settings.proxy_rate - 1.0)
    return {"direct": direct, "factored": through, "residual": through, "mixture": through}


@pytest.mark.parametrize("kind", ["grid", "random"])
def test_the_best_of_each_stage_is_kept(kind: str) -> None:
    told: list[int] = []
    search = Search(kind)
    best, tried = tune(replace(SMOKE, seed=5), bowl, search, told.append)
    assert sum(told) == trials_played(search) == len(tried)
    assert best.seed == 5
    if kind == "grid":
        assert (best.learning_rate, best.l2, best.proxy_rate) == (0.3, 1e-3, 1.0)
    first = [one for one in tried if one.stage == 1]
    assert best.learning_rate == min(first, key=lambda one: one.losses["direct"]).learning_rate
    assert {one.learning_rate for one in tried if one.stage == 2} == {best.learning_rate}


def test_several_jobs_find_the_same() -> None:
    one, two = (tune(replace(SMOKE, seed=5), bowl, Search(jobs=jobs), lambda _: None) for jobs in (1, 2))
    assert one == two


def test_values_that_cannot_be_tried_are_refused() -> None:
    with pytest.raises(SettingError, match="a value to try"):
        Search(learning_rates=(0.0,))
    with pytest.raises(SettingError, match="kind"):
        Search(kind="bayes")
