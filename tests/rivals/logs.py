"""Small logs that the tests of rivals share."""

from dataclasses import replace

import numpy as np

from presage import Episode, Instance
from presage.rivals import RivalLog
from presage.spaces import Spaces
from tests.problems import MIXED, episode

DAY = 86_400_000_000


def rival_log(kind: str = "varying", spaces: Spaces = MIXED, rows: int = 400, seed: int = 0) -> RivalLog:
    """A random log with features of every kind, four rows a day."""
    found = episode(kind, spaces, rows, seed)
    found = replace(found, x=spaces.encode(found.x))
    names = tuple(f"column{place}" for place in range(len(spaces.features.symbols)))
    ordered = tuple(place % 2 == 1 for place in range(len(names)))
    return RivalLog(found, spaces, np.arange(rows) * DAY // 4, names, ordered)


def learnable_log(rows: int = 3000, seed: int = 0) -> RivalLog:
    """A log whose second column tells the proxy, and whose proxy tells the outcome, each nine times in ten."""
    draw = np.random.default_rng(seed)
    spaces = replace(MIXED, proxies=4)
    log = rival_log("fixed", spaces, rows, seed)
    sure = draw.random((2, rows)) < 0.9
    z = np.where(sure[0], log.episode.x.symbols[:, 1], log.episode.z).astype(np.int32)
    y = np.where(sure[1], z, log.episode.y).astype(np.int32)
    return log._replace(episode=replace(log.episode, z=z, y=y))


def changed_after(log: RivalLog, last: int, seed: int = 1) -> RivalLog:
    """The log with other labels wherever feedback is seen at the end of a round after `last`, or never."""
    draw, one = np.random.default_rng(seed), log.episode

    def other(symbols: np.ndarray, seen: np.ndarray, size: int) -> np.ndarray:
        moved = (symbols + draw.integers(1, size, len(symbols))) % size
        return np.where((seen >= last) | (seen == -1), moved, symbols).astype(np.int32)

    z = other(one.z, one.proxy_seen, log.spaces.proxies)
    y = other(one.y, one.outcome_seen, log.spaces.outcomes)
    return log._replace(episode=replace(one, z=z, y=y))


def one_column(z: list[int], y: list[int], proxy_seen: list[int], outcome_seen: list[int]) -> RivalLog:
    """A log of one instance, whose only number is that of its row."""
    rows, spaces = len(z), Spaces(replace(MIXED.features, symbols=(1,), sets=(), dense=1), 2, 2)
    x = Instance(np.zeros((rows, 1), np.int32), np.arange(rows, dtype=np.float32)[:, None])
    found = Episode.varying(x, z, y, proxy_seen, outcome_seen)
    return RivalLog(found, spaces, np.arange(rows) * DAY, ("item",), (False,))
