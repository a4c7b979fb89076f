"""Leaks planted in a log are refused or warned of, as far as they can be seen."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from presage.errors import SettingError
from presage.logs.rows import LogRows, read_log
from presage.spaces import Array
from tests.logs.given import table, task_of

IDENTITY = 'item = { kind = "category" }'


@pytest.mark.parametrize(
    ("feature", "key"),
    [
        ('item = { kind = "category", column = "outcome" }', "outcome.column"),
        (f'{IDENTITY}\nwhen = {{ kind = "timestamp", column = "outcome_at", parts = ["day"] }}', "outcome.known_at"),
        (f'{IDENTITY}\nproxy = {{ kind = "category" }}', "proxy.column"),
        (f'{IDENTITY}\nsince = {{ kind = "number", column = "proxy_at" }}', "proxy.known_at"),
    ],
)
def test_a_feature_that_is_a_signal_or_its_moment_is_refused_with_the_task(feature: str, key: str) -> None:
    with pytest.raises(SettingError, match=f"reads {key}, not known at the prediction: found '.*'; leave this"):
        task_of(feature)


def test_a_feature_that_is_a_named_proxy_is_refused_by_the_name_of_its_table() -> None:
    proxy = '[proxy.click]\nvalues = ["no", "yes"]\nhorizon = "2 days"\ncolumn = "clicked"'
    with pytest.raises(SettingError, match=r"instance\.c reads proxy\.click\.column"):
        task_of(f'{IDENTITY}\nc = {{ kind = "boolean", column = "clicked" }}', proxy=proxy)


def test_the_hour_of_the_prediction_is_a_feature_though_a_proxy_is_known_then() -> None:
    hour = 'hour = { kind = "timestamp", column = "shown_at", parts = ["hour"] }'
    proxy = 'values = ["none", "some"]\nhorizon = "2 days"\nknown_at = "shown_at"'
    assert task_of(f"{IDENTITY}\n{hour}", proxy=proxy).symbols == ("item", "hour.hour")


ROWS = 1500
HOUR = 3_600_000_000
START = int(np.datetime64("2020-01-01", "us").astype(np.int64))
NOTES = ("call", "mail", "shop", "web")


class Shop(NamedTuple):
    """An honest log of 150 days: a sale is known within a week, that there was none after two weeks."""

    draw: np.random.Generator
    item: Array  # [N]
    shown_at: Array  # int64 [N]: microseconds
    sold: Array  # bool [N]
    clicked: Array  # bool [N]
    delay: Array  # int64 [N]: microseconds
    known: Array  # bool [N]: whether the outcome was written down at all


def shop(rows: int = ROWS, unknown: float = 0.0) -> Shop:
    draw = np.random.default_rng(3)
    item = draw.integers(0, 30, rows)
    shown_at = START + np.sort(draw.integers(0, 150 * 24 * HOUR, rows))
    sold = draw.random(rows) < 0.2 + 0.4 * (item % 3 == 0)
    clicked = draw.random(rows) < np.where(sold, 0.7, 0.2)
    delay = np.where(sold, draw.integers(HOUR, 7 * 24 * HOUR, rows), 14 * 24 * HOUR)
    return Shop(draw, item, shown_at, sold, clicked, delay, draw.random(rows) >= unknown)


def read_with(shop: Shop, path: Path, feature: str, column: Sequence[Any], keep: Array | None = None) -> LogRows:
    """The rows of the shop's log with one more column `f`, which `feature` declares."""
    texts = [np.datetime_as_string(times.astype("M8[us]")) for times in (shop.shown_at, shop.shown_at + shop.delay)]
    clicks = np.datetime_as_string((shop.shown_at + 24 * HOUR).astype("M8[us]"))
    proxy, sale = either(shop.clicked, "some", "none"), either(shop.sold, "yes", "no")
    rows = [
        (f"i{shop.item[n]}", texts[0][n], proxy[n], clicks[n],
         sale[n] if shop.known[n] else None, texts[1][n] if shop.known[n] else None, column[n])
        for n in (range(len(shop.item)) if keep is None else keep)
    ]  # fmt: skip
    log = table(path / "log.csv", "item,shown_at,proxy,proxy_at,outcome,outcome_at,f", rows)
    outcome = 'values = ["no", "yes"]\nhorizon = "15 days"'
    return read_log(task_of(f"{IDENTITY}\n{feature}", outcome=outcome), log)[0]


def stamps(times: Array) -> list[str]:
    return [str(one) for one in np.datetime_as_string(np.asarray(times).astype("M8[us]"))]


def either(flags: Array, yes: Any, no: Any) -> list[Any]:
    return [yes if flag else no for flag in flags]


CATEGORY = 'f = { kind = "category", missing = "none" }'
NUMBER = 'f = { kind = "number", missing = 0 }'


def a_copy(shop: Shop) -> list[Any]:
    return either(shop.sold ^ (shop.draw.random(ROWS) < 0.03), "paid", "open")


def a_note(shop: Shop) -> list[Any]:
    return [NOTES[n] for n in shop.draw.integers(0, 4, ROWS)]


def a_reason(shop: Shop) -> list[Any]:
    told = shop.sold & (shop.draw.random(ROWS) < 0.6)
    return [("size", "colour")[n % 2] if one else NOTES[n % 4] for n, one in enumerate(told)]


def a_good_sign(shop: Shop) -> list[Any]:
    """Nearly always sold, as deposits are nearly always lost; but not always."""
    told = shop.sold & (shop.draw.random(ROWS) < 0.6) | (shop.draw.random(ROWS) < 0.01)
    return either(told, "deposit", "none")


def revenue(shop: Shop) -> list[Any]:
    return [f"{one:.2f}" for one in np.where(shop.sold, shop.draw.uniform(5, 90, ROWS), 0)]


def price(shop: Shop) -> list[Any]:
    return [f"{one:.2f}" for one in shop.draw.uniform(5, 90, ROWS) + 20 * shop.sold]


def later_visits(shop: Shop) -> list[Any]:
    return list(shop.draw.poisson(np.where(shop.sold, 12, 1)))


def earlier_visits(shop: Shop) -> list[Any]:
    return list(shop.draw.poisson(np.where(shop.sold, 3, 2)))


def tags(shop: Shop) -> list[Any]:
    random = shop.draw.integers(0, 40, (ROWS, 2))
    return [f"t{a}|t{b}|{'bill' if sold else 't40'}" for (a, b), sold in zip(random, shop.sold, strict=True)]


def honest_tags(shop: Shop) -> list[Any]:
    return [f"t{a}|t{b}" for a, b in shop.draw.integers(0, 40, (ROWS, 2))]


def a_receipt(shop: Shop) -> list[Any]:
    return [f"receipt-{n}" if sold else None for n, sold in enumerate(shop.sold)]


def sparse(shop: Shop) -> list[Any]:
    return [f"n{n % 7}" if one else None for n, one in enumerate(shop.draw.random(ROWS) < 0.3 + 0.2 * shop.sold)]


def closed_at(shop: Shop) -> list[Any]:
    return stamps(shop.shown_at + shop.delay)


def opened_at(shop: Shop) -> list[Any]:
    return stamps(shop.shown_at - shop.draw.integers(0, 90 * 24 * HOUR, ROWS))


def closed_in_seconds(shop: Shop) -> list[Any]:
    return list((shop.shown_at + shop.delay) // 1_000_000)


def opened_in_seconds(shop: Shop) -> list[Any]:
    return list((shop.shown_at - shop.draw.integers(0, 90 * 24 * HOUR, ROWS)) // 1_000_000)


def an_odd_id(shop: Shop) -> list[Any]:
    return [f"o-{2 * n + sold}" for n, sold in zip(shop.draw.permutation(ROWS), shop.sold, strict=True)]


def an_id_by_day(shop: Shop) -> list[Any]:
    """Numbers given out at the end of each day, to the sales first."""
    order = np.lexsort((shop.draw.random(ROWS), ~shop.sold, shop.shown_at // (24 * HOUR * 10)))
    numbers = np.empty(ROWS, int)
    numbers[order] = np.arange(ROWS)
    return [f"{one:06}" for one in numbers]


def a_prefixed_id(shop: Shop) -> list[Any]:
    return [f"{('W', 'L')[int(sold)]}{n:05}x" for n, sold in zip(shop.draw.permutation(ROWS), shop.sold, strict=True)]


def an_id(shop: Shop) -> list[Any]:
    return [f"{'ab'[n % 2]}-{n}" for n in shop.draw.permutation(ROWS)]


def days_open(shop: Shop) -> list[Any]:
    """The delay of sales, and noise of the same size where there was none: the value tells nothing, the order all."""
    return [
        f"{one:.4f}" for one in np.where(shop.sold, shop.delay, shop.draw.integers(HOUR, 7 * 24 * HOUR, ROWS)) / 1e9
    ]


def days_planned(shop: Shop) -> list[Any]:
    planned = shop.delay * shop.draw.uniform(0.5, 1.5, ROWS)
    return [f"{one:.4f}" for one in np.where(shop.sold, planned, shop.draw.integers(HOUR, 7 * 24 * HOUR, ROWS)) / 1e9]


def quickness(shop: Shop) -> list[Any]:
    fast = np.where(shop.sold, shop.delay < 3.5 * 24 * HOUR, shop.draw.random(ROWS) < 0.5)
    return either(fast, "fast", "slow")


def delivery(shop: Shop) -> list[Any]:
    fast = np.where(shop.sold, shop.delay < 3.5 * 24 * HOUR, shop.draw.random(ROWS) < 0.5)
    return either(fast ^ (shop.draw.random(ROWS) < 0.2), "express", "standard")


def a_click(shop: Shop) -> list[Any]:
    return either(shop.clicked, "seen", "unseen")


def an_answered_form(shop: Shop) -> list[Any]:
    return either(shop.known, "closed", "pending")


def an_old_form(shop: Shop) -> list[Any]:
    return either(shop.known & (shop.draw.random(ROWS) < 0.7), "closed", "pending")


@pytest.mark.parametrize(
    ("feature", "leaky", "honest", "kind"),
    [
        (CATEGORY, a_copy, a_note, "tells-the-outcome"),
        (CATEGORY, a_reason, a_good_sign, "tells-the-outcome"),
        (NUMBER, revenue, price, "tells-the-outcome"),
        ('f = { kind = "count", edges = [1, 2, 4] }', later_visits, earlier_visits, "tells-the-outcome"),
        ('f = { kind = "set", separator = "|" }', tags, honest_tags, "tells-the-outcome"),
        (CATEGORY, a_click, a_note, "tells-the-proxy"),
        (CATEGORY, a_receipt, sparse, "filled-with-the-outcome"),
        ('f = { kind = "category" }', a_receipt, sparse, "filled-with-the-outcome"),
        ('f = { kind = "timestamp", parts = ["day"] }', closed_at, opened_at, "after-the-prediction"),
        (CATEGORY, closed_at, opened_at, "after-the-prediction"),
        (NUMBER, closed_in_seconds, opened_in_seconds, "after-the-prediction"),
        (CATEGORY, an_odd_id, an_id, "id-tells-the-outcome"),
        (CATEGORY, an_id_by_day, an_id, "id-tells-the-outcome"),
        (CATEGORY, a_prefixed_id, an_id, "id-tells-the-outcome"),
        (NUMBER, days_open, days_planned, "knows-the-delay"),
        (CATEGORY, quickness, delivery, "knows-the-delay"),
    ],
    ids=lambda one: getattr(one, "__name__", str(one)).partition(" = ")[0],
)
def test_a_planted_leak_is_warned_of_and_its_honest_twin_is_not(
    tmp_path: Path, feature: str, leaky: Callable[[Shop], list[Any]], honest: Callable[[Shop], list[Any]], kind: str
) -> None:
    given = shop()
    found = read_with(given, tmp_path, feature, leaky(given)).warnings
    assert [(one.kind, one.column) for one in found] == [(kind, "f")]
    assert "leave it out" in found[0].text
    assert found[0].evidence
    assert read_with(given, tmp_path, feature, honest(given)).warnings == ()


def test_a_feature_that_knows_whether_an_outcome_came_at_all_is_warned_of(tmp_path: Path) -> None:
    given = shop(unknown=0.3)
    found = read_with(given, tmp_path, CATEGORY, an_answered_form(given)).warnings
    assert [(one.kind, one.column) for one in found] == [("knows-the-delay", "f")]
    assert read_with(given, tmp_path, CATEGORY, an_old_form(given)).warnings == ()


def test_a_column_filled_only_where_an_outcome_came_is_warned_of(tmp_path: Path) -> None:
    given = shop(unknown=0.3)
    filled = [NOTES[n % 4] if known else None for n, known in enumerate(given.known)]
    found = read_with(given, tmp_path, CATEGORY, filled).warnings
    assert [(one.kind, one.column) for one in found] == [("filled-with-the-outcome", "f")]
    assert "in 100 % of the rows whose outcome is known and in 0 % of those whose outcome never came" in found[0].text


def test_rows_written_twice_are_warned_of_though_their_ids_differ(tmp_path: Path) -> None:
    given = shop()
    note = a_note(given)
    twice = np.sort(np.r_[np.arange(ROWS), np.arange(0, ROWS, 50)])
    found = read_with(given, tmp_path, CATEGORY, note, twice).warnings
    assert [one.kind for one in found] == ["rows-twice"]
    assert found[0].evidence == {"rows": 30, "share": round(30 / (ROWS + 30), 4)}
    assert read_with(given, tmp_path, CATEGORY, note).warnings == ()


def test_rows_of_one_day_may_agree_but_not_all_of_them_twice(tmp_path: Path) -> None:
    given = shop()
    days = given._replace(shown_at=given.shown_at // (24 * HOUR) * 24 * HOUR)
    same = ["same"] * ROWS  # thirty items on a hundred and fifty days: hundreds of rows agree
    assert read_with(days, tmp_path, CATEGORY, same).warnings == ()
    found = read_with(days, tmp_path, CATEGORY, same, np.repeat(np.arange(ROWS), 2)).warnings
    assert [one.kind for one in found] == ["rows-twice"]


def test_rows_of_one_day_may_share_what_no_other_day_has(tmp_path: Path) -> None:
    given = shop()
    days = given._replace(shown_at=given.shown_at // (24 * HOUR) * 24 * HOUR)
    offers = [f"offer of day {at // (24 * HOUR)}" for at in days.shown_at]
    assert read_with(days, tmp_path, CATEGORY, offers).warnings == ()


def test_rows_of_one_day_may_mostly_come_in_pairs(tmp_path: Path) -> None:
    given = shop()
    days = given._replace(shown_at=given.shown_at // (24 * HOUR) * 24 * HOUR)
    four_in_five = np.sort(np.r_[np.arange(ROWS), np.flatnonzero(np.arange(ROWS) % 5)])
    assert read_with(days, tmp_path, CATEGORY, a_note(given), four_in_five).warnings == ()


def test_a_sure_sign_of_what_mostly_happens_anyway_is_not_accused(tmp_path: Path) -> None:
    given = shop()
    assert 0.55 < 1 - given.sold.mean() < 0.75
    looked = either(~given.sold & (given.draw.random(ROWS) < 0.4), "bounced", "none")
    assert read_with(given, tmp_path, CATEGORY, looked).warnings == ()


def test_clicks_of_one_second_may_agree_as_often_as_those_a_second_apart(tmp_path: Path) -> None:
    given = shop()
    seconds = np.sort(given.draw.integers(0, 600, ROWS)) * 1_000_000
    busy = given._replace(shown_at=START + seconds + np.where(np.arange(ROWS) < 100, 0, 30 * 24 * HOUR))
    assert read_with(busy, tmp_path, CATEGORY, ["same"] * ROWS).warnings == ()


@pytest.mark.parametrize("leak", ["mean", "age", "noise"])
def test_some_leaks_cannot_be_seen(tmp_path: Path, leak: str) -> None:
    """Those of docs/pitfalls.md: a mean that counts the row itself, a column as of the export, a blurred outcome."""
    given = shop()
    rates = np.bincount(given.item, given.sold) / np.bincount(given.item)
    column = {
        "mean": [f"{one:.4f}" for one in rates[given.item]],
        "age": list((given.shown_at[-1] - given.shown_at) // (24 * HOUR) + given.draw.poisson(3, ROWS)),
        "noise": either(given.sold ^ (given.draw.random(ROWS) < 0.2), "paid", "open"),
    }[leak]
    assert read_with(given, tmp_path, NUMBER if leak != "noise" else CATEGORY, column).warnings == ()


def test_a_short_log_is_not_accused(tmp_path: Path) -> None:
    given = shop(rows=60)
    assert read_with(given, tmp_path, CATEGORY, either(given.sold, "paid", "open")).warnings == ()
