"""The data of an experiment: a folder of real data, or an embedded world."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from presage.cli.output import changed, tell_exclusions
from presage.errors import SettingError
from presage.experiments.data.commits import read_commits
from presage.experiments.data.marketplace import read_market
from presage.worlds.marketplace import Market, MarketplaceSettings
from presage.worlds.repositories import CommitHistory, RepositorySettings

Found = TypeVar("Found")


def commit_source(data: Path | None, changes: tuple[str, ...], seed: int) -> tuple[CommitHistory, str]:
    """A commit history, and text that identifies it."""
    if data is None:
        world = changed(RepositorySettings(), changes)
        return world.deal(seed), f"embedded, seed {seed}, {world}"
    _no_world(changes)
    history, left_out = read_commits(data)
    tell_exclusions(left_out)
    return history, _digest(data, "commits.parquet", "languages.parquet", "repos.parquet")


def market_source(data: Path | None, changes: tuple[str, ...], seed: int, wanted: int) -> tuple[Market, str]:
    """A market, and text that identifies it; an embedded one has at least `wanted` items unless changed."""
    if data is None:
        world = MarketplaceSettings()
        world = changed(replace(world, items=max(world.items, wanted)), changes)
        return world.deal(seed), f"embedded, seed {seed}, {world}"
    _no_world(changes)
    market, left_out = read_market(data)
    tell_exclusions(left_out)
    return market, _digest(data, "items.parquet", "launch.parquet", "calendar.parquet")


def commit_sources(data: Path | None, changes: tuple[str, ...]) -> Callable[[int], tuple[CommitHistory, str]]:
    """A commit history for each seed; real data are read once."""
    if data is None:
        return cache(lambda seed: commit_source(data, changes, seed))
    return _always(commit_source(data, changes, 0))


def market_sources(data: Path | None, changes: tuple[str, ...], wanted: int) -> Callable[[int], tuple[Market, str]]:
    """A market for each seed; real data are read once."""
    if data is None:
        return cache(lambda seed: market_source(data, changes, seed, wanted))
    return _always(market_source(data, changes, 0, wanted))


def _always(same: Found) -> Callable[[int], Found]:
    return lambda seed: same  # noqa: ARG005


def _no_world(changes: tuple[str, ...]) -> None:
    if changes:
        wrong = "settings of a world do not apply to real data"
        raise SettingError(wrong, changes, "leave out --data, or --set world.NAME")


def _digest(folder: Path, *names: str) -> str:
    """Text that identifies these files by their contents."""
    whole = hashlib.sha256()
    for name in names:
        whole.update((folder / name).read_bytes())
    return f"files, sha256 {whole.hexdigest()[:16]}"
