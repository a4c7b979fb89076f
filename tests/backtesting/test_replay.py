"""Logs replayed: the numbers of a learner fed event by event, and no leak."""

import numpy as np
import pytest

from presage import Episode, Forecaster, Spaces, direct_table, mixture
from presage.backtesting import leak_check as leaks
from presage.backtesting.backtest import new_rows
from presage.backtesting.leak_check import check_leaks
from presage.backtesting.replay import Said, replay
from presage.backtesting.score_columns import score_json
from presage.errors import SettingError
from presage.forecasters.catalogue import TaskFacts, chosen_forecasters, named_forecasters, table_mixture
from presage.forecasters.direct_table import marginal_table
from presage.forecasters.mixture import experts_of
from presage.spaces import Array
from tests.problems import MIXED, PLAIN, episode, play_live

GROUPS = ((1,), (1, 2))
NAMES = ("marginal", "direct-table", "residual-table-shrunk", "factored-table-backing-off", "mixture")


def silent(name: str) -> None:
    """Progress that nobody watches."""


def test_a_log_replayed_is_the_learner_fed_event_by_event() -> None:
    dealt = episode("varying", MIXED)
    forecasters = chosen_forecasters(NAMES, MIXED, TaskFacts(GROUPS))
    said = replay(forecasters, dealt, 0, silent)
    for name, forecaster in forecasters.items():
        live, _ = play_live(forecaster, dealt, 0)
        assert np.abs(said[name] - live).max() < 2e-6, name


@pytest.mark.long
def test_networks_are_replayed_too_and_in_the_order_they_were_named() -> None:
    told: list[str] = []
    dealt = episode("varying", PLAIN, rounds=300)
    forecasters = chosen_forecasters(("direct-network", "marginal"), PLAIN, TaskFacts())
    said = replay(forecasters, dealt, 0, told.append)
    assert list(said) == ["direct-network", "marginal"]
    assert sorted(told) == ["direct-network", "marginal"]
    live, _ = play_live(forecasters["direct-network"], dealt, 0)
    assert np.abs(said["direct-network"] - live).max() < 1e-5


def test_every_forecaster_sums_to_one() -> None:
    said = replay(chosen_forecasters(NAMES, MIXED, TaskFacts(GROUPS)), episode("bursts", MIXED), 0, silent)
    assert all(np.allclose(np.exp(each).sum(axis=-1), 1, atol=1e-5) for each in said.values())


def test_the_marginal_is_one_estimate_for_all() -> None:
    ours = replay({"marginal": marginal_table(PLAIN)}, episode("fixed"), 0, silent)["marginal"]
    one = Spaces(1, PLAIN.proxies, PLAIN.outcomes)
    same = episode("fixed")
    flat = Episode.varying(np.zeros(200, int), same.z, same.y, same.proxy_seen, same.outcome_seen)
    assert np.abs(ours - replay({"x": direct_table(one)}, flat, 0, silent)["x"]).max() < 1e-6


def test_new_rows_are_those_with_a_proxy_and_no_outcome_yet() -> None:
    draw = np.random.default_rng(0)
    identity, rounds = draw.integers(0, 9, 300), np.arange(300)
    proxy_seen, outcome_seen = rounds + draw.integers(0, 40, 300), rounds + draw.integers(30, 200, 300)
    proxy_seen[::7], outcome_seen[::5] = -1, -1
    found = new_rows(identity, proxy_seen, outcome_seen)
    for t in range(300):
        mine = identity[:300] == identity[t]
        proxy = any(mine[i] and 0 <= proxy_seen[i] < t for i in range(300))
        outcome = any(mine[i] and 0 <= outcome_seen[i] < t for i in range(300))
        assert found[t] == (proxy and not outcome), t


@pytest.mark.parametrize("early", [200, 1])
@pytest.mark.parametrize("most", [1000, 70])
def test_nothing_leaks_and_a_planted_leak_is_found(most: int, early: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be it that all feedback is seen at once, or a single round too early."""
    monkeypatch.setattr(leaks, "ENOUGH", 20)
    monkeypatch.setattr(leaks, "MOST", most)
    dealt = episode("varying", PLAIN)
    forecasters = {"mixture": mixture(PLAIN), "direct-table": direct_table(PLAIN)}
    honest = check_leaks(forecasters, PLAIN, dealt, 0)
    assert honest.tampered > 20
    assert honest.moved == 0

    def foreseeing(given: dict[str, Forecaster], dealt: Episode, seed: int, tell: object) -> Said:
        rounds = np.arange(dealt.rounds)
        seen = (np.where(s < 0, s, np.maximum(s - early, rounds)) for s in (dealt.proxy_seen, dealt.outcome_seen))
        return replay(given, Episode(dealt.x, dealt.z, dealt.y, *seen), seed, silent)

    monkeypatch.setattr(leaks, "replay", foreseeing)
    assert check_leaks(forecasters, PLAIN, dealt, 0).moved > 0


@pytest.mark.parametrize("step", [2, 3, 7])
def test_a_thinned_log_is_as_late_as_it_was(step: int) -> None:
    dealt = episode("varying", PLAIN)
    thin = leaks.thinned(dealt, step)
    left = np.arange(0, dealt.rounds, step)
    assert thin.rounds == len(left)
    assert np.array_equal(thin.y, dealt.y[left])
    for ours, seen in ((thin.proxy_seen, dealt.proxy_seen), (thin.outcome_seen, dealt.outcome_seen)):
        for row, at in zip(ours.tolist(), seen[left].tolist(), strict=True):
            if at < 0 or at >= dealt.rounds:
                assert row == (at if at < 0 else thin.rounds)
            else:
                assert row == np.flatnonzero(left <= at)[-1]


def test_forecasters_go_by_their_names() -> None:
    assert {"marginal", "direct-table", "residual-table-shrunk", "residual-network", "mixture"} <= set(
        named_forecasters(())
    )
    assert not any("backing-off" in name for name in named_forecasters(()))
    with pytest.raises(SettingError, match="no forecaster has this name"):
        chosen_forecasters(("oracle",), PLAIN, TaskFacts())


def test_the_table_mixture_has_tables_of_each_family_and_strength() -> None:
    found = []
    for expert in experts_of(table_mixture(MIXED, GROUPS)):
        own = dict(expert.settings)
        assert own["groups"] == GROUPS
        found.append((expert.family, own["shrinkage"], own.get("kappa")))
    shrunk = [(family, strength, None) for family in ("direct", "factored") for strength in (3.0, 30.0)]
    assert found == shrunk + [("residual", strength, kappa) for strength in (3.0, 30.0) for kappa in (3.0, 30.0)]


def test_scores_of_a_perfect_forecaster(recwarn: pytest.WarningsRecorder) -> None:
    from presage.backtesting.scores import score_log

    y: Array = np.random.default_rng(0).integers(0, 2, 500)
    sure = np.log(np.where(np.eye(2)[y] > 0, 0.999, 0.001)).astype(np.float32)
    even = np.full((500, 2), np.log(0.5), np.float32)
    scores = score_log({"sure": sure, "even": even}, y, y == 0, None, -even[:, 0])
    assert scores["sure"].auc == [1.0, 1.0]
    assert scores["even"].losses.gain.mean == pytest.approx(0.0)
    assert scores["sure"].losses.gain.low > 0.6
    assert score_json(scores["sure"])["log_loss"] == pytest.approx(0.001, abs=1e-4)
    grouped = score_log({"sure": sure}, y, y == 0, np.arange(500) // 10, -even[:, 0])["sure"]
    assert grouped.ndcg == pytest.approx(1.0)
    assert not recwarn.list
