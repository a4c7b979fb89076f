"""Real repositories and items beside the simulated ones: the numbers that calibrate the worlds.

    python -m examples.calibrate --github FOLDER --oulad FOLDER

FOLDER holds `commits.parquet`, `languages.parquet` and `repos.parquet`, or `items.parquet`, `launch.parquet` and
`calendar.parquet`. Needs duckdb. Where a folder is left out, only the simulated column is printed.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import duckdb
import numpy as np

from examples.market_statistics import calendars, engagement, information, launches
from examples.repository_statistics import capped, drift, modes, moments_of, rates, shape, told, windows_of
from presage.spaces import Array
from presage.worlds.marketplace import DAYS, ENGAGEMENTS, Market, MarketplaceSettings
from presage.worlds.repositories import LANGUAGES, CommitHistory, RepositorySettings

SEEDS = range(5)
YEARS = tuple(int(np.datetime64(f"{year}-05-01", "s").astype(np.int64)) for year in range(2014, 2021))
Table = dict[str, float]


def repository_table(history: CommitHistory, starts: tuple[int, ...]) -> Table:
    """Every statistic of repositories."""
    key = capped(history)
    windows = windows_of(key, len(history.repositories), starts)
    moments = moments_of(key, windows, history.observed_until)
    found: Table = {"windows per repository and year": len(windows.start) / len(history.repositories) / len(starts)}
    of_mode = modes(moments)
    for mode, some in of_mode.items():
        found[f"{mode}: share of moments"] = len(some.proxy) / len(moments.proxy)
        parts = rates(some) | told(some, history.written_in)
        found |= {f"{mode}: {name}": value for name, value in parts.items()}
    found["B: cost of the P(y given z) of A"] = drift(rates(of_mode["A"]), rates(of_mode["B"]))
    return found | shape(key, windows, history.written_in)


def market_table(market: Market) -> Table:
    """Every statistic of markets."""
    found = engagement(market) | information(market)
    found |= {f"launch: {name}": value for name, value in launches(market).items()}
    return found | {f"calendar: {name}": value for name, value in calendars(market).items()}


def real_history(folder: Path) -> CommitHistory:
    """The commits of real repositories, with the languages that the world knows."""
    repos = _columns(f"select repo, epoch(snapshot_at)::bigint until from '{folder}/repos.parquet' order by repo")
    commits = _columns(f"select repo, epoch(committed_at)::bigint as at from '{folder}/commits.parquet' order by all")
    held = _columns(f"select repo, language from '{folder}/languages.parquet'")
    names = repos["repo"].astype(str)
    written_in = np.zeros((len(names), len(LANGUAGES)), bool)
    for repo, language in zip(held["repo"], held["language"], strict=True):
        if language in LANGUAGES:
            written_in[np.searchsorted(names, repo), list(LANGUAGES).index(language)] = True
    whose = np.searchsorted(names, commits["repo"].astype(str))
    order = np.lexsort((commits["at"], whose))
    return CommitHistory(tuple(names), whose[order], commits["at"][order], tuple(LANGUAGES), written_in, repos["until"])


def real_market(folder: Path) -> Market:
    """Real items, with zeros where a launch or a calendar was not seen."""
    items = _columns(f"from '{folder}/items.parquet' order by item")
    names = items["item"].astype(str)
    proxies = np.stack([items[f"pz_{z}"] for z in ENGAGEMENTS], axis=-1)
    outcomes = np.stack([items[f"py_{z}_{y}"] for z in ENGAGEMENTS for y in ENGAGEMENTS], axis=-1)
    launch, calendar = (
        _counts(names, _columns(f"select item, {day} as day, count from '{folder}/{kind}.parquet'"))
        for kind, day in (("launch", "age::bigint"), ("calendar", "day"))
    )
    return Market(tuple(names), proxies, outcomes.reshape(-1, 4, 4), launch, calendar)


def _counts(names: Array, rows: dict[str, Array]) -> Array:
    counts = np.zeros((len(names), DAYS))
    counts[np.searchsorted(names, rows["item"].astype(str)), rows["day"]] = rows["count"]
    return counts


def _columns(query: str) -> dict[str, Array]:
    return {name: np.asarray(column) for name, column in duckdb.connect().execute(query).fetchnumpy().items()}


def side_by_side(title: str, real: Table | None, simulated: list[Table]) -> Iterable[str]:
    """Lines of a Markdown table: the real value, the mean of the simulated ones, their spread over seeds."""
    yield f"| {title} | real | simulated | over seeds |"
    yield "|---|---|---|---|"
    for name in simulated[0]:
        values = np.array([table[name] for table in simulated])
        shown = "" if real is None else _number(real[name])
        yield f"| {name} | {shown} | {_number(values.mean())} | {_number(values.std(ddof=1))} |"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 5 else f"{value:.4f}"


def main(arguments: list[str]) -> None:
    """The two tables, on standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--github", type=Path)
    parser.add_argument("--oulad", type=Path)
    folders = parser.parse_args(arguments)
    world = RepositorySettings()
    real = repository_table(real_history(folders.github), YEARS) if folders.github else None
    _write(side_by_side("repositories", real, [repository_table(world.deal(seed), world.windows) for seed in SEEDS]))
    market = market_table(real_market(folders.oulad)) if folders.oulad else None
    _write(side_by_side("market", market, [market_table(MarketplaceSettings().deal(seed)) for seed in SEEDS]))


def _write(lines: Iterable[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
