"""The paper's numbers, each beside the setting that holds it; and that the networks and trials are made with them."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from presage import Forecaster, Spaces, direct_table, factored_table, mixture
from presage.charts.panels import Axes, curves_panel
from presage.cli.reproduce import reproduce
from presage.experiments.data.acquisitions import OUTCOME_DAYS, PROXY_DAYS, count_acquisitions
from presage.experiments.data.commit_tables import QUERY
from presage.experiments.data.marketplace import build_market
from presage.experiments.github import problem as github_problem
from presage.experiments.github import settings as github
from presage.experiments.github.moments import Moments, find_moments
from presage.experiments.github.problem import BIN, OUTCOMES, ask, spaces_of
from presage.experiments.marketplace import problem as marketplace_problem
from presage.experiments.marketplace import settings as marketplace
from presage.experiments.marketplace.figure import figure_6
from presage.experiments.marketplace.problem import ScheduleRun, acquire
from presage.experiments.marketplace.problem import spaces_of as market_spaces
from presage.experiments.marketplace.schedules import SCHEDULES, chances
from presage.experiments.networks import NetworkSettings, train_oracles
from presage.experiments.synthetic import settings as synthetic
from presage.experiments.synthetic.figure import mix_rows
from presage.experiments.tuning import FIRST, SECOND, Search
from presage.forecasters.contract import Rows
from presage.forecasters.mixture import experts_of
from presage.forecasters.replay import Replay
from presage.metrics.intervals import mean_interval
from presage.spaces import Instance
from presage.worlds.marketplace import DAYS, ENGAGEMENTS, MarketplaceSettings
from presage.worlds.repositories import RepositorySettings

PAPERS: dict[str, Any] = {"synthetic": synthetic.PAPER, "github": github.PAPER, "marketplace": marketplace.PAPER}

GIVEN: list[tuple[str, str, str, Any]] = [
    ("Figure 2", "synthetic", "trials", 200),
    ("section 2", "synthetic", "rounds", 1000),
    ("section 2", "synthetic", "delay", 100),
    ("section 2, the analysis", "synthetic", "proxy_delay", 0),
    ("section 2", "synthetic", "useful", (1.0, 0.75, 0.0)),
    ("appendix, synthetic task", "synthetic", "instances", 10),
    ("appendix, synthetic task", "synthetic", "proxies", 4),
    ("appendix, synthetic task", "synthetic", "outcomes", 5),
    ("section 3", "github", "optimiser", "sgd"),
    ("section 3", "github", "learning_rate", 0.1),
    ("section 3", "github", "l2", 0.01),
    ("section 3", "github", "proxy_rate", 1.0),
    ("section 3", "github", "hidden", (40, 20)),
    ("section 3", "github", "buffer", 1000),
    ("section 3", "github", "start", 128),
    ("section 3", "github", "batch", 128),
    ("section 3", "github", "every", 4),
    ("section 3", "github", "steps", 1),
    ("section 4.1", "github", "outcome_least", 3),
    ("section 4.1", "github", "outcome_days", 21),
    ("section 4.1", "github", "proxy_days", 7),
    ("section 4.1, none, one or more", "github", "proxy_edges", (1, 2)),
    ("section 4.1", "github", "round_minutes", 10),
    ("section 4.1, the adversary's first mode", "github", "quiet_most", 1),
    ("section 4.1, a month", "github", "quiet_days", 30),
    ("section 4.1, its second", "github", "busy_least", 2),
    ("section 4.1, a week", "github", "busy_days", 7),
    ("section 4.1", "github", "modes", ("A", "B")),
    ("section 4.1", "github", "switch_week", 4.5),
    ("section 4.1", "github", "commit_days", 5),
    ("section 4.1", "github", "window_days", (date(2018, 1, 8) - date(2017, 5, 1)).days),
    ("section 4.1", "github", "oracle_steps", 10_000),
    ("section 4.1", "github", "oracle_rate", 0.0005),
    ("Figure 5", "github", "trials", 200),
    ("section 3", "marketplace", "optimiser", "sgd"),
    ("section 3", "marketplace", "learning_rate", 0.1),
    ("section 3", "marketplace", "l2", 0.01),
    ("section 3", "marketplace", "proxy_rate", 0.1),
    ("section 3", "marketplace", "hidden", (20, 10)),
    ("section 3", "marketplace", "buffer", 3000),
    ("section 3", "marketplace", "start", 500),
    ("section 3", "marketplace", "batch", 128),
    ("section 3", "marketplace", "every", 1000),
    ("section 3", "marketplace", "steps", 20),
    ("section 4.2", "marketplace", "proxy_days", 2),
    ("section 4.2", "marketplace", "outcome_days", 7),
    ("section 4.2", "marketplace", "days", (date(2018, 1, 31) - date(2018, 1, 10)).days),
    ("section 4.2", "marketplace", "items_a_day", 5),
    ("section 4.2", "marketplace", "items", 100),
    ("section 4.2", "marketplace", "round_seconds", 40),
    ("section 4.2", "marketplace", "oracle_steps", 40_000),
    ("section 4.2", "marketplace", "oracle_rate", 0.0005),
    ("Figure 7", "marketplace", "trials", 200),
]

NETWORKS_OURS = {"seed", "h_hidden", "h_rate", "h_l2", "residual_rate", "output_start", "oracle_batch"}
OURS = {
    "synthetic": {
        "seed", "noise", "mixes", "delays", "sizes", "growth_rounds", "scales", "scaled_delay", "scaled_instances",
        "scaled_rounds",
    },
    "github": NETWORKS_OURS | {"weeks", "grid_hours", "bulk", "history_days", "languages"},
    "marketplace": NETWORKS_OURS,
}  # fmt: skip
"""Settings whose value the paper does not give."""


@pytest.mark.parametrize(("where", "experiment", "name", "number"), GIVEN)
def test_a_setting_is_the_papers(where: str, experiment: str, name: str, number: Any) -> None:
    assert getattr(PAPERS[experiment], name) == number, where


@pytest.mark.parametrize("experiment", PAPERS)
def test_every_setting_is_the_papers_or_said_to_be_ours(experiment: str) -> None:
    given = {name for _, of, name, _ in GIVEN if of == experiment}
    assert given | OURS[experiment] == {field.name for field in fields(PAPERS[experiment])}
    assert not given & OURS[experiment]


def default_of(option: str) -> Any:
    return next(param.default for param in reproduce.params if param.name == option)


def alphas() -> set[float]:
    spaces = Spaces(10, 4, 5)
    tables = [direct_table(spaces), factored_table(spaces), *experts_of(mixture(spaces))[:2]]
    return {dict(table.settings)["alpha"] for table in tables}


def band() -> tuple[float, float]:
    """What the figure draws around trials of deviation 2."""
    rows = mix_rows(np.zeros(1), {"direct": np.array([[3.0, 5.0, 7.0]])})
    return rows[0]["low"], rows[0]["high"]


def confidence() -> list[float]:
    """What the bands of figures and the intervals of claims say to cover, told from trials of -1 and 1.

    With one degree of freedom Student's distribution is Cauchy's: [-h, h] covers 2/pi atan(h).
    """
    band = curves_panel(Axes("", "", ""), np.ones(1), {"direct": np.array([[-1.0], [1.0]])}).to_dict()["data"]["values"]
    ends = band[0]["high"], mean_interval(np.array([-1.0, 1.0])).high
    return [round(2 / math.pi * math.atan(end), 4) for end in ends]


def repositories_asked_for() -> set[float]:
    """How many repositories both parts of the query take of BigQuery's 2.8 million, to 100,000."""
    shares = re.findall(r"MOD\(ABS\(FARM_FINGERPRINT\(\w+\)\), (\d+)\) = 0", QUERY)
    assert len(shares) == 2
    return {round(2.8e6 / int(share), -5) for share in shares}


def launched() -> Any:
    """The half day in which each item of Staggered is first on offer."""
    market = MarketplaceSettings(items=100).deal(0)
    market = market._replace(launch=market.launch + 1)  # so that each is acquired on its first day
    return (chances(market, marketplace.PAPER, "staggered", np.arange(100)) > 0).argmax(axis=0)


def columns() -> int:
    """How many of 130 items the first panel of Figure 6 draws."""
    drawn = figure_6({"staggered": ScheduleRun({}, np.full((42, 130), 1 / 130), None)}).to_dict()
    return len({cell["item"] for cell in drawn["data"]["values"]})


def trained(problem: ModuleType, *given: Any) -> int:
    """How many oracles an experiment asks for; the training itself is left out."""
    train = Mock(side_effect=InterruptedError)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem, "train_oracles", train)
        patch.setattr(problem, "ORACLE_ROWS", 10)
        with pytest.raises(InterruptedError):
            problem.oracle_losses(*given)
    return len(train.call_args.args[3])


def oracles_of_github() -> int:
    modes = find_moments(RepositorySettings(repositories=40, years=1).deal(0), github.PAPER)
    return trained(github_problem, github.PAPER, spaces_of(github.PAPER, modes["A"]), modes)


def oracles_of_the_marketplace() -> list[int]:
    market = MarketplaceSettings(items=130).deal(0)
    firsts = {schedule: acquire(market, marketplace.PAPER, schedule, np.arange(1)) for schedule in SCHEDULES}
    return [
        trained(marketplace_problem, marketplace.PAPER, MARKETS[schedule], first) for schedule, first in firsts.items()
    ]


MARKETS = {schedule: market_spaces(marketplace.PAPER, schedule) for schedule in SCHEDULES}
ELSEWHERE: list[tuple[str, Any, Callable[[], Any]]] = [
    ("section 2, the Laplace estimator", {1.0}, alphas),
    ("Figure 2, one standard deviation", (3.0, 7.0), band),
    ("Figures 2, 5 and 7, trials that a command plays", 200, lambda: default_of("trials")),
    ("Figures 5 and 7, 95 % confidence intervals", [0.95, 0.95], confidence),
    ("section 3, tuned on the direct network first", ("learning_rate", "l2"), lambda: FIRST),
    ("section 3, by a grid", "grid", lambda: Search().kind),
    ("section 4.1, active or not", 2, lambda: OUTCOMES),
    ("section 4.1, none, one or more", 3, lambda: len(github.PAPER.proxy_edges) + 1),
    ("Figure 5, five data points", 5, lambda: BIN),
    ("section 4.1, repositories to start with", {100_000}, repositories_asked_for),
    ("section 4.1, two models, one for each mode", 2, oracles_of_github),
    ("section 4.1, the window and its commit days", True, lambda: "BETWEEN '2017-05-01' AND '2018-01-08'" in QUERY),
    ("section 4.1, the window and its commit days", True, lambda: "DISTINCT DATE(committed_at)) >= 5" in QUERY),
    ("section 4.2", ("deleted", "zero", "one", "many"), lambda: ENGAGEMENTS),
    ("section 4.2, days of data", 21, lambda: DAYS),
    ("section 4.2, conversions of an item", (100,), lambda: (build_market.__defaults__ or ())[:1]),
    ("section 4.2, items of either schedule", [100, 100], lambda: [each.instances for each in MARKETS.values()]),
    ("section 4.2, proxies and outcomes of a log", (2, 7), lambda: (PROXY_DAYS, OUTCOME_DAYS)),
    ("section 4.2, new items come at noon", {12}, lambda: {12 * (half % 2) for half in launched() if half}),
    ("section 4.2, new items a day", [5] * 20, lambda: np.bincount(launched() // 2).tolist()),
    ("section 4.2, 42 models, for either schedule", [42, 42], oracles_of_the_marketplace),
    ("Figure 6, item indices", 100, columns),
]


@pytest.mark.parametrize(("where", "number", "found"), ELSEWHERE)
def test_a_number_elsewhere_is_the_papers(where: str, number: Any, found: Callable[[], Any]) -> None:
    assert found() == number, where


GITHUB_SPACES = Spaces(replace(Spaces(1, 3, 2).features, symbols=(), dense=29), 3, 2)
BUILT: list[tuple[NetworkSettings, Spaces, int]] = [
    (github.PAPER, GITHUB_SPACES, 29),
    (marketplace.PAPER, MARKETS["uniform"], 100),
]


def experts(settings: NetworkSettings, spaces: Spaces) -> tuple[Forecaster, ...]:
    return experts_of(settings.networks(spaces))


@pytest.mark.parametrize(("settings", "spaces", "inputs"), BUILT)
def test_towers_have_the_papers_layers_and_g_has_none(settings: Any, spaces: Spaces, inputs: int) -> None:
    """Section 3: two hidden layers in every tower; g is bare logits, without a bias. Items are one-hot codes of 100."""
    direct, factored, residual = (
        jax.eval_shape(expert.init, jax.random.key(0)) for expert in experts(settings, spaces)
    )
    told = inputs + spaces.proxies + spaces.outcomes  # the residual tower's: the proxy and the logits of g too
    towers = [(direct.outcomes, inputs, spaces.outcomes), (residual.residual, told, spaces.outcomes)]
    towers += [(own.proxies, inputs, spaces.proxies) for own in (factored, residual.factors)]
    for tower, width, outputs in towers:
        first = tower.rows.shape[0] + tower.layers[0].weights.shape[0]
        shapes = [(first, tower.layers[0].weights.shape[1]), *(layer.weights.shape for layer in tower.layers[1:])]
        one, two = settings.hidden
        assert shapes == [(width, one), (one, two), (two, outputs)]
        assert tower.moments == ()  # SGD
    for g in (factored.outcomes, residual.factors.outcomes):
        assert g.shape == (spaces.proxies, spaces.outcomes)


@pytest.mark.parametrize(("settings", "spaces"), [built[:2] for built in BUILT])
def test_networks_are_built_with_the_settings(settings: Any, spaces: Spaces) -> None:
    for expert in experts(settings, spaces):
        own = dict(expert.settings)
        towers = [own, *(dict(own[part]) for part in ("h", "correction") if part in own)]
        for tower in towers:
            named = {name: tower[name] for name in ("hidden", "learning_rate", "l2", "optimiser")}
            assert named == {name: getattr(settings, name) for name in named}
        assert own.get("proxy_rate", settings.proxy_rate) == settings.proxy_rate
        replay = expert.replay
        assert replay is not None
        assert replay.proxy_window == replay.outcome_window == settings.buffer
        cadence = (replay.start, replay.every, replay.steps, replay.batch)
        assert cadence == (settings.start, settings.every, settings.steps, settings.batch)
    oracle = settings.oracle(spaces).training
    assert (oracle.hidden, oracle.learning_rate, oracle.optimiser) == (settings.hidden, settings.oracle_rate, "adam")


def test_settings_that_are_no_default_reach_every_network() -> None:
    towers = {"hidden": (9, 8), "learning_rate": 0.31, "l2": 0.003, "optimiser": "adam", "output_start": "random"}
    cadence = {"buffer": 77, "start": 33, "every": 5, "steps": 3, "batch": 11}
    changes: dict[str, Any] = towers | cadence | {"proxy_rate": 0.7}
    for expert in experts(replace(github.PAPER, **changes), GITHUB_SPACES):
        own = dict(expert.settings)
        assert {name: own[name] for name in towers} == towers
        assert own.get("proxy_rate", 0.7) == 0.7
        assert expert.replay == Replay(77, 77, 33, 5, 3, 11)
        for part, start in (("h", "random"), ("correction", "zero")):  # corrections always start at nothing
            if part in own:
                assert {name: dict(own[part])[name] for name in towers} == towers | {"output_start": start}


def test_h_and_the_residual_tower_have_the_settings_of_their_own() -> None:
    own: dict[str, Any] = {"h_hidden": (7, 6, 5), "h_rate": 0.23, "h_l2": 0.004}
    settings = replace(github.PAPER, residual_rate=0.05, proxy_rate=0.6, **own)
    direct, factored, residual = (dict(expert.settings) for expert in experts(settings, GITHUB_SPACES))
    paper = {"hidden": (40, 20), "learning_rate": 0.1, "l2": 0.01}
    for tower in (direct, factored, residual):
        assert {name: tower[name] for name in paper} == paper
    for through in (factored, residual):
        h = dict(through["h"])
        assert (h["hidden"], h["learning_rate"], h["l2"]) == tuple(own.values())
        assert through["proxy_rate"] == 0.6
    correction = dict(residual["correction"])
    assert {name: correction[name] for name in paper} == paper | {"learning_rate": 0.05}


@pytest.mark.parametrize("which", [1, 2])
def test_g_has_no_l2(which: int) -> None:
    """Section 3: where outcomes are as even as g says, a step leaves it as it is, however large its logits."""
    expert = experts(github.PAPER, GITHUB_SPACES)[which]
    state = expert.init(jax.random.key(0))
    g = jnp.full((3, 2), 5.0)
    state = state._replace(outcomes=g) if which == 1 else state._replace(factors=state.factors._replace(outcomes=g))
    x = Instance(np.zeros((6, 0), np.int32), np.ones((6, 29), np.float32))
    rows = Rows(x, np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1] * 3), (), np.ones(6, np.int32))
    stepped = jax.jit(expert.rehearse)(state, rows, rows)
    assert np.abs((stepped.outcomes if which == 1 else stepped.factors.outcomes) - g).max() < 1e-6


@pytest.mark.long
def test_oracles_take_as_many_steps_as_they_are_told() -> None:
    x = Instance(np.zeros((2, 8, 0), np.int32), np.ones((2, 8, 29), np.float32))
    settings = replace(github.PAPER, oracle_steps=7)
    _, towers = train_oracles(settings, GITHUB_SPACES, x, np.zeros((2, 8), np.int32))
    assert np.asarray(towers.moments.steps).tolist() == [7, 7]  # type: ignore[union-attr]


def test_github_trials_have_the_papers_times() -> None:
    """Section 4.1: a sample every 10 minutes, proxies after 1,008 rounds, outcomes after 3,024, a switch at 4,536."""
    modes = {
        mode: Moments(np.full((9, 29), place, np.float32), *np.zeros((3, 9), np.int32))
        for place, mode in enumerate("AB")
    }
    asked = ask(github.PAPER, modes, {"A": np.zeros(9), "B": np.ones(9)}, np.arange(1))
    t = np.arange(github.PAPER.rounds)
    assert (asked.episode.proxy_seen - t == 7 * 24 * 6).all()
    assert (asked.episode.outcome_seen - t == 21 * 24 * 6).all()
    for told in (asked.episode.x.dense[0, :, 0], asked.oracle[0]):
        assert np.flatnonzero(np.diff(told)).tolist() == [4536 - 1]
    assert spaces_of(github.PAPER, modes["A"]) == GITHUB_SPACES


def test_marketplace_trials_have_the_papers_times() -> None:
    """Section 4.2: an acquisition every 40 seconds for 21 days, proxies after 4,320 rounds, outcomes after 15,120."""
    market = MarketplaceSettings(items=130).deal(0)
    acquired = acquire(market, marketplace.PAPER, "staggered", np.arange(1))
    t = np.arange(21 * 24 * 90)
    assert (acquired.episode.proxy_seen - t == 2 * 24 * 90).all()
    assert (acquired.episode.outcome_seen - t == 7 * 24 * 90).all()
    assert acquired.schedule.shape == (42, 100)


def test_a_log_is_read_with_the_papers_engagements(tmp_path: Path) -> None:
    """Section 4.2: deleted, zero, one, or many, which is two or more, two days after an acquisition and after seven."""
    day = 86_400
    engaged = {0: [], 1: [day], 2: [day, day + 1], 3: [day, day + 1, day + 2], 4: [3 * day], 5: [3 * day, 8 * day]}
    rows = ["item,user,kind,at", "later,u,acquire,1900000"]  # so that the log is long enough
    for item, seconds in engaged.items():
        rows += [f"i{item},u,acquire,0", *(f"i{item},u,engage,{at}" for at in seconds)]
    rows += ["i6,u,acquire,0", f"i6,u,engage,{day}", f"i6,u,delete,{3 * day}"]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(rows))
    found = count_acquisitions(log, least=1)
    told = [[ENGAGEMENTS[part] for part in np.argwhere(counts)[0]] for counts in found.outcomes]
    assert found.items == [f"i{item}" for item in range(7)]
    assert told == [
        ["zero", "zero"], ["one", "one"], ["many", "many"], ["many", "many"],
        ["zero", "one"], ["zero", "one"], ["one", "deleted"],
    ]  # fmt: skip


@pytest.mark.parametrize("experiment", ["github", "marketplace"])
def test_the_tuned_settings_are_the_winner_of_the_recorded_search(experiment: str) -> None:
    paper = PAPERS[experiment]
    tuned = {"github": github.TUNED, "marketplace": marketplace.TUNED}[experiment]
    record = json.loads((Path(__file__).parents[2] / "docs" / f"tuning-{experiment}.json").read_text())
    assert record["settings"] == as_json(replace(paper, trials=record["settings"]["trials"]))
    assert record["search"] == as_json(replace(Search(), jobs=record["search"]["jobs"]))
    first, second = ([one for one in record["tried"] if one["step"] == step] for step in (1, 2))
    assert (len(first), len(second)) == (20, 60)

    def loss(one: dict[str, Any], *names: str) -> float:  # null: the networks left the range of numbers
        return sum(math.inf if one["losses"][name] is None else one["losses"][name] for name in names)

    of_direct = min(first, key=lambda one: loss(one, "direct"))
    best = min(second, key=lambda one: loss(one, "factored", "residual"))
    assert [best[name] for name in FIRST] == [of_direct[name] for name in FIRST]
    assert as_json(tuned) == as_json(paper) | {name: best[name] for name in FIRST + SECOND}


def as_json(settings: Any) -> dict[str, Any]:
    return dict(json.loads(json.dumps(asdict(settings))))
