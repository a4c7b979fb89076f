"""Feedback that is learnt batch after batch, with what was predicted when its row was asked about."""

from typing import NamedTuple

from presage.spaces import Array, Instance


class Lessons(NamedTuple):
    """Feedback of one kind, in the order it is learnt."""

    x: Instance  # [N, ...]
    z: Array  # int32 [N]: EMPTY where it is not known
    y: Array  # int32 [N]
    memo: Array  # [N, M]: what was predicted with each, in the form of the core
    row: Array  # int64 [N]: a number that tells predictions apart


class BatchPredictions(NamedTuple):
    """What was predicted of N rows."""

    log_probabilities: Array  # float32 [N, Y]
    memo: Array  # [N, M]: to be given back with the feedback; float32 or, of the default forecaster, bytes
