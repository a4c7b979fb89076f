"""The synthetic experiment in small, and its numbers at full size against an independent computation."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from presage.errors import SettingError
from presage.experiments.claims import Claim, Verdict
from presage.experiments.synthetic.claims import judge
from presage.experiments.synthetic.experiment import episodes_played, reproduce_synthetic
from presage.experiments.synthetic.problem import regret_by_mix, regret_by_size, regret_parts
from presage.experiments.synthetic.settings import PAPER, SMOKE
from presage.metrics.bounds import direct_bound, factored_bound
from presage.timeline.episode import Delays

INDEPENDENT = {  # mean regret over 1,000 trials at mix 0, .25, .5, .75 and 1, computed apart from this code
    "direct": (1045, 302, 220, 190, 180),
    "factored-100": (251, 183, 163, 154, 151),
    "factored-75": (470, 351, 306, 283, 274),
    "factored-0": (877, 724, 657, 618, 605),
}


def silent(steps: int) -> None:
    """Progress that nobody watches."""


def test_a_small_run_gives_a_whole_report() -> None:
    told: list[int] = []
    report, files = reproduce_synthetic(SMOKE, told.append)
    assert sum(told) == episodes_played(SMOKE)
    assert {"figure-2.svg", "figure-2.png", "growth.svg", "growth.png", "results.json", "regret.csv"} == set(files)
    kept = json.loads(files["results.json"])
    about = {"experiment", "settings", "seeds", "seconds", "version"}
    assert about | {"results", "claims", "claims_by_seed"} == set(kept)
    assert kept["settings"]["seed"] == SMOKE.seed
    assert [claim["id"] for claim in kept["claims"]] == [f"S{number}" for number in range(1, 8)]
    curves = {f"{name}-{share}" for name in ("factored", "residual", "mixture") for share in (100, 75, 0)} | {"direct"}
    assert set(kept["results"]["regret"]) == curves
    assert all(len(curve[part]) == 5 for curve in kept["results"]["regret"].values() for part in ("mean", "sd"))
    assert files["figure-2.svg"].startswith(b"<svg")
    assert len(files["regret.csv"].splitlines()) == 1 + 5 * len(curves)
    assert report.as_json()["claims"][0]["text"]


@pytest.mark.long
def test_figure_2_agrees_with_an_independent_computation() -> None:
    settings = dataclasses.replace(PAPER, mixes=5, seed=3)
    _, regrets = regret_by_mix(settings, silent)
    for name, expected in INDEPENDENT.items():
        for trials, value in zip(regrets[name], expected, strict=True):
            error = trials.std(ddof=1) / np.sqrt(settings.trials)
            assert abs(trials.mean() - value) < 4 * error, (name, value)


@pytest.mark.long
def test_every_claim_holds() -> None:
    settings = dataclasses.replace(PAPER, trials=100, mixes=5, seed=4)
    mixes, regrets = regret_by_mix(settings, silent)
    claims = judge(settings, mixes, regrets, regret_by_size(settings, silent))
    assert [claim.id for claim in claims if claim.verdict is not Verdict.HOLDS] == []


def failing(claims: list[Claim]) -> set[str]:
    return {claim.id for claim in claims if claim.verdict is Verdict.FAILS}


def test_a_claim_that_does_not_hold_is_said_not_to() -> None:
    mixes, regrets = regret_by_mix(SMOKE, silent)
    points = regret_by_size(SMOKE, silent)
    swapped = regrets | {"direct": regrets["factored-100"], "factored-100": regrets["direct"]}
    assert {"S1", "S4"} <= failing(judge(SMOKE, mixes, swapped, points))
    tight = [point._replace(bound=point.regrets.mean() / 2) for point in points]
    assert "S5" in failing(judge(SMOKE, mixes, regrets, tight))
    flat = [point._replace(regrets=100.0 + np.arange(12)) for point in points]
    assert {"S6", "S7"} <= failing(judge(SMOKE, mixes, regrets, flat))
    worse = regrets | {"factored-75": regrets["direct"] + 1, "factored-0": regrets["direct"] - 1}
    assert {"S2", "S3"} <= failing(judge(SMOKE, mixes, worse, points))


def test_the_parts_of_regret_add_up_and_lemma_2_holds() -> None:
    settings = dataclasses.replace(SMOKE, trials=60, seed=7)
    _, regrets = regret_by_mix(settings, silent)
    parts = {(part.forecaster, part.mix, part.useful): part for part in regret_parts(settings, silent)}
    for (name, mix, useful), part in parts.items():
        if mix == 0.0 and useful == 1.0:
            curve = name if name == "direct" else f"{name}-100"
            error = 4 * regrets[curve][0].std() / np.sqrt(60) * np.sqrt(2)
            assert part.learning + part.delay == pytest.approx(regrets[curve][0].mean(), abs=error)
    factored = parts["factored", 0.0, 1.0]
    assert factored.lemma_2 is not None
    assert factored.learning + factored.delay < sum(factored.lemma_2)
    assert parts["factored", 1.0, 0.0].factorisation > 10 > parts["factored", 1.0, 1.0].factorisation


def test_every_point_of_growth_has_the_bound_of_its_own_episode() -> None:
    settings = dataclasses.replace(SMOKE, proxy_delay=3)
    points = regret_by_size(settings, silent)
    assert len(points) == 2 * 2 * (len(settings.delays) + len(settings.sizes) + len(settings.scales))
    for point in points:
        rounds = settings.scaled_rounds * point.instances if point.along == "both" else settings.growth_rounds
        expected = {
            "direct": direct_bound(rounds, point.delay, point.instances, settings.outcomes),
            "factored": factored_bound(
                rounds, Delays(3, point.delay), point.instances, settings.proxies, settings.outcomes
            ),
        }
        assert point.bound == expected[point.forecaster]


def test_seeds_reach_the_world() -> None:
    once, again, other = (
        regret_by_mix(dataclasses.replace(SMOKE, seed=seed), silent)[1]["direct"] for seed in (1, 1, 2)
    )
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)


@pytest.mark.parametrize("change", [{"trials": 1}, {"noise": 2.0}, {"useful": (1.5,)}, {"growth_rounds": 50}])
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        dataclasses.replace(SMOKE, **change)
