"""The default forecaster where it could go wrong: far from the best, misled by useless features, or large."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import presage
from benchmarks.ablation import USELESS, Scene, losses, without_useless, world
from benchmarks.regret import Point, compare
from presage.errors import DataError
from presage.experiments.claims import Verdict
from presage.forecasters.contexts.kernels import start_state
from presage.forecasters.contexts.layout import ContextLayout, ContextSettings
from presage.metrics.bootstrap import bootstrap_mean
from presage.spaces import Array, Features, Instance, SetOf, Spaces
from presage.timeline.episode import Episode
from tests.logs.given import table, task_of

POINTS = (
    Point(0.0, 1.0),
    Point(0.0, 0.0),
    Point(0.5, 0.75),
    Point(1.0, 1.0),
    Point(1.0, 0.0),
    Point(1.0, 1.0, bypass=0.5, rounds=5000),
)


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_regret_is_near_that_of_the_best_single_forecaster(point: Point) -> None:
    """All points of Figure 2: `python -m benchmarks regret`."""
    found = compare(point, trials=40, seed=7)
    assert found.verdict is not Verdict.FAILS, {name: found.ratio(name) for name in found.regrets}


@pytest.mark.long
def test_thirty_useless_features_cost_a_hundredth_of_a_nat_at_most() -> None:
    """On more rows and seeds: `python -m benchmarks ablation`."""
    scene = world("useless features", 3)
    plain = without_useless(scene)
    assert [len(each.spaces.features.symbols) for each in (scene, plain)] == [4 + USELESS, 4]
    assert bootstrap_mean(losses(scene) - losses(plain)).high < 0.01


def declared(scene: Scene, symbols: Array | None = None, numbers: Array | None = None, values: int = 1) -> Scene:
    """The same world with one more column, of symbols or of numbers."""
    x, features = scene.episode.x, scene.spaces.features
    if symbols is not None:
        x = x._replace(symbols=np.column_stack([x.symbols, symbols]).astype(np.int32))
        features = replace(features, symbols=(*features.symbols, values))
    if numbers is not None:
        x = x._replace(dense=np.column_stack([x.dense, numbers]).astype(np.float32))
        features = replace(features, dense=features.dense + 1)
    return scene._replace(spaces=replace(scene.spaces, instances=features), episode=replace(scene.episode, x=x))


ROWS = 20_000
WILD = np.array([3e38, -3e38, 1e-38, -1e-38, 0.0, 3.5])
COLUMNS: dict[str, dict[str, Any]] = {
    "a constant category": {"symbols": np.zeros(ROWS), "values": 1},
    "one of many values": {"symbols": np.full(ROWS, 70), "values": 100},
    "a constant number": {"numbers": np.full(ROWS, 7.0)},
    "numbers out of all bounds": {"numbers": np.random.default_rng(0).choice(WILD, ROWS)},
    "another name for every row": {"symbols": np.arange(ROWS), "values": 10**7},
}


@pytest.mark.long
@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_that_tells_nothing_costs_next_to_nothing(column: str) -> None:
    """A hundredth of a nat less than what thirty useless features may cost together."""
    scene = world("features only", 4, ROWS)
    more = declared(scene, **COLUMNS[column])
    found = losses(more)
    assert np.isfinite(found).all()
    cost = bootstrap_mean(found - losses(scene))
    assert cost.high < 0.003, cost


ODD = (
    'empty = { kind = "category", missing = "none" }',
    'no_number = { kind = "number", missing = 0 }',
    'same = { kind = "category" }',
    'wild = { kind = "number", missing = 0 }',
)


@pytest.mark.long
def test_odd_columns_of_a_log_are_played_and_empty_ones_are_refused_unless_the_task_expects_them(
    tmp_path: Path,
) -> None:
    draw, rows = np.random.default_rng(6), 1000
    y = draw.integers(0, 2, rows)
    z = np.where(draw.random(rows) < 0.8, y, 1 - y)
    wild = draw.choice(["1e300", "-1e300", "nan", "inf", "-inf", "", "3.5", "1e-300"], rows)
    lines = [(f"i{place % 9}", None, None, "x", *row) for place, row in enumerate(zip(wild, z, y, strict=True))]
    log = table(tmp_path / "odd.csv", "item,empty,no_number,same,wild,proxy,outcome", lines)
    signals = {
        "proxy": 'values = ["0", "1"]\nhorizon = "5 rows"',
        "outcome": 'values = ["0", "1"]\nhorizon = "20 rows"',
    }
    item, order = 'item = { kind = "category" }', 'order = "rows"'
    task = task_of("\n".join((item, *ODD)), **signals, log=order)
    score = presage.backtest(log, task, forecasters="mixture").found.scores["mixture"]
    assert np.isfinite(score.losses.overall).all()
    assert score.losses.overall.mean < 0.8
    for feature in ODD[:2]:
        name, bare = feature.split()[0], feature.split(", missing")[0] + " }"
        with pytest.raises(DataError, match=f"every row .* left out: found .'rows without a valid {name}': {rows}"):
            presage.backtest(log, task_of(f"{item}\n{bare}", **signals, log=order), forecasters="mixture")


def most_bytes(layout: ContextLayout) -> int:
    """The bound that docs/forecasters.md states."""
    heads, each = 2 + layout.spaces.proxies, layout.settings.buckets
    symbols = layout.spaces.proxies * (1 + layout.spaces.outcomes) + layout.spaces.outcomes
    rounded = sum(-(-count // 8) * 8 for count in (symbols, heads))
    return (60 + len(layout.groups)) * rounded * each


MANY = {
    "a thousand categories": Features((1000, *[5] * 1000)),
    "a thousand numbers": Features((1000,), dense=1000),
    "a thousand sets": Features((1000,), sets=(SetOf(10**6, 3),) * 1000),
    "a thousand categories of a million values": Features((10**6,) * 1000),
    "ten million instances": Features((10**7,)),
    "all that is dear": Features((10**7,) * 4 + (31,) * 6 + (5,) * 900, (SetOf(10**7, 4),), 90),
}


@pytest.mark.parametrize("spaces", [(2, 2), (3, 3), (4, 7)], ids=str)
@pytest.mark.parametrize("features", MANY)
def test_memory_has_a_bound_however_many_features_and_values_there_are(features: str, spaces: tuple[int, int]) -> None:
    """With smaller tables, for the bound is that much smaller; their layout alone is also that of the largest."""
    groups = ((1,), (1, 2)) if len(MANY[features].symbols) > 2 else ()
    for buckets in (2**17, 2**20):
        layout = ContextLayout(Spaces(MANY[features], *spaces), ContextSettings(buckets=buckets), (), groups)
        assert layout.places.rows.max() <= buckets
        assert layout.weight_rows <= buckets + MANY[features].dense + 64
        assert layout.places.rows.sum() <= (11 + len(groups) / 4) * buckets
    small = ContextLayout(Spaces(MANY[features], *spaces), ContextSettings(buckets=2**17), (), groups)
    assert sum(part.nbytes for part in start_state(small)) <= most_bytes(small)


def test_the_page_says_how_much_memory_a_thousand_features_take() -> None:
    page = Path("docs/forecasters.md").read_text("utf-8")
    assert f"{most_bytes(ContextLayout(Spaces(3, 3, 3), ContextSettings())) / 2**30:.1f} GiB" in page
    for features in ("a thousand categories", "a thousand numbers"):
        state = start_state(ContextLayout(Spaces(MANY[features], 3, 3), ContextSettings()))
        assert f" {sum(part.nbytes for part in state) / 2**20:.0f} MiB" in page


def test_values_far_apart_share_the_rows_of_a_small_table() -> None:
    """Ten million values in 64 rows: hashed, and as good as a table can be that confuses them."""
    rows, draw = 3000, np.random.default_rng(5)
    symbols = np.column_stack([draw.integers(0, 10**7, rows), draw.integers(0, 3, rows)]).astype(np.int32)
    y = (draw.random(rows) < np.array([0.1, 0.5, 0.9])[symbols[:, 1]]).astype(np.int32)
    seen = np.arange(rows), np.arange(rows) + 10
    episode = Episode.varying(Instance(symbols, np.zeros((rows, 0), np.float32)), y, y, *seen)
    chance = np.array([0.1, 0.5, 0.9])[symbols[:, 1]]
    truth = np.stack([1 - chance, chance], axis=1)
    scene = Scene("hashed", Spaces(Features((10**7, 3)), 2, 2), episode, truth)
    excess = losses(scene, ContextSettings(buckets=64)) + (truth * np.log(truth)).sum(axis=1)
    assert excess[1000:].mean() < 0.01
