"""What a dealer deals: chunks of predictions with their proxies, outcomes and, where the world knows it, the truth."""

from collections.abc import Iterator
from typing import NamedTuple

from presage.logs.tables import Columns
from presage.spaces import Array

CHUNK = 500_000
"""Rows dealt at once, at most."""
DAY = 86_400_000_000
"""Microseconds."""


class Chunk(NamedTuple):
    """Some predictions."""

    features: Columns
    shown_at: Array  # int64 [n]: microseconds since 1970 UTC
    proxy: Array  # [n]: symbols
    outcome: Array  # [n]
    truth: Array | None  # float64 [n, Y]: p(outcome), as someone knows who knows the world


def part_of(chunk: Chunk, rows: Array) -> Chunk:
    """Some rows of a chunk."""
    features = {name: column[rows] for name, column in chunk.features.items()}
    truth = None if chunk.truth is None else chunk.truth[rows]
    return Chunk(features, chunk.shown_at[rows], chunk.proxy[rows], chunk.outcome[rows], truth)


class Dealt(NamedTuple):
    """A log that is dealt: what it is about, and its chunks."""

    name: str
    instance: str  # the [instance] table of its task file
    back_off: str
    proxies: tuple[str, ...]
    outcomes: tuple[str, ...]
    proxy_days: int
    outcome_days: int
    rows: int
    chunks: Iterator[Chunk]
