"""Feedback that is learnt batch after batch, with what was predicted when its row was asked about."""

from typing import NamedTuple

from presage.spaces import Array, Instance


class Lessons(NamedTuple):
    """Feedback of one kind, in the order it is learnt."""

    x: Instance  # [N, ...]
    z: Array  # int32 [N]: EMPTY where it is not known
    y: Array  # int32 [N]
    memo: Array  # float32 [N, M]: the leaves of each memo, one after another
    row: Array  # int64 [N]: a number that tells predictions apart
