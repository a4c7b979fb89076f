"""Logs with numbers that are missing, infinite, enormous or out of bounds: left out or clipped, and counted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import presage
from presage.errors import DataError
from presage.logs.rows import read_log
from presage.service.features import feature_encoder
from presage.task.task import read_task
from tests.logs.given import table, task_of

WILD = ("1e300", "-1e300", "9007199254740990", "3.4e38", "1e-310", "1.7e308", "-1.7e308", "5e-324", "0")
PRICE = 'item = { kind = "category" }\nprice = { kind = "number"%s }'
HEAD = "item,price,shown_at,proxy,proxy_at,outcome,outcome_at"
KINDS = ("mixture", "residual-table", "direct-network", "factored-network", "residual-network")


def written(path: Path, prices: list[Any]) -> Path:
    draw, lines = np.random.default_rng(0), []
    for row, price in enumerate(prices):
        z = int(draw.integers(0, 2))
        y = int(draw.random() < (0.2, 0.8)[z])
        at = 1_700_000_000 + 86_400 * row
        answers = ("none", "some")[z], at + 60, ("no", "yes")[y], at + 7200
        lines.append((f"i{draw.integers(0, 9)}", price, at, *answers))
    return table(path, HEAD, lines)


@pytest.mark.parametrize(
    "scaling", ["", ", centre = 1e300, scale = 1e-10", ", min = -1e9, max = 1e9, outside = 'clip'"]
)
def test_enormous_numbers_of_a_log_are_clipped_as_a_service_clips_them(scaling: str, tmp_path: Path) -> None:
    task = task_of(PRICE % scaling)
    rows, excluded = read_log(task, written(tmp_path / "log.csv", [*WILD, "1.5"]))
    encode = feature_encoder(read_task(task.text.replace('"category"', '"category", hashed = 64')))
    dense = rows.instances.dense[:, 0]
    assert len(dense) == len(WILD) + 1, excluded.lines()
    expected = [encode({"item": "i", "price": float(price)}).dense[0] for price in (*WILD, "1.5")]
    assert np.array_equal(dense, np.array(expected, np.float32))
    assert np.isfinite(dense).all()
    assert np.abs(dense).max() <= np.float32(1e30)


def test_rows_out_of_bounds_are_left_out_and_counted_with_what_would_keep_them(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", ["1", "nan", "inf", "", "-0.5", "11", "1e300", "10", "0"])
    rows, excluded = read_log(task_of(PRICE % ", min = 0, max = 10"), log)
    assert rows.instances.dense[:, 0].tolist() == [1, 10, 0]
    assert excluded.told()[:2] == [
        "left out: rows without a valid price: 3, such as row 2 (to keep them, declare instance.price.missing)",
        "left out: rows whose price is below 0 or above 10: 3, such as row 5 "
        '(to keep them, declare instance.price.outside = "clip")',
    ]
    rows, _ = read_log(task_of(PRICE % ', min = 0, max = 10, missing = 99, outside = "clip"'), log)
    assert rows.instances.dense[:, 0].tolist() == [1, 10, 10, 10, 0, 10, 10, 10, 0]


def test_rows_to_predict_that_are_out_of_bounds_are_refused_in_one_line(tmp_path: Path) -> None:
    task = task_of(PRICE % ", max = 10")
    model = presage.fit(written(tmp_path / "log.csv", [*range(10), 2]), task, forecaster="residual-table")
    with pytest.raises(
        DataError, match=r"rows whose price is above 10: found '1, the first .* outside = .clip. in the"
    ):
        model.predict(written(tmp_path / "rows.csv", [3, 11]))


@pytest.mark.long
def test_backtests_and_models_of_such_a_log_stay_finite(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    prices = [str(value) for value in draw.normal(size=900).round(3)]
    prices[200:800:7] = [("nan", "inf", *WILD)[place % 11] for place in range(len(prices[200:800:7]))]
    log, task = written(tmp_path / "log.csv", prices), task_of(PRICE % ", missing = 0")
    found = presage.backtest(log, task, forecasters=KINDS).as_json()
    losses = {name: score["log_loss"] for name, score in found["forecasters"].items()}
    assert {name: 0 < losses[name] < 1 for name in KINDS} == dict.fromkeys(KINDS, True), losses
    for kind in ("mixture", "residual-network"):
        model = presage.fit(log, task, forecaster=kind)
        scored = dict(model.predict(log))
        said = np.stack([scored["no"], scored["yes"]])
        assert np.isfinite(said).all()
        assert np.allclose(said.sum(axis=0), 1, atol=1e-3)
