"""What a forecaster learns from the rows of a log, going on from what it had learnt of earlier ones."""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from presage.drivers.contexts.core import ContextFunctions
from presage.drivers.contexts.episodes import play_on
from presage.drivers.core import Parameters
from presage.drivers.counting.continued_log import count_on
from presage.drivers.counting.episodes import can_count
from presage.drivers.counting.table_core import LearntCounts, TableFunctions
from presage.drivers.lessons import Lessons
from presage.fitting.open_rows import OpenRows
from presage.forecasters.contexts.kernels import ContextState, start_state
from presage.forecasters.contexts.layout import ContextLayout
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import Pool, experts_of
from presage.later import Later
from presage.spaces import EMPTY, Array, Instance
from presage.timeline.arrivals import arrivals, as_rounds

batches: Any = Later("presage.drivers.batched.network_core")
"""Only networks need JAX."""


class Learnt(NamedTuple):
    """What was learnt from the first row to the last, and what was said of the rows that are still open."""

    tensors: dict[str, Array]  # all that later learning depends on, as it was when the last row was predicted
    parameters: Parameters  # what predictions are computed from: all that is known
    said: Array  # float32 [C, K, Y]: what the experts of a mixture said of them; [C, 0, Y] without; or memos of bytes


def nothing_learnt(forecaster: Forecaster, seed: int) -> Learnt:
    """What a forecaster knows before the first row."""
    experts = len(experts_of(forecaster)) if isinstance(forecaster.structure, Pool) else 0
    said = np.zeros((0, experts, forecaster.spaces.outcomes), np.float32)
    if isinstance(forecaster.structure, ContextLayout):
        state = start_state(forecaster.structure)
        return Learnt(state._asdict(), state, np.zeros((0, forecaster.structure.memo_width), np.uint8))
    if can_count(forecaster):
        learnt = TableFunctions(forecaster).start()
        return Learnt(learnt._asdict(), learnt, said)
    learning = batches.NetworkLearning(forecaster, seed)
    return Learnt(learning.tensors(), learning.parameters(), said)


def learn_rows(forecaster: Forecaster, seed: int, learnt: Learnt, rows: OpenRows, keep: Array) -> Learnt:
    """What a forecaster has learnt after some rows, the first of which are those of `learnt.said`.

    `keep` tells which of the rows stay open.
    """
    if isinstance(forecaster.structure, ContextLayout):
        state = ContextState(**learnt.tensors)
        played = play_on(forecaster.structure, state, rows.episode(), learnt.said, keep)
        return Learnt(played.learnt._asdict(), played.latest, played.memos)
    if can_count(forecaster):
        counted = count_on(forecaster, LearntCounts(**learnt.tensors), rows.episode(), learnt.said, keep)
        return Learnt(counted.learnt._asdict(), counted.latest, counted.said)
    said = np.zeros((int(keep.sum()), *learnt.said.shape[1:]), np.float32)
    return _train(forecaster, seed, learnt, rows)._replace(said=said)


def _train(forecaster: Forecaster, seed: int, learnt: Learnt, rows: OpenRows) -> Learnt:
    """A network's steps fall due where rows are predicted; between them it is fed what came, batch after batch."""
    learning = batches.NetworkLearning(forecaster, seed)
    first, last = max(len(learnt.said) - 1, 0), len(rows.number) - 1
    offset = int(rows.number[last]) - last  # from places here to places among all rows
    learning.restore(learnt.tensors, offset + first)
    episode = rows.episode()
    z_seen, y_seen = (as_rounds(part) for part in (episode.proxy_seen, episode.outcome_seen))
    orders = arrivals(episode.proxy_seen), arrivals(episode.outcome_seen)

    def learn(start: int, stop: int) -> None:
        """The feedback of rounds from `start` to before `stop`, and the steps due before round `stop`."""
        proxies, outcomes = (order.rows[order.known[start] : order.known[stop]] for order in orders)
        # As in the log of a service: each pair is met once, by whichever of the two is learnt last.
        y_of_proxies = np.where(y_seen[proxies] < start, episode.y[proxies], EMPTY)
        z_of_outcomes = np.where(z_seen[outcomes] < stop, episode.z[outcomes], EMPTY)
        learning.learn(
            _lessons(rows, proxies, episode.z[proxies], y_of_proxies),
            _lessons(rows, outcomes, z_of_outcomes, episode.y[outcomes]),
            offset + stop,
        )

    assert forecaster.replay is not None
    every = forecaster.replay.every
    due = np.arange(offset + first - (offset + first) % every + every, offset + last, every) - offset
    stops = [first, *due.tolist(), last]
    for start, stop in pairwise(stops):
        learn(start, stop)
    tensors = {name: np.array(part) for name, part in learning.tensors().items()}
    learn(last, last + 1)
    return Learnt(tensors, learning.parameters(), learnt.said)


def _lessons(rows: OpenRows, chosen: Array, z: Array, y: Array) -> Lessons:
    x = Instance(rows.x.symbols[chosen], rows.x.dense[chosen])
    memo = np.zeros((len(chosen), 0), np.float32)
    return Lessons(x, z.astype(np.int32), y.astype(np.int32), memo, rows.number[chosen])


CHUNK = 65_536
"""Rows predicted at once."""


def predict_rows(forecaster: Forecaster, parameters: Parameters, x: Instance) -> Array:  # float32 [N, Y]
    """The log-probabilities of instances."""
    if isinstance(forecaster.structure, ContextLayout):
        contexts, state = ContextFunctions(forecaster.structure), ContextState(*parameters)
        return contexts.predict(state, x, memos=False).log_probabilities
    if can_count(forecaster):
        tables = TableFunctions(forecaster)
        say = partial(tables.predict, LearntCounts(*parameters))
        return _by_chunk(lambda part: say(Instance(x.symbols[part], x.dense[part])).log_probabilities, len(x.symbols))
    said: Array = batches.predict_batch(forecaster, parameters, x)
    return said


def nowcast_rows(forecaster: Forecaster, parameters: Parameters, x: Instance, z: Array) -> Array:  # float32 [N, Y]
    """The log-probabilities of instances whose proxies are known."""
    if isinstance(forecaster.structure, ContextLayout):
        return ContextFunctions(forecaster.structure).nowcast(ContextState(*parameters), x, z)
    if can_count(forecaster):
        tables, learnt = TableFunctions(forecaster), LearntCounts(*parameters)
        return _by_chunk(lambda part: tables.nowcast(learnt, Instance(x.symbols[part], x.dense[part]), z[part]), len(z))
    told: Array = batches.predict_batch(forecaster, parameters, x, z)
    return told


def _by_chunk(say: Any, rows: int) -> Array:
    return np.concatenate([say(slice(first, first + CHUNK)) for first in range(0, rows, CHUNK)])
