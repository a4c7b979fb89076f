"""Models of logs whose feedback is known at its horizon, by a time of success, by rows, or cut out of numbers."""

from pathlib import Path

import numpy as np
import pytest

import presage
from presage.errors import DataError, SettingError
from presage.logs.rows import read_log
from tests.fitting.logs import TASK, deal, write

SIGNALS = TASK.partition("[log]")[0].partition("[proxy]")
REST = '[log]\nid = "order"\n[forecaster]\nback_off = [["shop"]]\n'
CUT = """
[proxy]
column = "clicks"
edges = "quantiles:3"
horizon = "HORIZON"
known = "at horizon"
[outcome]
values = ["kept", "returned"]
horizon = "5 hours"
"""
KNOWN = {
    "at horizon": CUT.replace("HORIZON", "2 hours") + 'known = "at horizon"\n' + REST,
    "happened at": CUT.replace("HORIZON", "2 hours") + 'happened_at = "returned_at"\nknown = "as it happens"\n' + REST,
    "in rows": CUT.replace("HORIZON", "12 rows").replace("5 hours", "40 rows").replace('\nknown = "at horizon"', "")
    + REST.replace("[log]", '[log]\norder = "rows"'),
}


def rows(count: int) -> list[dict[str, object]]:
    draw = np.random.default_rng(0)
    found = []
    for row in deal(count):
        back = row["outcome"] == "returned"
        clicks = int(draw.integers(0, 20)) + 5 * back
        found.append(row | {"clicks": clicks, "returned_at": row["outcome_at"] if back else ""})
    return found


@pytest.mark.parametrize("known", KNOWN)
def test_a_model_says_what_the_backtest_said_and_goes_on_as_if_it_had_learnt_all(known: str, tmp_path: Path) -> None:
    task, log = SIGNALS[0] + KNOWN[known], write(tmp_path / "log.csv", rows(300))
    result = presage.backtest(log, task, forecasters="mixture")
    found = result.predictions
    read, _ = read_log(result.task, log)
    steps: presage.Model | None = None
    for cut in (60, 180, 299):
        until = int(read.shown_at[cut]) - 1
        if known == "in rows":
            until = cut  # the rows before it, for rows are numbered from 1
        model = presage.fit(log, task, until=until)
        scores = model.predict(log)
        row = scores["id"].tolist().index(read.id[cut])
        assert abs(scores["returned"][row] - found["mixture_returned"][cut]) < 1e-6
        if steps is None:
            steps = model
        else:
            steps.save(tmp_path / "model")
            steps = presage.load_model(tmp_path / "model")
            steps.update(log, until=until)
        # Quantiles come from the first tenth or thousand rows, which all parts of a log share.
        assert steps.as_json() | {"logs": 0} == model.as_json() | {"logs": 0}
    assert steps
    assert presage.load_model(steps.save(tmp_path / "model")).task == steps.task


def test_a_number_is_cut_for_a_now_cast(tmp_path: Path) -> None:
    dealt = rows(300)
    model = presage.fit(write(tmp_path / "log.csv", dealt), SIGNALS[0] + KNOWN["at horizon"])
    edges = model.as_json()["edges"]["proxy"]["edges"]
    asked = [dealt[0] | {"clicks": clicks} for clicks in (edges[0] - 1, edges[0], edges[1], "")]
    scores = model.nowcast(write(tmp_path / "rows.csv", asked))["returned"]
    assert len(set(scores.tolist())) == 4
    assert scores[3] == model.predict(tmp_path / "rows.csv")["returned"][0]
    asked[0] |= {"clicks": "many"}
    with pytest.raises(DataError, match=r"found 'many'.*give a number"):
        model.nowcast(write(tmp_path / "rows.csv", asked))
    for one in asked:
        del one["clicks"]
    with pytest.raises(DataError, match=r"the rows have no column clicks for the now-cast: .*; add one that holds"):
        model.nowcast(write(tmp_path / "rows.csv", asked))


def test_rows_without_times_need_no_ids(tmp_path: Path) -> None:
    task = SIGNALS[0] + KNOWN["in rows"].replace('id = "order"', "")
    log = write(tmp_path / "log.csv", rows(300))
    model = presage.fit(log, task, until=200)
    assert (model.until, model.rows) == (200, 200)
    assert "200 rows until row 200" in repr(model)
    model.update(log)
    assert model.digest == presage.fit(log, task).digest
    with pytest.raises(SettingError, match="until must be the number of a row"):
        presage.fit(log, task, until="2024-01-01")
