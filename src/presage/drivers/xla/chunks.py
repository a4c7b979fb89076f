"""Trials cut into chunks that fill the cores of a machine, or run whole on a GPU."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from presage.drivers.threads import core_count, over_cores
from presage.progress import Step
from presage.spaces import Array


def in_chunks(
    play: Callable[[Array], Any],
    trials: int,
    at_most: int,
    progress: Step | None = None,
    finish: Callable[[Array, Any], Any] | None = None,
) -> Any:
    """The results of `play` for all trials, joined along their first axis, as NumPy arrays.

    `play` is given the numbers of up to `at_most` trials and returns a pytree of JAX arrays; `finish` may turn them,
    as NumPy arrays, into others. Chunks run side by side, one a core; a GPU takes all trials at once.
    """
    size = min(at_most, -(-trials // core_count())) if jax.default_backend() == "cpu" else trials

    chunks = chunked(trials, size)
    started = play(chunks[0])  # returns once it is compiled, so that no two threads compile the same program

    def play_chunk(number: int) -> Any:
        played = jax.tree.map(np.asarray, play(chunks[number]) if number else started)
        if finish:
            played = finish(chunks[number], played)
        if progress:
            progress(len(np.unique(chunks[number])))
        return played

    played = over_cores(play_chunk, range(len(chunks)))
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:trials], *played)


def chunked(trials: int, size: int) -> list[Array]:
    """The trials in chunks of one size; the last is filled up with repeats, so that one program serves all.

    >>> [chunk.tolist() for chunk in chunked(5, 2)]
    [[0, 1], [2, 3], [4, 4]]
    """
    return [np.minimum(np.arange(first, first + size), trials - 1) for first in range(0, trials, size)]
