"""Both experiments against plain loops in float64, round by round.

The library computes in float32. Over a few hundred rounds its losses stay within 5e-6 of those in float64, and the
tolerance is four times that. Adam divides a slope by its own size, so one that is nothing but rounding still moves a
weight by up to a whole step: oracles stay within 4e-4.
"""

from pathlib import Path

import numpy as np
import pytest

from presage.experiments import resumable_parts
from presage.experiments.github import problem as github
from presage.experiments.github.moments import find_moments
from presage.experiments.github.settings import GithubSettings
from presage.experiments.marketplace import problem as marketplace
from presage.experiments.marketplace.settings import MarketplaceRunSettings
from presage.spaces import Array
from presage.worlds.marketplace import MarketplaceSettings
from presage.worlds.repositories import RepositorySettings
from tests.experiments import plain

CLOSE = 2e-5
CLOSE_ADAM = 1e-3

HISTORY = RepositorySettings(repositories=40, years=1).deal(0)
GITHUB = GithubSettings(
    trials=2, seed=5, weeks=3.0, round_minutes=180, switch_week=1.0, proxy_days=1, outcome_days=4, languages=3,
    history_days=(1, 7, 30, 90), commit_days=3, hidden=(6, 5), learning_rate=0.4, proxy_rate=1.5, residual_rate=2.0,
    l2=0.02, buffer=30, start=12, every=3, steps=2, batch=10, oracle_steps=40, oracle_rate=0.01, oracle_batch=16,
)  # fmt: skip
GITHUB_PLAN = plain.Plan(
    proxies=3, outcomes=2, proxy_delay=8, outcome_delay=32, hidden=(6, 5), rate=0.4, rate_of_g=1.5,
    rate_of_residual=2.0, l2=0.02, buffer=30, start=12, every=3, steps=2, batch=10,
)  # fmt: skip

MARKET = MarketplaceSettings(items=60).deal(0)
MARKETPLACE = MarketplaceRunSettings(
    trials=2, seed=7, days=5, items=16, items_a_day=4, round_seconds=3600, proxy_days=1, outcome_days=2, hidden=(5, 4),
    learning_rate=0.5, proxy_rate=2.0, residual_rate=20.0, l2=0.01, buffer=20, start=8, every=5, steps=3, batch=8,
    oracle_steps=30, oracle_rate=0.02, oracle_batch=12,
)  # fmt: skip
MARKETPLACE_PLAN = plain.Plan(
    proxies=4, outcomes=4, proxy_delay=24, outcome_delay=48, hidden=(5, 4), rate=0.5, rate_of_g=2.0,
    rate_of_residual=20.0, l2=0.01, buffer=20, start=8, every=5, steps=3, batch=8,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _parts_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No part of an earlier run is taken up."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def silent(steps: int) -> None:
    """Progress that nobody watches."""


@pytest.mark.long
def test_github_is_what_plain_loops_make_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github, "BIN", 1)
    run = github.play_github(HISTORY, GITHUB, "a test", silent)
    moments = find_moments(HISTORY, GITHUB)
    oracles = plain_oracles(moments)
    for trial in range(2):
        parts = []
        for place, (mode, rounds) in enumerate((("A", 56), ("B", 112))):  # eight rounds a day; seven days, then 14
            drawn = np.random.default_rng([5, place, trial, 1]).integers(0, len(moments[mode].z), rounds)
            x, z, y = (part[drawn] for part in moments[mode][:3])
            loss = -np.log(plain.softmax(oracles[mode].logits(x))[np.arange(rounds), y])
            parts.append((x, z, y, loss))
        x, z, y, oracle = (np.concatenate(part) for part in zip(*parts, strict=True))
        expected, largest = plain.play(GITHUB_PLAN, x, z, y, (5, trial))
        assert np.abs(run.losses["oracle"][trial] - oracle).max() < CLOSE_ADAM
        for name, losses in expected.items():
            assert np.abs(run.losses[name][trial] - losses).max() < CLOSE, name
            assert np.ptp(losses[-30:]) > 0.1  # something was learnt
        assert 1 < largest < 10


def plain_oracles(moments: dict[str, Array]) -> dict[str, plain.Tower]:
    """One for each mode, on as many rows as the larger mode has."""
    draw = np.random.default_rng([5, 2])
    size = max(len(one.z) for one in moments.values())
    found = {}
    for number, mode in enumerate("AB"):
        rows = draw.choice(len(moments[mode].z), size, replace=len(moments[mode].z) < size)
        x, y = moments[mode].features[rows], moments[mode].y[rows]
        found[mode] = plain.train_oracle(((6, 5), 2), x, y, (5, number), (40, 16, 0.01))
    return found


@pytest.mark.long
def test_the_marketplace_is_what_plain_loops_make_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marketplace, "ORACLE_ROWS", 300)
    runs = marketplace.play_marketplace(MARKET, MARKETPLACE, "a test", silent)  # an hour's bin is one round
    reached = 0.0
    for schedule in ("staggered", "uniform"):
        acquired = marketplace.acquire(MARKET, MARKETPLACE, schedule, np.arange(2))
        for trial in range(2):
            x, z, y = (part[trial] for part in (acquired.episode.x, acquired.episode.z, acquired.episode.y))
            expected, largest = plain.play(MARKETPLACE_PLAN, np.eye(16)[x], z, y, (7, trial))
            for name, losses in (expected | {"truth": acquired.true_loss[trial]}).items():
                assert np.abs(runs[schedule].losses[name][trial] - losses).max() < CLOSE, (schedule, name)
                assert np.ptp(losses[-30:]) > 0.1
            reached = max(reached, largest)
        oracle = plain_half_days(acquired)
        assert runs[schedule].oracle is not None
        assert np.abs(runs[schedule].oracle - oracle).max() < CLOSE_ADAM
    assert reached > 10  # corrections were clipped


def plain_half_days(acquired: marketplace.Acquired) -> Array:
    """What networks lose on the first trial, each trained on one half day alone."""
    draw = np.random.default_rng([7, 2])

    def choose(chances: Array) -> Array:
        reached = np.cumsum(chances, axis=1)
        spots = draw.random((len(chances), 1))[:, 0]
        return np.array([np.searchsorted(row / row[-1], spot) for row, spot in zip(reached, spots, strict=True)])

    drawn = [choose(np.tile(chances, (300, 1))) for chances in acquired.schedule]
    outcomes = choose(acquired.truth[np.concatenate(drawn)]).reshape(10, 300)
    x, y = acquired.episode.x[0], acquired.episode.y[0]
    losses = []
    for half in range(10):
        tower = plain.train_oracle(((5, 4), 4), np.eye(16)[drawn[half]], outcomes[half], (7, half), (30, 12, 0.02))
        rounds = slice(12 * half, 12 * half + 12)
        losses.append(-np.log(plain.softmax(tower.logits(np.eye(16)[x[rounds]]))[np.arange(12), y[rounds]]))
    return np.concatenate(losses)


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 2])
def test_a_trial_is_itself_in_whatever_part_it_is_played(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What plain loops make of the second trial, whether it is the second of a part or a part of its own."""
    monkeypatch.setattr(resumable_parts, "PART", size)
    moments = find_moments(HISTORY, GITHUB)
    none = {mode: np.zeros(len(one.z)) for mode, one in moments.items()}
    asked = github.ask(GITHUB, moments, none, np.array([1])).episode
    acquired = marketplace.acquire(MARKET, MARKETPLACE, "uniform", np.array([1])).episode
    played = {
        "github": github.play_github(HISTORY, GITHUB, "a test", silent).losses,
        "marketplace": marketplace.play_marketplace(MARKET, MARKETPLACE, "a test", silent, oracles=False)[
            "uniform"
        ].losses,
    }
    expected = {
        "github": plain.play(GITHUB_PLAN, asked.x.dense[0], asked.z[0], asked.y[0], (5, 1))[0],
        "marketplace": plain.play(MARKETPLACE_PLAN, np.eye(16)[acquired.x[0]], acquired.z[0], acquired.y[0], (7, 1))[0],
    }
    for name, losses in expected["marketplace"].items():
        assert np.abs(played["marketplace"][name][1] - losses).max() < CLOSE, name
    for name, losses in expected["github"].items():
        binned = losses[: len(losses) // 5 * 5].reshape(-1, 5).mean(axis=1)
        assert np.abs(played["github"][name][1] - binned).max() < CLOSE, name
