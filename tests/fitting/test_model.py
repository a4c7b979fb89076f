"""Models against the backtest, and against fitting on everything at once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import presage
from presage import Model
from presage.drivers.counting import episodes as stretches
from presage.errors import DataError, SettingError
from presage.fitting.model import as_moment
from presage.logs.rows import read_log
from tests.fitting.logs import HASHED, START, TASK, deal, known_by, write

COUNTED = ("mixture", "direct-table", "factored-table-shrunk", "residual-table", "marginal")
NETWORKS = ("direct-network", "factored-network", "residual-network")


def fitted(tmp_path: Path, task: str = TASK, **choice: Any) -> Model:
    return presage.fit(write(tmp_path / "log.csv", deal()), task, **choice)


def check_next_rows(log: Path, task: str, forecaster: str, cuts: list[int]) -> None:
    """What a model says of the rows shown next is what the backtest said of them.

    Of a network the first alone: in a backtest it may train between two rows of the same time.
    """
    found = presage.backtest(log, task, forecasters=(forecaster,)).predictions
    rows, _ = read_log(presage.load_task(task), log)
    for cut in cuts:
        model = presage.fit(log, task, forecaster=forecaster, until=int(rows.shown_at[cut]) - 1)
        scores = model.predict(log)
        place = {id: at for at, id in enumerate(scores["id"].tolist())}
        next_rows = np.flatnonzero(rows.shown_at == rows.shown_at[cut])
        for row in next_rows[:1] if forecaster in NETWORKS else next_rows:
            said = scores["returned"][place[rows.id[row]]]
            assert abs(said - found[f"{forecaster}_returned"][row]) < 1e-6


@pytest.mark.parametrize("forecaster", COUNTED)
def test_a_model_says_of_the_next_rows_what_the_backtest_said(forecaster: str, tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", deal())
    check_next_rows(log, TASK, forecaster, [5, 30, 100, 251, 399])


@pytest.mark.long
@pytest.mark.parametrize("forecaster", NETWORKS)
def test_a_network_says_of_the_next_rows_what_the_backtest_said(forecaster: str, tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", deal())
    check_next_rows(log, HASHED, forecaster, [7, 8, 251, 399])


def steps(forecaster: str, task: str, folder: Path, log: Path) -> Model:
    """A model that learnt the same log in four parts, saved and loaded between them."""
    rows, _ = read_log(presage.load_task(task), log)
    model = presage.fit(log, task, forecaster=forecaster, until=int(rows.shown_at[90]) + 17)
    for row in (91, 200, 300):
        model.save(folder / "model")
        model = presage.load_model(folder / "model")
        model.update(log, until=int(rows.shown_at[row]))
    model.update(log)
    return model


def check_same(one: Model, other: Model, log: Path) -> None:
    assert one.digest == other.digest
    assert (one.rows, one.open, one.until) == (other.rows, other.open, other.until)
    assert np.array_equal(one.predict(log)["returned"], other.predict(log)["returned"])


@pytest.mark.parametrize("events", [1, 37, 10**6])
@pytest.mark.parametrize("forecaster", COUNTED)
def test_an_update_ends_where_fitting_both_ends(
    forecaster: str, events: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(tmp_path / "log.csv", deal())
    whole = presage.fit(log, TASK, forecaster=forecaster)
    monkeypatch.setattr(stretches, "EVENTS", events)
    check_same(steps(forecaster, TASK, tmp_path, log), whole, log)


@pytest.mark.long
@pytest.mark.parametrize("forecaster", NETWORKS)
def test_an_update_of_a_network_ends_where_fitting_both_ends(forecaster: str, tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", deal())
    check_same(steps(forecaster, HASHED, tmp_path, log), presage.fit(log, HASHED, forecaster=forecaster), log)


def test_a_log_may_hold_only_what_is_new(tmp_path: Path) -> None:
    dealt = deal()
    ends = [dealt[place]["shown_at"] + 60 for place in (150, 260, 399)]
    model, after = None, 0
    for end in ends:
        news = write(tmp_path / "news.csv", known_by(dealt, end, after))
        task = TASK.replace('id = "order"', f'id = "order"\nuntil = {np.datetime64(end, "s")}')
        if model is None:
            model = presage.fit(news, task)
        else:
            before = model.rows
            model.task = presage.load_task(task)
            added = model.update(news)
            assert added.rows == model.rows - before
            assert added.feedback > 15
            assert added.skipped < 5  # feedback that came after its horizon
        after = end
    whole = presage.fit(write(tmp_path / "all.csv", known_by(dealt, ends[-1])), task)
    assert model is not None
    check_same(model, whole, tmp_path / "all.csv")


def test_nothing_is_learnt_twice(tmp_path: Path) -> None:
    model = fitted(tmp_path)
    before = model.digest
    added = model.update(tmp_path / "log.csv")
    assert (added.rows, added.feedback) == (0, 0)
    assert added.skipped == model.rows - model.open
    assert model.digest == before


def test_feedback_that_came_into_the_log_too_late_is_learnt_once_as_of_the_last_row(tmp_path: Path) -> None:
    dealt = deal(60)
    last = dealt[-1]["shown_at"]
    late = [row for row in dealt if row["outcome"] and row["shown_at"] + 5 * 3600 > last > row["outcome_at"]]
    gap = [dict(row) | {"outcome": "", "outcome_at": ""} if row is late[0] else row for row in dealt]
    model = presage.fit(write(tmp_path / "gap.csv", gap), TASK, until=last * 10**6)
    whole = write(tmp_path / "log.csv", dealt)
    assert model.update(whole, until=last * 10**6).feedback == 1
    as_of = [dict(row) | {"outcome_at": last} if row is late[0] else row for row in dealt]
    assert model.digest == presage.fit(write(tmp_path / "as_of.csv", as_of), TASK, until=last * 10**6).digest
    assert model.update(whole, until=last * 10**6).feedback == 0


def test_later_rows_alone_go_on_without_ids_and_earlier_ones_are_refused(tmp_path: Path) -> None:
    task, dealt = TASK.replace('id = "order"', ""), deal(60)
    model = presage.fit(write(tmp_path / "first.csv", dealt[:40]), task, until=dealt[39]["shown_at"] * 10**6)
    before = model.digest
    with pytest.raises(DataError, match="no ids to tell them by"):
        model.update(write(tmp_path / "both.csv", dealt))
    assert model.digest == before
    later = [row for row in dealt if row["shown_at"] > dealt[39]["shown_at"]]
    assert model.update(write(tmp_path / "later.csv", later)).rows == len(later)


def test_an_update_that_fails_changes_nothing(tmp_path: Path) -> None:
    model = fitted(tmp_path)
    before = model.digest, model.logs
    (tmp_path / "bad.csv").write_text("order,shown_at\n1,2\n")
    with pytest.raises(DataError, match="lacks the columns"):
        model.update(tmp_path / "bad.csv")
    with pytest.raises(DataError, match="until lies before what the model has learnt"):
        model.update(tmp_path / "log.csv", until="2001-01-01")
    assert (model.digest, model.logs) == before


def test_a_value_the_log_never_showed_is_predicted_like_a_new_instance(tmp_path: Path) -> None:
    """The same as in a model whose log ends with a row of it that nothing is known of."""
    dealt = deal(200)
    ask = dict(dealt[-1]) | {"order": "new", "item": "never", "shop": "s1", "tags": "t0,never"}
    nothing = dict.fromkeys(("proxy", "proxy_at", "outcome", "outcome_at"), "")
    end = dealt[-1]["shown_at"] * 10**6
    known = presage.fit(write(tmp_path / "log.csv", dealt), TASK, until=end)
    shown = presage.fit(write(tmp_path / "more.csv", [*dealt, ask | nothing]), TASK, until=end)
    rows = write(tmp_path / "rows.csv", [ask, dealt[0]])
    scores, other = known.predict(rows), shown.predict(rows)
    assert np.abs(scores["returned"] - other["returned"]).max() < 1e-7
    assert scores.unseen == {"item": 1, "tags": 1}
    assert other.unseen in ({"tags": 1}, {})
    assert abs(scores["returned"][0] - scores["returned"][1]) > 1e-3


@pytest.mark.long
def test_a_network_takes_unseen_values_too(tmp_path: Path) -> None:
    model = fitted(tmp_path, forecaster="residual-network")
    nothing = dict.fromkeys(("proxy", "proxy_at", "outcome", "outcome_at"), "")
    ask = dict(deal()[-1]) | {"item": "never", "tags": "never"} | nothing
    scores = model.predict(write(tmp_path / "rows.csv", [ask, dict(ask) | {"item": "other", "tags": ""}]))
    assert scores.unseen == {"item": 2, "tags": 1}
    assert scores["returned"][0] == scores["returned"][1]
    assert model.update(write(tmp_path / "more.csv", [ask | {"order": "x", "shown_at": START * 2}])).rows == 1


def test_probabilities_are_those_of_counting(tmp_path: Path) -> None:
    """A now-cast of the factored table is a share among the rows with that proxy and a known outcome."""
    model = fitted(tmp_path, forecaster="factored-table")
    rows, _ = read_log(presage.load_task(TASK), tmp_path / "log.csv")
    z, y = rows.proxies[0].symbols, rows.outcome.symbols
    ask = [dict(deal()[0]) | {"proxy": value} for value in ("none", "click", "cart", "")]
    scores = model.nowcast(write(tmp_path / "rows.csv", ask))
    for proxy in range(3):
        met = (z == proxy) & (y >= 0)
        share = (((y == 1) & met).sum() + 1) / (met.sum() + 2)
        assert abs(scores["returned"][proxy] - share) < 1e-6
    assert scores["returned"][3] == model.predict(tmp_path / "rows.csv")["returned"][3]
    assert np.allclose(scores["kept"] + scores["returned"], 1, atol=1e-6)


def test_rows_come_back_in_their_order_with_their_ids(tmp_path: Path) -> None:
    model, dealt = fitted(tmp_path), deal()
    turned = write(tmp_path / "turned.csv", dealt[::-1])
    scores = model.predict(turned)
    assert scores["id"].tolist() == [row["order"] for row in dealt[::-1]]
    assert np.array_equal(scores["returned"][::-1], model.predict(tmp_path / "log.csv")["returned"])
    bare = [{name: row[name] for name in ("item", "shop", "tags", "price", "stock")} for row in dealt]
    alone = model.predict(write(tmp_path / "bare.csv", bare))
    assert list(alone) == ["kept", "returned"]
    assert np.array_equal(alone["returned"], model.predict(tmp_path / "log.csv")["returned"])


def test_a_frame_is_scored_like_a_file(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="polars is not on this machine")
    model = fitted(tmp_path)
    frame = polars.read_csv(tmp_path / "log.csv")
    assert np.array_equal(model.predict(frame)["kept"], model.predict(tmp_path / "log.csv")["kept"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"item": ""}, "rows without a valid item: found '1, the first is row 2'"),
        ({"proxy": "odd"}, "values outside those of proxy: found 'odd'"),
    ],
)
def test_a_row_that_cannot_be_scored_is_refused(change: dict[str, object], message: str, tmp_path: Path) -> None:
    model, dealt = fitted(tmp_path), deal(2)
    rows = write(tmp_path / "rows.csv", [dealt[0], dealt[1] | change])
    with pytest.raises(DataError, match=message):
        model.nowcast(rows)


def test_rows_without_a_feature_and_no_rows_are_refused(tmp_path: Path) -> None:
    model = fitted(tmp_path)
    (tmp_path / "rows.csv").write_text("item,shop,tags,stock\na,b,c,1\n")
    with pytest.raises(DataError, match=r"rows.csv lacks the columns price.*instance.price"):
        model.predict(tmp_path / "rows.csv")
    (tmp_path / "rows.csv").write_text("item,shop,tags,stock,price\n")
    with pytest.raises(DataError, match=r"rows.csv holds no rows"):
        model.predict(tmp_path / "rows.csv")


def test_what_cannot_be_learnt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="until lies before the first row"):
        fitted(tmp_path, until="2001-01-01")
    for until in ("monday", 3.5, True):
        with pytest.raises(SettingError, match="until must be a time"):
            fitted(tmp_path, until=until)
    with pytest.raises(SettingError, match="did you mean mixture"):
        fitted(tmp_path, forecaster="mixtur")
    with pytest.raises(SettingError, match="no such proxy"):
        fitted(tmp_path, proxy="other")


def test_a_time_is_the_same_however_it_is_given() -> None:
    moment = as_moment("2024-06-30 12:00")
    assert moment == as_moment("2024-06-30T14:00:00+02:00") == as_moment(np.datetime64("2024-06-30T12:00"))
    assert as_moment(moment) == moment
    assert as_moment(None) is None
