"""Markets out of tables and out of logs: against an obvious recount, and every wrong table refused."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.dataframes import Columns
from presage.errors import DataError, SettingError
from presage.experiments.data.marketplace import OUTCOMES, PROXIES, MarketTables, build_market, read_market, smoothed
from presage.logs.columns import WHOLE
from presage.logs.tables import parquet_files, read_table
from presage.worlds.marketplace import ENGAGEMENTS
from tests.logs.places import parquet_bytes, real_data, write_tables

DAY = 86_400
START = 1_600_000_000 // DAY * DAY
Event = tuple[str, str, str, int]


def random_events(seed: int, items: int = 120, days: int = 50) -> list[Event]:
    """A log in which users acquire items, some again, and do all sorts of things at all sorts of times."""
    random = np.random.default_rng(seed)
    events = []
    for item in range(items):
        launch = 0 if item < 30 else int(random.integers(0, (days - 8) * DAY))
        for _ in range(int(random.integers(4, 12))):
            user = f"u{random.integers(40)}"
            at = launch + int(random.integers(0, days * DAY - launch))
            events.append((f"i{item}", user, "acquire", at))
            for _ in range(int(random.integers(0, 4))):
                kind = "delete" if random.random() < 0.2 else "engage"
                # Whole days often, so that events fall on the very edge of a horizon.
                later = int(random.choice([0, 1, 2 * DAY, 7 * DAY, int(random.integers(-DAY, 9 * DAY))]))
                events.append((f"i{item}", user, kind, min(max(at + later, 0), days * DAY)))
        events.append((f"i{item}", "visitor", "engage", launch))
    events += [("rare", "u1", "acquire", 5 * DAY), ("i0", "u0", "engage", 0), ("i0", "u0", "engage", days * DAY)]
    return [events[place] for place in random.permutation(len(events))]


def columns(events: list[Event]) -> Columns:
    item, user, kind, at = zip(*events, strict=True)
    moments = (START + np.array(at)).astype("datetime64[s]")
    return {"item": np.array(item), "user": np.array(user), "kind": np.array(kind), "at": moments}


def log_file(path: Path, events: list[Event]) -> Path:
    path.write_bytes(parquet_bytes(columns(events)))
    return path


def symbol(deleted: list[int], engaged: list[int], until: int) -> int:
    if any(at <= until for at in deleted):
        return 0
    return 1 + min(2, sum(at <= until for at in engaged))


def recount(events: list[Event], least: int, prior: float) -> dict[str, Any]:
    """The market again, one acquisition after the other."""
    first, last = min(e[3] for e in events), max(e[3] for e in events)
    acquired: dict[tuple[str, str], int] = {}
    for item, user, kind, at in events:
        if kind == "acquire":
            acquired[item, user] = min(at, acquired.get((item, user), at))
    counts: Counter[tuple[str, int, int]] = Counter()
    for (item, user), at in acquired.items():
        own = [(kind, when) for i, u, kind, when in events if (i, u) == (item, user)]
        deleted = [when for kind, when in own if kind == "delete" and when >= at]
        engaged = [when for kind, when in own if kind == "engage" and when > at]
        if at + 7 * DAY <= last:
            counts[item, symbol(deleted, engaged, at + 2 * DAY), symbol(deleted, engaged, at + 7 * DAY)] += 1
    n = {i: sum(counts[i, z, y] for z in range(4) for y in range(4)) for i, _ in acquired}
    kept = sorted(item for item in n if n[item] >= least)
    pooled = np.array([[sum(counts[i, z, y] for i in kept) for y in range(4)] for z in range(4)])
    proxies, outcomes = [], []
    for item in kept:
        table = np.array([[counts[item, z, y] for y in range(4)] for z in range(4)])
        proxies.append(table.sum(axis=1) / n[item])
        outcomes.append((table + prior * pooled / pooled.sum(axis=1)[:, None]) / (table.sum(axis=1)[:, None] + prior))
    launch, daily = np.zeros((len(kept), 21)), np.zeros((len(kept), (last - first) // DAY + 1))
    for place, item in enumerate(kept):
        times = [at for (i, _), at in acquired.items() if i == item]
        for at in times:
            daily[place, at // DAY] += 1
            age = (at - min(times)) // DAY
            if min(times) >= DAY and min(times) + 21 * DAY <= last and age < 21:
                launch[place, age] += 1
    start = max(range(daily.shape[1] - 20), key=lambda day: (daily[:, day : day + 21].sum(), day))
    calendar = daily[:, start : start + 21]
    return {"kept": kept, "proxies": proxies, "outcomes": outcomes, "launch": launch, "calendar": calendar}


@pytest.mark.parametrize(("seed", "least", "prior"), [(0, 1, 1.0), (1, 3, 0.5)])
def test_a_market_built_from_a_log_is_what_an_obvious_recount_finds(
    tmp_path: Path, seed: int, least: int, prior: float
) -> None:
    events = random_events(seed)
    tables, excluded = build_market(log_file(tmp_path / "log.parquet", events), least, prior)
    market, unknown = read_market(write_tables(tmp_path, **tables._asdict()))
    again = recount(events, least, prior)
    assert list(market.items) == again["kept"]
    np.testing.assert_allclose(market.proxies, again["proxies"], atol=1e-12)
    np.testing.assert_allclose(market.outcomes, again["outcomes"], atol=1e-12)
    np.testing.assert_array_equal(market.launch, again["launch"])
    np.testing.assert_array_equal(market.calendar, again["calendar"])
    assert unknown.lines() == []
    pairs = {event[:2] for event in events if event[2] == "acquire"}
    strays = sum(event[2] != "acquire" and event[:2] not in pairs for event in events)
    assert excluded.counts["engagements and deletions without an acquisition"] == strays > 100
    repeated = sum(event[2] == "acquire" for event in events) - len(pairs)
    assert excluded.counts["acquisitions that were not the user's first of the item"] == repeated > 0
    assert market.launch.any(axis=1).sum() > 20


def test_no_probability_depends_on_an_acquisition_whose_outcome_is_not_known(tmp_path: Path) -> None:
    events = random_events(2)
    last = max(event[3] for event in events)
    late = [(f"i{item}", f"late{user}", "acquire", last - 7 * DAY + 1) for item in range(50) for user in range(5)]
    before, _ = build_market(log_file(tmp_path / "a.parquet", events), 1)
    after, excluded = build_market(log_file(tmp_path / "b.parquet", events + late), 1)
    for name in ("item", "n", *PROXIES, *OUTCOMES):
        np.testing.assert_array_equal(before.items[name], after.items[name])
    assert excluded.counts["acquisitions in the last 7 days, outcome not known"] >= len(late)


def test_a_log_means_the_same_in_every_format(tmp_path: Path) -> None:
    events = random_events(3)
    expected, _ = build_market(log_file(tmp_path / "log.parquet", events), 2)
    lines = [f"{item},{user},{kind},{START + at}" for item, user, kind, at in events]
    (tmp_path / "log.csv").write_text("\n".join(["item,user,kind,at", *lines]))
    objects = [f'{{"kind": "{k}", "at": {START + at}, "item": "{i}", "user": "{u}"}}' for i, u, k, at in events]
    (tmp_path / "log.ndjson").write_text("\n".join(objects))
    for name in ("log.csv", "log.ndjson"):
        found, _ = build_market(tmp_path / name, 2)
        assert parquet_files(found._asdict()) == parquet_files(expected._asdict())


@pytest.mark.parametrize(
    ("change", "least", "words"),
    [
        (lambda events: [*events, ("i1", "u1", "buy", 0)], 1, "has an unknown kind: found 'buy'"),
        (lambda events: [e for e in events if e[3] < 20 * DAY], 1, "is too short: found '20 days'"),
        (lambda events: [e for e in events if e[2] != "acquire"], 1, "at least 100 items: found 0"),
        (lambda events: events, 50, "at least 100 items: found 0; take a longer log"),
        (lambda events: [(*e[:3], e[3] if e[2] != "acquire" else 0) for e in events], 1, "not cover the launch"),
    ],
)
def test_a_log_that_makes_no_market_is_refused(tmp_path: Path, change: Any, least: int, words: str) -> None:
    with pytest.raises(DataError, match=words):
        build_market(log_file(tmp_path / "log.parquet", change(random_events(0))), least)


def test_settings_out_of_range_are_refused_before_the_log_is_read(tmp_path: Path) -> None:
    for least, prior in ((0, 1.0), (1, 0.0), (1, float("nan"))):
        with pytest.raises(SettingError):
            build_market(tmp_path / "none.csv", least, prior)


def small_market() -> MarketTables:
    """A hundred items all alike."""
    names = np.array([f"i{item:03}" for item in range(100)], object)
    shares = {name: np.full(100, 0.25) for name in PROXIES + OUTCOMES}
    return MarketTables(
        items={"item": names} | shares,
        launch={"item": names[:2].copy(), "age": np.array([0.0, 20.0]), "count": np.array([3, 4])},
        calendar={"item": names[:2].copy(), "day": np.array([1, 1]), "count": np.array([5, 6])},
    )


def test_a_market_is_what_its_tables_say(tmp_path: Path) -> None:
    market, excluded = read_market(write_tables(tmp_path, **small_market()._asdict()))
    assert market.items[:2] == ("i000", "i001")
    assert market.outcomes.shape == (100, 4, 4)
    assert market.launch[:3, [0, 20]].tolist() == [[3, 0], [0, 4], [0, 0]]
    assert market.calendar[:3, 1].tolist() == [5, 6, 0]
    assert excluded.lines() == []


def test_days_of_unknown_items_are_left_out_and_counted(tmp_path: Path) -> None:
    tables = small_market()
    tables.calendar["item"][0] = "other"
    market, excluded = read_market(write_tables(tmp_path, **tables._asdict()))
    assert market.calendar.sum() == 6
    assert excluded.lines() == ["rows of calendar.parquet about unknown items: 1"]


@pytest.mark.parametrize(
    ("table", "column", "row", "value", "words"),
    [
        ("items", "pz_zero", 7, 0.2501, "item i007 has no distribution in pz_deleted to pz_many"),
        ("items", "py_one_many", 7, 0.3, "item i007 has no distribution in py_one_deleted to py_one_many"),
        ("items", "pz_one", 3, float("nan"), "row 4 of items.parquet has no valid pz_one"),
        ("items", "item", 5, "i004", "items.parquet names an item twice: found 'i004'"),
        ("launch", "age", 1, 21, "row 2 of launch.parquet is not a daily count"),
        ("launch", "age", 1, 1.5, "row 2 of launch.parquet has no valid age"),
        ("calendar", "count", 0, -1, "row 1 of calendar.parquet is not a daily count"),
    ],
)
def test_a_wrong_market_is_refused_by_name(  # noqa: PLR0917
    tmp_path: Path, table: str, column: str, row: int, value: Any, words: str
) -> None:
    tables = small_market()._asdict()
    tables[table][column][row] = value
    with pytest.raises(DataError, match=words):
        read_market(write_tables(tmp_path, **tables))


def test_a_negative_probability_is_refused_though_the_sum_is_one(tmp_path: Path) -> None:
    tables = small_market()
    tables.items["pz_one"][3], tables.items["pz_many"][3] = -0.25, 0.75
    with pytest.raises(DataError, match="item i003 has no distribution in pz_deleted to pz_many"):
        read_market(write_tables(tmp_path, **tables._asdict()))


def test_fewer_than_a_hundred_items_are_refused(tmp_path: Path) -> None:
    tables = small_market()
    items = {name: column[:99] for name, column in tables.items.items()}
    with pytest.raises(DataError, match="a market needs at least 100 items: found 99"):
        read_market(write_tables(tmp_path, **tables._replace(items=items)._asdict()))


@pytest.mark.parametrize("missing", ["items", "launch", "calendar"])
def test_a_missing_table_is_refused_by_name(tmp_path: Path, missing: str) -> None:
    write_tables(tmp_path, **small_market()._asdict())
    (tmp_path / f"{missing}.parquet").unlink()
    with pytest.raises(DataError, match=f"{missing}.parquet is not there"):
        read_market(tmp_path)


def test_the_real_market_is_read_whole_and_is_smoothed_as_ours_would_be() -> None:
    folder = real_data("oulad")
    market, excluded = read_market(folder)
    assert market.proxies.shape == (2356, len(ENGAGEMENTS))
    assert excluded.lines() == []
    assert (market.launch.any(axis=1).sum(), market.calendar.any(axis=1).sum()) == (2328, 313)
    n = read_table(folder / "items.parquet", {"n": WHOLE})["n"]
    seen = np.round(market.proxies * n[:, None])
    # With a prior mass of 1 each count is the whole part of p (n + 1), for what is added to it lies below 1.
    counts = np.floor(market.outcomes * (seen[:, :, None] + 1) + 1e-9)
    counts[:, 0, 0] = seen[:, 0]
    again = smoothed(counts, prior=1.0)
    np.testing.assert_allclose(again[:, 4:].reshape(-1, 4, 4), market.outcomes, atol=1e-12)
