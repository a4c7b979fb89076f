"""Blocks of work measured in turn, so that a busy machine slows both sides of a ratio alike."""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

BLOCKS = 5
"""How often each side of a ratio is measured."""

Tell = Callable[[str], None]
"""Where progress goes."""


class Spread(NamedTuple):
    """The median of some measurements, and how far they lie apart."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """The spread of some measurements."""
    return Spread(median(values), min(values), max(values))


def ratios(above: Sequence[float], below: Sequence[float]) -> Spread:
    """The spread of the ratios of blocks that were measured one after the other."""
    return spread([a / b for a, b in zip(above, below, strict=True)])


def alternate(blocks: Mapping[str, Callable[[], float]], tell: Tell, about: str) -> dict[str, list[float]]:
    """What each block returned, five times: a block of each in turn, after one of each that is thrown away."""
    tell(f"{about}: warming up")
    for block in blocks.values():
        block()
    measured: dict[str, list[float]] = {name: [] for name in blocks}
    for turn in range(BLOCKS):
        for name, block in blocks.items():
            measured[name].append(block())
        tell(f"{about}: block {turn + 1} of {BLOCKS}")
    return measured


def seconds(work: Callable[[], object]) -> float:
    """How long `work` takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
