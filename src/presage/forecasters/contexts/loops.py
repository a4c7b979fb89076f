"""Loops over rows of the default forecaster: a log played in the order of time, or batches predicted and learnt."""

import zlib
from pathlib import Path

import numpy as np

from presage.forecasters.contexts.arithmetic import Function, compiled
from presage.forecasters.contexts.kernels import (
    ContextState,
    M,
    Scratch,
    learn_outcome,
    learn_proxy,
    nowcast_row,
    predict_row,
)
from presage.forecasters.contexts.layout import HEDGES, Heads, RowPlaces, Switches
from presage.spaces import Array

SOURCE = zlib.crc32(b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))))
"""Which version of the kernels this is: numba's cache notices a change in what a loop closes over, not in what it
calls. The constants of their neighbours become part of them, too."""


def _loops() -> tuple[Function, Function, Function, Function]:
    source = SOURCE

    def play_rounds(
        places: RowPlaces, heads: Heads, switches: Switches, state: ContextState, room: Scratch, symbols: Array,
        dense: Array, z: Array, y: Array, seen: tuple[Array, Array], proxies: tuple[Array, Array],
        outcomes: tuple[Array, Array], start: int, ring: Array, said: Array, weights: Array,
    ) -> None:  # fmt: skip
        """Plays the rounds from `start` on: learns what became known before each, then predicts.

        `proxies` and `outcomes` are the rows in the order in which they arrive, and how many have before each round.
        Row r keeps its memo in `ring` [O, B] at r modulo O. Fills `said` [S, Y], and `weights` [S, M] if it has places.
        """
        _ = source
        seen_proxy, seen_outcome = seen
        length = len(ring)
        for now in range(start, start + len(said)):
            before = max(now - 1, 0)
            for position in range(proxies[1][before], proxies[1][now]):
                row = proxies[0][position]
                other = y[row] if seen_outcome[row] < seen_proxy[row] else -1
                learn_proxy(
                    places, heads, switches, state, symbols[row], dense[row], z[row], other, ring[row % length], room
                )
            for position in range(outcomes[1][before], outcomes[1][now]):
                row = outcomes[0][position]
                other = z[row] if seen_proxy[row] <= seen_outcome[row] else -1
                learn_outcome(
                    places, heads, switches, state, symbols[row], dense[row], other, y[row], ring[row % length], room
                )
            predict_row(
                places, heads, switches, state, symbols[now], dense[now], room, said[now - start], ring[now % length]
            )
            if len(weights):
                for hedge in range(len(HEDGES)):
                    for member in range(M):
                        weights[now - start, member] += room.hedged[hedge, member] / np.float32(len(HEDGES))

    def predict_rows(
        places: RowPlaces, heads: Heads, switches: Switches, state: ContextState, room: Scratch, symbols: Array,
        dense: Array, said: Array, memos: Array,
    ) -> None:  # fmt: skip
        """Writes what is said of rows, `said` [N, Y], and their memos [N, B]."""
        _ = source
        for row in range(len(said)):
            predict_row(places, heads, switches, state, symbols[row], dense[row], room, said[row], memos[row])

    def nowcast_rows(
        places: RowPlaces, heads: Heads, switches: Switches, state: ContextState, room: Scratch, symbols: Array,
        dense: Array, z: Array, said: Array,
    ) -> None:  # fmt: skip
        """Writes what is said of rows whose proxies are known, `said` [N, Y]."""
        _ = source
        for row in range(len(said)):
            nowcast_row(places, heads, switches, state, symbols[row], dense[row], z[row], room, said[row])

    def learn_rows(
        places: RowPlaces, heads: Heads, switches: Switches, state: ContextState, room: Scratch, symbols: Array,
        dense: Array, z: Array, y: Array, memos: Array, of_outcomes: bool,
    ) -> None:  # fmt: skip
        """Learns rows of proxies, or of outcomes, in order."""
        _ = source
        for row in range(len(z)):
            if of_outcomes:
                learn_outcome(
                    places, heads, switches, state, symbols[row], dense[row], z[row], y[row], memos[row], room
                )
            else:
                learn_proxy(places, heads, switches, state, symbols[row], dense[row], z[row], y[row], memos[row], room)

    return compiled(play_rounds), compiled(predict_rows), compiled(nowcast_rows), compiled(learn_rows)


play_rounds, predict_rows, nowcast_rows, learn_rows = _loops()
