"""Markets from a folder of three tables (items, launch, calendar), and those tables from an event log."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from presage import settings
from presage.dataframes import Columns
from presage.errors import DataError
from presage.experiments.data.acquisitions import OUTCOME_DAYS, count_acquisitions
from presage.logs.cleaning import Exclusions, left_out
from presage.logs.columns import KEY, NUMBER, WHOLE
from presage.logs.tables import read_tables
from presage.spaces import Array
from presage.worlds.marketplace import DAYS, ENGAGEMENTS, Market

LEAST_ITEMS = 100
PROXIES = [f"pz_{z}" for z in ENGAGEMENTS]
OUTCOMES = [f"py_{z}_{y}" for z in ENGAGEMENTS for y in ENGAGEMENTS]
TABLES = {
    "items.parquet": {"item": KEY} | dict.fromkeys(PROXIES + OUTCOMES, NUMBER),
    "launch.parquet": {"item": KEY, "age": WHOLE, "count": WHOLE},
    "calendar.parquet": {"item": KEY, "day": WHOLE, "count": WHOLE},
}


class MarketTables(NamedTuple):
    """What items.parquet, launch.parquet and calendar.parquet hold."""

    items: Columns  # item, n, pz_<z>, py_<z>_<y>, in_launch, in_calendar
    launch: Columns  # item, age (days since the launch, 0 to 20), count
    calendar: Columns  # item, day (0 to 20), count


def read_market(folder: Path) -> tuple[Market, Exclusions]:
    """The market in a folder, and what was left out of it: acquisitions of items whose probabilities are not given."""
    table, launches, days = read_tables({folder / name: kinds for name, kinds in TABLES.items()})
    items = tuple(str(item) for item in table["item"])
    if len(set(items)) < len(items):
        twice = next(item for item in items if items.count(item) > 1)
        raise DataError("items.parquet names an item twice", twice, "give it one row")
    _check_size(len(items), "give a market with more of them")
    proxies = np.stack([table[name] for name in PROXIES], axis=1)
    outcomes = np.stack([table[name] for name in OUTCOMES], axis=1).reshape(-1, 4, 4)
    _check_probabilities(items, PROXIES, proxies)
    for z, name in enumerate(ENGAGEMENTS):
        _check_probabilities(items, [f"py_{name}_{y}" for y in ENGAGEMENTS], outcomes[:, z])
    launch, unlaunched = _by_day(launches, "launch.parquet", "age", items)
    calendar, uncalled = _by_day(days, "calendar.parquet", "day", items)
    unknown = {
        "rows of launch.parquet about unknown items": unlaunched,
        "rows of calendar.parquet about unknown items": uncalled,
    }
    return Market(items, proxies, outcomes, launch, calendar), left_out(unknown)


def build_market(log: Path, least: int = 100, prior: float = 1.0) -> tuple[MarketTables, Exclusions]:
    """The tables of a market from an event log (item, user, kind, at), and what was left out.

    Items with at least `least` acquisitions of known outcome are kept. p(z | item) are plain frequencies, and to
    p(y | item, z) are added `prior` acquisitions that turned out as those of all kept items did:

        p(y | item, z) = (n(item, z, y) + prior p(y | z)) / (n(item, z) + prior)

    The calendar is the 21 days of the log with most acquisitions of kept items, the latest such days if several.
    """
    settings.positive("prior", prior)
    found = count_acquisitions(log, settings.whole("least", least))
    _check_size(len(found.items), f"take a longer log, or items with fewer than {least} acquisitions")
    if not found.launch.any():
        wrong = f"{log.name} does not cover the launch of any item"
        remedy = f"give a log that begins before some of its items and covers their first {DAYS} days"
        raise DataError(wrong, f"{len(found.items)} items", remedy)
    items = np.array(found.items, object)
    probabilities = smoothed(found.outcomes, prior)
    marks = {"in_launch": found.launch.any(axis=1), "in_calendar": found.calendar.any(axis=1)}
    columns = {"item": items, "n": found.outcomes.sum(axis=(1, 2))}
    tables = MarketTables(
        items=columns | dict(zip(PROXIES + OUTCOMES, probabilities.T, strict=True)) | marks,
        launch=_day_columns(items, "age", found.launch),
        calendar=_day_columns(items, "day", found.calendar),
    )
    exclusions: dict[str, list[str] | int] = {
        f"items with fewer than {least} acquisitions": found.few,
        f"acquisitions in the last {OUTCOME_DAYS} days, outcome not known": found.unknown,
        "acquisitions that were not the user's first of the item": found.repeated,
        "engagements and deletions without an acquisition": found.strays,
    }
    return tables, left_out(exclusions)


def _check_size(items: int, remedy: str) -> None:
    if items < LEAST_ITEMS:
        raise DataError(f"a market needs at least {LEAST_ITEMS} items", items, remedy)


def _check_probabilities(items: tuple[str, ...], names: list[str], rows: Array) -> None:
    wrong = (rows < 0).any(axis=1) | (np.abs(rows.sum(axis=1) - 1) > 1e-6)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        found = dict(zip(names, rows[place].tolist(), strict=True))
        remedy = "make them at least 0 and their sum 1"
        raise DataError(f"item {items[place]} has no distribution in {names[0]} to {names[-1]}", found, remedy)


def _by_day(table: Columns, file: str, name: str, items: tuple[str, ...]) -> tuple[Array, int]:
    """Counts [I, 21] by day, and how many rows name none of the items."""
    wrong = (table[name] < 0) | (table[name] >= DAYS) | (table["count"] < 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        found = {name: int(table[name][row]), "count": int(table["count"][row])}
        remedy = f"count acquisitions on days 0 to {DAYS - 1}"
        raise DataError(f"row {row + 1:,} of {file} is not a daily count", found, remedy)
    index = {item: position for position, item in enumerate(items)}
    place = np.array([index.get(str(item), -1) for item in table["item"]])
    counts = np.zeros((len(items), DAYS))
    np.add.at(counts, (place[place >= 0], table[name][place >= 0]), table["count"][place >= 0])
    return counts, int((place < 0).sum())


def _day_columns(items: Array, name: str, counts: Array) -> Columns:
    """Item, day and count of every count above zero."""
    item, day = np.nonzero(counts)
    return {"item": items[item], name: day, "count": counts[item, day]}


def smoothed(counts: Array, prior: float) -> Array:
    """The probabilities of `build_market`: p(z | item), then p(y | item, z), [I, 4 + 16], from counts [I, 4, 4]."""
    seen = counts.sum(axis=2)  # [I, Z]
    pooled = counts.sum(axis=0)  # [Z, Y]
    # A proxy that never occurred has probability 0; what would follow is then taken to be the same.
    marginal = np.where(pooled.sum(axis=1, keepdims=True) > 0, pooled, np.eye(4))
    marginal = marginal / marginal.sum(axis=1, keepdims=True)
    outcomes = (counts + prior * marginal) / (seen[:, :, None] + prior)
    return np.concatenate([seen / seen.sum(axis=1, keepdims=True), outcomes.reshape(-1, 16)], axis=1)
