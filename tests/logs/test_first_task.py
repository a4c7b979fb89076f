"""A first task file: what it proposes beyond the columns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from presage.logs.drafts.first_task import first_task
from presage.logs.rows import read_log
from presage.spaces import Array
from presage.task.features import Category, Number
from presage.task.signals import HappenedAt, Labelled
from presage.task.task import Task, read_task
from tests.logs.given import table
from tests.logs.places import real_data

HEAD = "item,shop,kind_of_shop,shown_at,proxy,proxy_at,outcome,outcome_at"


def written(tmp_path: Path) -> str:
    rows = [
        (f"i{n % 40}", f"s{n % 9}", f"k{n % 2}", f"2020-01-{n % 20 + 1:02}", ("a", "b")[n // 3 % 2],
         f"2020-01-{n % 20 + 2:02}", ("no", "yes")[n // 4 % 2], f"2020-01-{n % 20 + 8:02}")
        for n in range(200)
    ]  # fmt: skip
    return first_task(table(tmp_path / "log.csv", HEAD, rows))


def test_categories_coarser_than_the_identity_are_proposed_to_back_off_through(tmp_path: Path) -> None:
    text = written(tmp_path)
    proposed = '# back_off = [["kind_of_shop"], ["kind_of_shop", "shop"]]  # what a new item shares with others'
    assert proposed in text
    assert read_task(text).forecaster.back_off == ()
    taken = read_task(text.replace("# back_off", "back_off"))
    assert taken.forecaster.back_off == (("kind_of_shop",), ("kind_of_shop", "shop"))


def test_horizons_are_whole_days_from_a_day_on(tmp_path: Path) -> None:
    task = read_task(written(tmp_path))
    assert (str(task.proxy().horizon), str(task.outcome.horizon)) == ("1 day", "7 days")


DAYS = 86_400_000_000
ROWS = 1200
START = int(np.datetime64("2023-03-01", "us").astype(np.int64))


class Sales(NamedTuple):
    """Honest columns to choose from: a sale within days of the order, a click before it."""

    draw: np.random.Generator
    ordered: Array  # int64 [N]: microseconds
    sold: Array  # bool [N]
    clicked: Array  # bool [N]
    delay: Array  # int64 [N]

    def times(self, after: Array | int = 0, only: Array | None = None, form: str = "%Y-%m-%d %H:%M:%S") -> list[Any]:
        moments = (self.ordered + after).astype("M8[us]").astype(object)
        there = np.ones(ROWS, bool) if only is None else only
        return [one.strftime(form) if kept else None for one, kept in zip(moments, there, strict=True)]

    def words(self, prefix: str, different: int) -> list[str]:
        return [f"{prefix}{n}" for n in self.draw.integers(0, different, ROWS)]


@pytest.fixture(scope="module")
def sales() -> Sales:
    draw = np.random.default_rng(8)
    ordered = START + np.sort(draw.integers(0, 200 * DAYS, ROWS))
    sold = draw.random(ROWS) < 0.4
    clicked = draw.random(ROWS) < np.where(sold, 0.6, 0.2)
    return Sales(draw, ordered, sold, clicked, draw.integers(DAYS // 24, 10 * DAYS, ROWS))


def flags(values: Array, yes: str = "yes", no: str = "no") -> list[str]:
    return [yes if value else no for value in values]


def drafted(path: Path, columns: Mapping[str, Sequence[Any]]) -> tuple[str, Task, Path]:
    log = table(path / "log.csv", ",".join(columns), list(zip(*columns.values(), strict=True)))
    text = first_task(log)
    return text, read_task(text), log


@pytest.mark.parametrize(
    ("value", "time"),
    [("paid", "paid_at"), ("paid", "paidAt"), ("Paid", "PAID_TS"), ("paid", "paid_time"), ("paid", "Paid Date"),
     ("paid", "paid_on"), ("paid", "date_paid"), ("is paid", "is_paid_timestamp"), ("paid flag", "paid_at")],
)  # fmt: skip
def test_a_value_is_paired_with_its_time_however_both_are_spelt(
    tmp_path: Path, sales: Sales, value: str, time: str
) -> None:
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "created_at": sales.times(),
        value: flags(sales.sold), time: sales.times(sales.delay),
    }  # fmt: skip
    _, task, log = drafted(tmp_path, columns | {"click": flags(sales.clicked), "clickAt": sales.times(DAYS // 9)})
    assert task.outcome.columns == {"column": value, "known_at": time}
    assert task.proxy().columns == {"column": "click", "known_at": "clickAt"}
    assert task.log.shown_at == "created_at"
    assert len(read_log(task, log)[0].id) == ROWS


@pytest.mark.parametrize("name", ["id", "ID", "order_id", "OrderId", "orderID", "uuid", "Order UUID", "id_order"])
def test_an_id_is_recognised_in_any_case_and_no_feature(tmp_path: Path, sales: Sales, name: str) -> None:
    columns: dict[str, Any] = {name: sales.draw.permutation(ROWS), "user_id": sales.draw.integers(0, 50, ROWS)}
    text, task, _ = drafted(tmp_path, columns | {"at": sales.times(), "paid": flags(sales.sold)})
    assert task.log.id == name
    assert [(type(one).__name__, one.column) for one in task.instance] == [("Category", "user_id")]
    assert f"\n{name} = {{" not in text


def test_of_two_ids_of_rows_the_shorter_name_is_taken(tmp_path: Path, sales: Sales) -> None:
    ids: dict[str, Any] = {name: sales.draw.permutation(ROWS) for name in ("delivery_note_id", "id", "invoice_id")}
    _, task, _ = drafted(
        tmp_path, {**ids, "user": sales.words("u", 50), "at": sales.times(), "paid": flags(sales.sold)}
    )
    assert task.log.id == "id"


def test_times_of_success_are_signals_and_a_status_that_knows_them_is_left_out(tmp_path: Path, sales: Sales) -> None:
    columns: dict[str, Any] = {
        "customer": sales.words("c", 60),
        "order_date": sales.times(),
        "paid_at": sales.times(sales.delay, sales.sold),
        "clicked_on": sales.times(DAYS // 5, sales.clicked),
        "status": flags(sales.sold, "settled", "open"),
        "invoice": [f"r{n}" if sold else None for n, sold in enumerate(sales.sold)],
        "shipped_at": sales.times(sales.delay + DAYS),
        "pages": sales.draw.poisson(4, ROWS),
    }
    text, task, log = drafted(tmp_path, columns)
    assert task.outcome.source == HappenedAt("paid_at", as_it_happens=False)
    assert task.proxy().source == HappenedAt("clicked_on", as_it_happens=False)
    assert {one.column for one in task.instance} == {"customer", "pages"}
    assert '# status = { kind = "category" }  # looks like a status that changes later: it explains 9' in text
    assert (
        '# invoice = { kind = "category", missing = "none" }  # it is filled in 100 % of the rows with outcome' in text
    )
    assert "# shipped_at = " in text
    assert "# a time after the prediction" in text
    assert "# - what these times are: shipped_at" in text
    rows, _ = read_log(task, log)
    assert rows.warnings == ()
    assert np.mean(rows.outcome.symbols == 1) == pytest.approx(sales.sold.mean(), abs=0.02)


def test_values_without_times_are_known_at_their_horizons(tmp_path: Path, sales: Sales) -> None:
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "created": sales.times(),
        "clicked": flags(sales.clicked), "label": flags(sales.sold),
    }  # fmt: skip
    text, task, log = drafted(tmp_path, columns)
    assert task.outcome.source == Labelled("label", None)
    assert task.proxy().source == Labelled("clicked", None)
    assert text.startswith("# Check first:\n# - the horizon of label: no column says when it became known\n")
    assert read_log(task, log)[0].warnings == ()


def test_a_log_without_times_is_taken_in_the_order_of_its_rows(tmp_path: Path, sales: Sales) -> None:
    columns: dict[str, Any] = {"shop": sales.words("s", 9), "early": flags(sales.clicked), "outcome": flags(sales.sold)}
    text, task, log = drafted(tmp_path, columns)
    assert task.in_rows
    assert (str(task.proxy().horizon), str(task.outcome.horizon)) == ("12 rows", "60 rows")
    assert "no column holds times" in text
    assert read_log(task, log)[0].warnings == ()


def test_numbers_that_are_signals_are_cut_by_numbers_that_a_service_can_use(tmp_path: Path, sales: Sales) -> None:
    spent = np.round(sales.draw.exponential(80, ROWS), 2)
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "shown_at": sales.times(), "spent_7d": spent, "spent_7d_at": sales.times(7 * DAYS),
        "spent_60d": spent * 3, "spent_60d_at": sales.times(60 * DAYS), "score": spent[::-1] / 7,
    }  # fmt: skip
    text, task, log = drafted(tmp_path, columns)
    assert task.outcome.cuts is not None
    assert not task.outcome.cuts.is_open
    assert len(task.outcome.values) == 4
    rows, _ = read_log(task, log)
    shares = np.bincount(rows.outcome.symbols[rows.outcome.symbols >= 0], minlength=4) / ROWS
    assert shares.min() > 0.2
    assert 'score = { kind = "number" }' in text
    assert "# - the outcome: spent_60d is only the slowest of the signals, not named like one" in text


def test_numbers_are_cut_by_what_the_earlier_half_of_the_log_holds(tmp_path: Path, sales: Sales) -> None:
    spent = sales.draw.integers(0, 100, ROWS) + np.where(np.arange(ROWS) < ROWS // 2, 0, 10_000)
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "shown_at": sales.times(), "click": flags(sales.clicked),
        "click_at": sales.times(DAYS), "spent_60d": spent, "spent_60d_at": sales.times(60 * DAYS),
    }  # fmt: skip
    _, task, _ = drafted(tmp_path, columns)
    assert task.outcome.cuts is not None
    assert max(task.outcome.cuts.edges) < 100


def test_a_few_long_delays_do_not_stretch_a_horizon(tmp_path: Path, sales: Sales) -> None:
    delay = np.where(np.arange(ROWS) % 50 == 7, 150 * DAYS, sales.delay)
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9),
        "at": sales.times(),
        "paid": flags(sales.sold),
        "paid_at": sales.times(delay),
    }
    text, task, _ = drafted(tmp_path, columns)
    assert str(task.outcome.horizon) == "10 days"
    assert "# holds 95 % of the delays seen; the longest would need 150 days" in text


def test_times_that_are_not_iso_are_named_with_their_format(tmp_path: Path, sales: Sales) -> None:
    form = "%d.%m.%Y %H:%M"
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "datum": sales.times(form=form), "outcome": flags(sales.sold),
        "date_outcome": sales.times(30 * DAYS, form=form), "copied": flags(sales.sold, "a", "b"),
    }  # fmt: skip
    log = table(tmp_path / "log.csv", ",".join(columns), list(zip(*columns.values(), strict=True)))
    text = first_task(log)
    assert 'shown_at = "datum"  # the moment of the prediction\ntime_format = "%d.%m.%Y %H:%M"' in text
    assert 'known_at = "date_outcome"' in text
    assert 'horizon = "30 days"' in text
    assert '# copied = { kind = "category" }  # it explains 9' in text
    iso = {**columns, "datum": sales.times(), "date_outcome": sales.times(30 * DAYS)}
    assert "time_format" not in drafted(tmp_path, iso)[0]


def test_names_with_spaces_and_accents_become_keys_that_differ(tmp_path: Path, sales: Sales) -> None:
    columns: dict[str, Any] = {
        "größe": sales.words("g", 4), "gr__e": sales.words("h", 4), "a b": sales.words("i", 4),
        "a.b": sales.words("j", 4), "at": sales.times(), "paid": flags(sales.sold),
    }  # fmt: skip
    _, task, _ = drafted(tmp_path, columns)
    assert [(one.name, one.column) for one in task.instance] == [
        ("gr__e", "größe"), ("gr__e_", "gr__e"), ("a_b", "a b"), ("a_b_", "a.b")
    ]  # fmt: skip


def test_whole_numbers_stay_numbers_and_few_of_them_are_categories(tmp_path: Path, sales: Sales) -> None:
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "at": sales.times(), "paid": flags(sales.sold),
        "seats": sales.draw.integers(0, 40, ROWS), "month": sales.draw.integers(1, 13, ROWS),
        "visits": np.where(np.arange(ROWS) % 40 == 0, 5, 0), "always": [7] * ROWS,
        "size": [f"{n}.0" for n in sales.draw.integers(1, 5, ROWS)],
    }  # fmt: skip
    text, task, _ = drafted(tmp_path, columns)
    assert [one.name for one in task.instance if isinstance(one, Category)] == ["shop", "month", "visits"]
    assert [one.name for one in task.instance if isinstance(one, Category) and one.identity] == ["shop"]
    assert 'seats = { kind = "number" }\n' in text
    assert 'size = { kind = "number" }\n' in text  # another log may say 1 for 1.0
    assert '# always = { kind = "category" }  # always the same' in text


def test_numbers_far_from_1_are_brought_near_it(tmp_path: Path, sales: Sales) -> None:
    share = sales.draw.random(ROWS)
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "at": sales.times(), "paid": flags(sales.sold),
        "age": (share * 3000).astype(int), "born": (1960 + share * 50).astype(int), "heat": share * 90,
        "rate": share / 200, "height": 1200 + 300 * share, "loss": -2000 * share, "clicked": flags(sales.clicked),
    }  # fmt: skip
    _, task, log = drafted(tmp_path, columns)
    numbers = {one.name: (one.centre, one.scale) for one in task.instance if isinstance(one, Number)}
    assert numbers == {
        "age": (0, 1000), "born": (1960, 1), "heat": (0, 1), "rate": (0, 0.001), "height": (1200, 100),
        "loss": (0, 1000),
    }  # fmt: skip
    largest = np.quantile(np.abs(read_log(task, log)[0].instances.dense), 0.95, axis=0)
    assert ((largest > 0.5) & (largest < 100)).all()


def test_every_row_is_looked_at_and_not_only_the_first_ones(tmp_path: Path, sales: Sales) -> None:
    late = ["plain"] * (ROWS - 3) + ["rare"] * 3
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9),
        "at": sales.times(),
        "paid": flags(sales.sold),
        "code": [*range(ROWS - 1), "x"],
    }
    _, task, log = drafted(tmp_path, columns | {"result": late, "result_at": sales.times(DAYS)})
    assert task.outcome.values == ("plain", "rare")
    assert not any(one.column == "code" for one in task.instance)  # a name, as one of its values is a word
    assert log.exists()


def test_a_column_that_may_be_the_outcome_as_well_is_said_first(tmp_path: Path, sales: Sales) -> None:
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "at": sales.times(), "paid": flags(sales.sold), "paid_at": sales.times(5 * DAYS),
        "returned": flags(sales.clicked), "returned_at": sales.times(20 * DAYS),
    }  # fmt: skip
    text, task, _ = drafted(tmp_path, columns)
    assert task.outcome.columns["column"] == "returned"
    assert text.startswith("# Check first:\n# - the outcome: paid may be it as well as returned\n")


@pytest.mark.long
@pytest.mark.parametrize("name", ["hotel", "julia", "flights"])
def test_the_draft_for_a_real_log_reads_it_without_a_warning(name: str) -> None:
    log = real_data("logs") / f"{name}.parquet"
    rows, excluded = read_log(read_task(first_task(log)), log)
    assert len(rows.id) > 60_000
    assert [kind for kind in rows.warnings if kind.kind != "proxy-horizon"] == []
    assert set(excluded.counts) <= {reason for reason in excluded.counts if "came later" in reason}


def test_a_draft_for_events_offers_no_column_that_knows_what_follows(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    rows: list[tuple[Any, ...]] = []
    for n in range(600):
        at, back = START + int(draw.integers(0, 100 * DAYS)), bool(draw.random() < 0.5)
        moments = [at] + [at + DAYS // 2] * back
        for kind, moment in zip(("acquire", "return"), moments, strict=False):
            stamp = str(np.datetime64(moment, "us"))
            rows.append((f"i{n % 40}", f"u{n}", kind, stamp, "kept" if back else "lost", "ab"[n % 2]))
    text = first_task(table(tmp_path / "log.csv", "item,user,kind,at,fate,colour", rows))
    assert '# fate = { kind = "category" }  # it explains 9' in text
    assert 'colour = { kind = "category" }\n' in text


def test_values_that_may_be_signals_by_their_names_are_no_features(tmp_path: Path, sales: Sales) -> None:
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "at": sales.times(), "paid": flags(sales.sold), "paid_at": sales.times(5 * DAYS),
        "opened": flags(sales.clicked), "opened_at": sales.times(DAYS), "tickets_w2": sales.draw.integers(0, 3, ROWS),
        "reopened": flags(sales.clicked),
    }  # fmt: skip
    text, task, _ = drafted(tmp_path, columns)
    assert [one.column for one in task.instance] == ["shop"]
    assert '# tickets_w2 = { kind = "category" }  # may be an early sign, known only later' in text
    assert '# reopened = { kind = "category" }  # may be an outcome, too' in text
    assert "# - the outcome: reopened may be it as well as paid" in text
    sign = {name: column for name, column in columns.items() if "opened" not in name}
    _, task, _ = drafted(tmp_path, sign)
    assert task.proxy().columns == {"column": "tickets_w2"}
    assert str(task.proxy().horizon) == "14 days"


def test_a_flag_beside_a_time_that_only_successes_have_is_one_signal_with_it(tmp_path: Path, sales: Sales) -> None:
    columns: dict[str, Any] = {
        "shop": sales.words("s", 9), "at": sales.times(), "click": flags(sales.clicked),
        "click_at": sales.times(DAYS, sales.clicked), "paid": flags(sales.sold, "Y", "N"),
        "paid_at": [one or "NULL" for one in sales.times(sales.delay, sales.sold)],
    }  # fmt: skip
    _, task, _ = drafted(tmp_path, columns)
    assert task.outcome.source == HappenedAt("paid_at", as_it_happens=False)
    assert task.proxy().source == HappenedAt("click_at", as_it_happens=False)
    assert [one.column for one in task.instance] == ["shop"]


def test_the_median_stands_in_for_a_number_that_is_missing(tmp_path: Path) -> None:
    lines = ["item,shown_at,heat,outcome,outcome_at"]
    for day in range(60):
        heat = "n/a" if day % 6 == 0 else 20.5 + day + 1000 * (day == 59)  # whose mean is far from most
        shown, known = np.datetime64("2024-01-01") + day, np.datetime64("2024-01-02") + day
        lines.append(f"i{day % 3},{shown},{heat},{('no', 'yes')[day % 2]},{known}")
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    drafted = first_task(tmp_path / "log.csv")
    assert 'heat = { kind = "number", missing = 50.5 }  # where it is missing: the median' in drafted
