"""The two-step search finds what it should, on seeds of its own."""

import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from presage.errors import SettingError
from presage.experiments.marketplace import problem
from presage.experiments.marketplace.problem import ScheduleRun
from presage.experiments.marketplace.settings import SMOKE, MarketplaceRunSettings
from presage.experiments.tuning import APART, FIRST, SECOND, Search, Tried, TuningScore, combinations, tune
from presage.worlds.marketplace import MarketplaceSettings

OWN = replace(SMOKE, seed=5)


def bowl(settings: MarketplaceRunSettings) -> TuningScore:
    """Losses least at learning rate 0.3, l2 0.001 and, for factored and residual, rates of g and h of 1."""
    assert settings.seed == 5 + APART
    direct = abs(settings.learning_rate - 0.3) + abs(settings.l2 - 1e-3)
    through = direct + abs(settings.proxy_rate - 1.0) + abs((settings.h_rate or 0.1) - 1.0)
    return TuningScore({"direct": direct, "factored": through, "residual": through, "mixture": through}, {})


@pytest.mark.parametrize("kind", ["grid", "random"])
def test_the_best_of_each_stage_is_kept(kind: str) -> None:
    told: list[int] = []
    search = Search(kind)
    best, tried = tune(OWN, bowl, search, told.append)
    assert sum(told) == combinations(search) == len(tried)
    assert best.seed == 5
    if kind == "grid":
        assert (best.learning_rate, best.l2) == (0.3, 1e-3)
    first = min((one for one in tried if one.step == 1), key=lambda one: one.score.losses["direct"])
    second = min((one for one in tried if one.step == 2), key=lambda one: one.score.losses["residual"])
    assert {name: asdict(best)[name] for name in FIRST + SECOND} == second.settings
    for one in tried:
        if one.step == 2:  # what the first step chose stays
            assert [one.settings[name] for name in FIRST] == [first.settings[name] for name in FIRST]


def test_the_second_step_begins_with_the_winner_of_the_first_and_draws_all_that_is_left() -> None:
    search = Search()
    _, tried = tune(OWN, bowl, search, lambda _: None)
    second = [one.settings for one in tried if one.step == 2]
    assert len(second) == search.draws
    assert [second[0][name] for name in SECOND] == [getattr(OWN, name) for name in SECOND]
    ends = {"h_rate": search.h_rates, "h_l2": search.h_l2s, "proxy_rate": search.proxy_rates}
    for name, (low, high) in (ends | {"residual_rate": search.residual_rates}).items():
        drawn = [one[name] for one in second[1:]]
        assert all(low <= value <= high for value in drawn)
        assert min(drawn) < (low * high) ** 0.5 < max(drawn)
        assert len(set(drawn)) > search.draws / 2
    assert {one["h_hidden"] for one in second[1:]} == set(search.h_hidden)


def test_the_second_step_weighs_factored_and_residual_alike() -> None:
    score = TuningScore({"direct": 9.0, "factored": 2.0, "residual": 1.0, "mixture": 0.1}, {})
    assert [Tried(step, {}, score).objective for step in (1, 2)] == [9.0, 1.5]
    for name in ("factored", "residual"):
        lost = TuningScore(score.losses | {name: math.nan}, {})
        assert [Tried(step, {}, lost).objective for step in (1, 2)] == [9.0, math.inf]


def test_a_search_never_sees_the_trials_that_are_reported() -> None:
    """Nor those of any seed near theirs. The searches on record had this seed, too."""
    seen: set[int] = set()

    def score(settings: MarketplaceRunSettings) -> TuningScore:
        seen.add(settings.seed)
        return bowl(settings)

    tune(OWN, score, Search(draws=2), lambda _: None)
    assert seen == {1_000_005}


def test_the_marketplace_is_scored_on_both_schedules_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses of the whole, and regret since the first outcomes as a share of direct's."""
    known = OWN.outcome_days * 24
    ends = {"direct": 4.0, "factored": 3.0, "residual": 2.0, "mixture": 1.0, "truth": 0.0}
    runs = {}
    for times, schedule in enumerate(("staggered", "uniform"), 1):
        losses = {name: np.full((4, 2 * known), 0.5) for name in ends}
        for name, end in ends.items():
            losses[name][:, known:] = 0.5 + end ** (times if name != "direct" else 1)
        runs[schedule] = ScheduleRun(losses, np.zeros((1, 1)), None)
    monkeypatch.setattr(problem, "play_marketplace", lambda *_, **__: runs)
    found = problem.score_marketplace(MarketplaceSettings(items=1).deal(0), "a market", OWN)
    assert found.losses == pytest.approx({"direct": 2.5, "factored": 3.5, "residual": 2.0, "mixture": 1.0})
    assert found.figures == pytest.approx({
        "staggered: factored / direct": 3 / 4, "staggered: residual / direct": 2 / 4,
        "uniform: factored / direct": 9 / 4, "uniform: residual / direct": 4 / 4,
    })  # fmt: skip


def test_several_jobs_find_the_same() -> None:
    one, two = (tune(OWN, bowl, Search(jobs=jobs), lambda _: None) for jobs in (1, 2))
    assert one == two


def test_values_that_cannot_be_tried_are_refused() -> None:
    with pytest.raises(SettingError, match="a value to try"):
        Search(learning_rates=(0.0,))
    with pytest.raises(SettingError, match="kind"):
        Search(kind="bayes")
