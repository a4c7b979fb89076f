"""Over many worlds a useless early sign is not called useful, and a useful one not useless."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import presage
from presage.dataframes import Columns, as_csv
from tests.realistic import ad_clicks, cart_events, subscribers, tickets, trials
from tests.realistic.world import World, deal

WORLDS = {
    "trials": (trials.WORLD, 2, 30),
    "cart_events": (cart_events.WORLD, 1, 14),
    "subscribers": (subscribers.WORLD, 7, 30),
    "ad_clicks": (ad_clicks.WORLD, 1, 14),
    "tickets": (tickets.WORLD, 1, 14),
}
SEEDS = (4, 5)


def tidy(world: World, seed: int, days: tuple[int, int]) -> tuple[Columns, str]:
    """What happens in a world as a tidy log, and its task."""
    dealt = deal(world, seed)
    log = {
        "shown_at": (1_700_000_000 + dealt.at).astype("datetime64[s]"),
        "item": dealt.item,
        "group": dealt.group,
        "proxy": dealt.sign,
        "outcome": np.where(dealt.outcome, "yes", "no"),
    }
    values = [str(value) for value in range(len(world.signs))]
    task = f"""version = 1
        name = "a world"
        [instance]
        item = {{ kind = "category", identity = true }}
        group = {{ kind = "category" }}
        [proxy]
        values = {values}
        known = "at horizon"
        horizon = "{days[0]} days"
        [outcome]
        values = ["no", "yes"]
        known = "at horizon"
        horizon = "{days[1]} days"
        [forecaster]
        back_off = [["group"]]
        """
    return log, task


def happened(name: str, useful: bool, seed: int, folder: Path) -> tuple[Path, str]:
    """A tidy log and its task, with the sign of the world or one that is dealt out at random."""
    world, proxy_days, outcome_days = WORLDS[name]
    log, task = tidy(world, seed, (proxy_days, outcome_days))
    if not useful:
        log["proxy"] = np.random.default_rng(seed).permutation(log["proxy"])
    path = folder / "log.csv"
    path.write_bytes(as_csv(log))
    return path, task


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("useful", [True, False], ids=["useful", "useless"])
@pytest.mark.parametrize("name", WORLDS)
def test_the_card_of_an_early_sign_is_true(name: str, useful: bool, seed: int, tmp_path: Path) -> None:
    (card,) = presage.judge_proxies(*happened(name, useful, seed, tmp_path)).cards
    assert card.kind.pays == useful, card.verdict


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("useful", [True, False], ids=["useful", "useless"])
@pytest.mark.parametrize("name", WORLDS)
def test_what_a_backtest_says_of_an_early_sign_is_true(name: str, useful: bool, seed: int, tmp_path: Path) -> None:
    gain = presage.backtest(*happened(name, useful, seed, tmp_path)).found.proxy_gain
    assert gain
    assert not (gain.useless if useful else gain.helps), (gain.percent, gain.percent_new)


@pytest.mark.long
@pytest.mark.parametrize(("name", "seed"), [("cart_events", 10), ("ad_clicks", 12)])
def test_a_useless_sign_of_many_values_is_not_said_to_help(name: str, seed: int, tmp_path: Path) -> None:
    """The more values a sign has, the more residual tables pool; against direct ones alone it would be a gain."""
    world, proxy_days, outcome_days = WORLDS[name]
    log, task = tidy(world, seed, (proxy_days, outcome_days))
    log["proxy"] = np.random.default_rng(seed + 99).integers(0, 8, len(log["proxy"]))
    values = [str(value) for value in range(len(world.signs))]
    path = tmp_path / "log.csv"
    path.write_bytes(as_csv(log))
    gain = presage.backtest(path, task.replace(str(values), str(list("01234567")))).found.proxy_gain
    assert gain
    assert gain.percent.low > 0
    assert gain.percent.mean > 0.5
    assert gain.useless, gain.over_shuffled


def test_a_sign_that_means_the_same_whatever_its_value_gains_nothing() -> None:
    world = dataclasses.replace(trials.WORLD, outcome_given_sign=(0.2, 0.2), tilt=0.0)
    assert deal(world, 0).gain == pytest.approx(0.0, abs=1e-9)
    assert deal(trials.WORLD, 0).gain > 0.02
