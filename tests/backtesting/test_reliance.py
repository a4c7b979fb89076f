"""What the forecast rests on: the feature that matters comes first, and useless ones cost nothing to leave out."""

import json
from pathlib import Path

import numpy as np
import pytest

import presage
from presage import Forecaster
from presage.backtesting.reliance import FeaturePlaces, Reliance, RestsOn, feature_columns, held_constant, rests_on
from presage.backtesting.replay import replay
from presage.charts.panels import Bar, bars_chart
from presage.forecasters.contexts.context_mixture import context_mixture
from presage.metrics.intervals import Interval
from presage.spaces import EMPTY, Array, Features, Instance, SetOf, Spaces
from presage.task.task import load_task
from presage.timeline.episode import Delays, Episode
from tests.charts.test_pages import data_of

LINES = [f'useless_{place} = {{ kind = "category" }}' for place in range(5)]
LINES += [f'idle_{place} = {{ kind = "number" }}' for place in range(5)]
ONE_MATTERS = load_task(
    "\n".join(
        [
            "version = 1",
            'name = "one feature matters"',
            "[instance]",
            'item = { kind = "category", identity = true }',
            *LINES[:5],
            'matters = { kind = "category" }',
            *LINES[5:],
            *["[proxy]", 'values = ["a", "b"]', 'horizon = "10 rows"'],
            *["[outcome]", 'values = ["a", "b"]', 'horizon = "40 rows"'],
            *["[log]", 'order = "rows"'],
        ]
    )
)


def one_matters(seed: int, rows: int = 6000) -> tuple[Spaces, Episode]:
    """A world whose outcomes depend on the symbol column 6 alone."""
    draw = np.random.default_rng(seed)
    symbols = draw.integers(0, 4, (rows, 7)).astype(np.int32)
    symbols[:, 0] = draw.integers(0, 50, rows)
    y = (draw.random(rows) < np.array([0.1, 0.3, 0.6, 0.9])[symbols[:, 6]]).astype(np.int32)
    z = np.where(draw.random(rows) < 0.7, y, 1 - y).astype(np.int32)
    x = Instance(symbols, draw.normal(size=(rows, 5)).astype(np.float32))
    return Spaces(Features(symbols=(50, *[4] * 6), dense=5), 2, 2), Episode.fixed(x, z, y, Delays(10, 40))


@pytest.mark.parametrize("seed", range(4))
def test_the_one_feature_that_matters_comes_first_and_the_others_cost_nothing(seed: int) -> None:
    spaces, episode = one_matters(seed)
    told: list[str] = []
    default = context_mixture(spaces)
    said = played(default, episode)
    found = rests_on(ONE_MATTERS, default, episode, said, told.append)
    assert len(told) == len(found.features) == 12
    first, *others = found.features
    # The entropy of the outcome falls by 0.20 nats once the feature is known.
    assert first.feature == "matters"
    assert 0.1 < first.rise.low < first.rise.mean < first.rise.high < 0.25
    assert found.sentence.startswith("The forecast rests mostly on matters: without matters the log loss would be 0.")
    for each in others:
        assert each.rise.low < 0.002, each
        assert abs(each.rise.mean) < 0.01, each


def played(default: Forecaster, episode: Episode) -> Array:
    return replay({"mixture": default}, episode, 0, lambda _: None)["mixture"]


def test_only_the_first_rows_are_replayed_and_that_is_told() -> None:
    spaces, episode = one_matters(0)
    default = context_mixture(spaces)
    said = played(default, episode)
    part = rests_on(ONE_MATTERS, default, episode, said, lambda _: None, most=2000)
    assert part.part == "On the first 2,000 of 6,000 predictions."
    short = Episode.fixed(
        Instance(*(each[:2000] for each in episode.x)), episode.z[:2000], episode.y[:2000], Delays(10, 40)
    )
    assert part.features == rests_on(ONE_MATTERS, default, short, said[:2000], lambda _: None).features
    none = rests_on(ONE_MATTERS, default, episode, said, lambda _: None, most=3)
    assert none.features == ()
    assert none.sentence == ""
    assert none.as_json() == []


def test_each_feature_has_its_columns_and_the_parts_of_a_timestamp_are_one() -> None:
    task = load_task(
        "\n".join(
            [
                "version = 1",
                'name = "all kinds"',
                "[instance]",
                'tags = { kind = "set", slots = 2 }',
                'size = { kind = "number" }',
                'when = { kind = "timestamp", parts = ["hour", "weekday"] }',
                'item = { kind = "category" }',
                'more = { kind = "set", slots = 1 }',
                'fork = { kind = "boolean" }',
                *["[proxy]", 'values = ["a", "b"]', 'horizon = "1 day"'],
                *["[outcome]", 'values = ["a", "b"]', 'horizon = "2 days"'],
            ]
        )
    )
    features = Features(symbols=(5, 24, 7, 2), sets=(SetOf(9, 2), SetOf(9, 1)), dense=1)
    found = feature_columns(task, features)
    assert found == {
        "item": FeaturePlaces((0,), False, ()),
        "tags": FeaturePlaces((4, 5), True, ()),
        "size": FeaturePlaces((), False, (0,)),
        "when": FeaturePlaces((1, 2), False, ()),
        "more": FeaturePlaces((6,), True, ()),
        "fork": FeaturePlaces((3,), False, ()),
    }
    x = Instance(np.full((2, 7), 1, np.int32), np.full((2, 1), 2.0, np.float32))
    assert held_constant(x, found["tags"]).symbols[0].tolist() == [1, 1, 1, 1, EMPTY, EMPTY, 1]
    assert held_constant(x, found["when"]).symbols[0].tolist() == [1, 0, 0, 1, 1, 1, 1]
    assert held_constant(x, found["size"]).dense.tolist() == [[0], [0]]
    assert x.symbols.min() == 1  # the log itself stays as it was


def reliance(**rises: tuple[float, float, float]) -> RestsOn:
    return RestsOn(tuple(Reliance(name, 0.5, Interval(*rise)) for name, rise in rises.items()), "item", 100, 100)


def test_the_sentence_names_what_costs_most() -> None:
    found = reliance(a=(0.2, 0.1, 0.3), item=(0.1, 0.05, 0.15), c=(0.04, 0.03, 0.05))
    assert found.sentence == "The forecast rests mostly on a and item: without a the log loss would be 0.2 higher."
    assert reliance(a=(0.2, 0.1, 0.3), b=(0.2, 0.1, 0.3)).sentence.startswith("The forecast rests on a and b: ")
    found = reliance(a=(0.2, 0.1, 0.3), b=(0.1, -0.1, 0.3))
    assert found.sentence.startswith("The forecast rests mostly on a: ")
    assert reliance(a=(0.2, 0.1, 0.3)).sentence.startswith("The forecast rests on a: ")
    assert "only 0.001 higher" in reliance(a=(0.001, 0.0005, 0.0015), b=(0.0, -1.0, 1.0)).sentence
    assert "much the same" in reliance(a=(0.2, -0.1, 0.5), b=(0.0, -1.0, 1.0)).sentence
    nan = float("nan")
    assert reliance(a=(nan, nan, nan)).as_json() == [
        {"feature": "a", "loss_without": 0.5, "rise": None, "low": None, "high": None}
    ]


def test_bars_keep_their_order_and_say_their_value() -> None:
    bars = [Bar("b", Interval(0.3, 0.2, 0.4), True), Bar("a", Interval(-0.001, -0.02, 0.018), False)]
    rows = [row for row in data_of(bars_chart(bars, "nats", "feature")) if "name" in row]
    assert [(row["name"], row["text"], row["strong"]) for row in rows[:2]] == [
        ("b", "+0.300", True),
        ("a", "-0.001", False),
    ]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> presage.BacktestResult:
    made = presage.simulate("shop", tmp_path_factory.mktemp("log") / "shop.parquet", rows=2500)
    return presage.backtest(made.log, made.task, forecasters="mixture")


def test_a_result_tells_what_it_rests_on_when_it_is_asked(shop: presage.BacktestResult, tmp_path: Path) -> None:
    assert "rests_on" not in shop.as_json()
    table = shop.rests_on
    assert list(table) == ["feature", "loss_without", "rise", "low", "high"]
    assert sorted(table["feature"]) == sorted(feature.name for feature in shop.task.instance)
    assert (np.diff(table["rise"]) <= 0).all()
    loss = shop.scores["log_loss"][list(shop.scores["forecaster"]).index("mixture")]
    assert np.allclose(table["loss_without"] - table["rise"], loss, atol=1e-6)
    asked = shop.with_rests_on()
    assert asked is shop.with_rests_on() is asked.with_rests_on()
    assert asked.found.rests_on is not None
    assert asked.found.rests_on.sentence in asked.verdict
    page = shop.save(tmp_path / "out").read_text()
    assert "<h2>What the forecast rests on</h2>" in page
    kept = json.loads((tmp_path / "out" / "backtest.json").read_text())
    assert kept["rests_on"] == asked.as_json()["rests_on"]
    assert [each["feature"] for each in kept["rests_on"]] == list(table["feature"])
    assert (tmp_path / "out" / "rests_on.csv").read_text().startswith("feature,loss_without,rise,low,high\n")


def test_without_the_default_there_is_nothing_to_tell(shop: presage.BacktestResult) -> None:
    other = presage.backtest(shop.settings["log"], shop.task, forecasters="direct-table")
    assert other.rests_on.rows == 0
    assert other.with_rests_on().as_json()["rests_on"] == []
