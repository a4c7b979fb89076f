"""Models whose proxy is told with features: as a backtest, as one fit, and of values that no log ever showed."""

from pathlib import Path

import numpy as np
import pytest

import presage
from tests.fitting.logs import HASHED, TASK, deal, write
from tests.fitting.test_model import check_next_rows, check_same, steps

OWN = '[proxy]\nwith = ["shop", "stock"]\n'
TOLD, FIXED = TASK.replace("[proxy]\n", OWN), HASHED.replace("[proxy]\n", OWN)


@pytest.mark.parametrize("forecaster", ["factored-table", "mixture"])
def test_a_model_is_the_backtest_and_an_update_the_fit_of_both(forecaster: str, tmp_path: Path) -> None:
    """New shops come while it learns: g moves to the larger table."""
    rows = deal()
    for n, row in enumerate(rows):
        row["shop"] = f"s{n // 70}" if n % 3 else "s0"
    log = write(tmp_path / "log.csv", rows)
    check_next_rows(log, TOLD, forecaster, [5, 100, 399])
    whole = presage.fit(log, TOLD, forecaster=forecaster)
    check_same(steps(forecaster, TOLD, tmp_path, log), whole, log)
    plain = presage.fit(log, TASK, forecaster=forecaster)
    apart = float(np.abs(plain.predict(log)["returned"] - whole.predict(log)["returned"]).max())
    assert apart == 0 if forecaster == "mixture" else apart > 0.01, "the default reads every feature anyway"


@pytest.mark.long
@pytest.mark.parametrize("forecaster", ["factored-table", "factored-network", "residual-network"])
def test_values_never_seen_are_predicted(forecaster: str, tmp_path: Path) -> None:
    rows = deal()
    model = presage.fit(write(tmp_path / "log.csv", rows), TOLD, forecaster=forecaster)
    new = [row | {"shop": "never seen", "order": f"n{n}"} for n, row in enumerate(rows[-20:])]
    said = model.predict(write(tmp_path / "new.csv", new))["returned"]
    assert np.isfinite(said).all()
    assert (said > 0).all()
    assert (said < 1).all()


@pytest.mark.long
def test_an_update_of_a_network_is_the_fit_of_both(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", deal())
    whole = presage.fit(log, FIXED, forecaster="factored-network")
    check_same(steps("factored-network", FIXED, tmp_path, log), whole, log)
