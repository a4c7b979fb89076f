"""What forecasters said of every row of a log, kept in memory, or on the disk where that would be too much."""

import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from presage.drivers.contexts.episodes import stretch_contexts
from presage.drivers.counting.episodes import can_count, stretch_mixture, stretch_tables
from presage.drivers.threads import over_cores
from presage.forecasters.back_off import TableParts
from presage.forecasters.contexts.layout import ContextLayout
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import Pool
from presage.spaces import Array
from presage.timeline.episode import Episode

MEMORY = 2**30
"""How many bytes are kept in memory."""


class KeptRows(Mapping[str, Array]):
    """By forecaster, the log-probabilities of every row: float32 [N, Y].

    Past `MEMORY` bytes they lie in files of a temporary folder, which goes when this does, and are mapped into memory
    while somebody looks at them.

    >>> kept = KeptRows(["marginal"], rows=3, outcomes=2)
    >>> for part in (np.zeros((2, 2)), np.ones((1, 2))):
    ...     kept.add("marginal", part)
    >>> kept["marginal"][:, 0]
    array([0., 0., 1.], dtype=float32)
    """

    def __init__(self, names: Iterable[str], rows: int, outcomes: int) -> None:
        self._rows = dict.fromkeys(names, 0)  # how many there are so far
        self._shape = rows, outcomes
        self._arrays: dict[str, Array] = {}
        self._folder: Path | None = None
        self.seconds: dict[str, float] = {}  # how long each was played; what is counted together has equal shares
        if 4 * rows * outcomes * len(self._rows) <= MEMORY:
            self._arrays = {name: np.empty(self._shape, np.float32) for name in self._rows}
        else:
            self._folder = Path(tempfile.mkdtemp(prefix="presage-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def add(self, name: str, part: Array) -> None:
        """Keep what a forecaster said of the next rows [S, Y]."""
        first, last = self._rows[name], self._rows[name] + len(part)
        if self._folder:
            with (self._folder / name).open("ab") as file:
                np.ascontiguousarray(part, np.float32).tofile(file)
        else:
            self._arrays[name][first:last] = part
        self._rows[name] = last

    def __getitem__(self, name: str) -> Array:
        if self._rows[name] < self._shape[0]:
            raise KeyError(name)
        if self._folder:
            return np.memmap(self._folder / name, np.float32, "r", shape=self._shape)
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


Said = Mapping[str, Array]
"""By forecaster, the log-probabilities of every row: float32 [N, Y]."""


def replay(forecasters: dict[str, Forecaster], episode: Episode, seed: int, tell: Callable[[str], None]) -> Said:
    """What each forecaster says; `tell` is told of each that is done.

    Tables are counted together, the others are played one by one, on all cores.
    """
    outcomes = next(iter(forecasters.values())).spaces.outcomes
    kept = KeptRows(forecasters, episode.rounds, outcomes)
    tables = tuple(name for name, one in forecasters.items() if isinstance(one.structure, TableParts))
    # Residual networks take longest and are named last: those that begin first are done first.
    plays = [(name,) for name in reversed(forecasters) if name not in tables] + ([tables] if tables else [])

    def play(names: tuple[str, ...]) -> None:
        begun = time.perf_counter()
        for part in _say([forecasters[name] for name in names], episode, seed):
            for place, name in enumerate(names):
                kept.add(name, part[:, place])
        for name in names:
            kept.seconds[name] = (time.perf_counter() - begun) / len(names)
            tell(name)

    over_cores(play, plays)
    return kept


def _say(forecasters: Sequence[Forecaster], episode: Episode, seed: int) -> Iterator[Array]:  # each [S, K, Y]
    """What some tables, or one other forecaster, say of the rows, a stretch after another."""
    first = forecasters[0]
    if isinstance(first.structure, ContextLayout):
        yield from (part.log_probabilities[:, None] for part in stretch_contexts(first.structure, episode))
    elif can_count(first):
        if isinstance(first.structure, Pool):
            yield from (mixed.log_probabilities[:, None] for mixed in stretch_mixture(first, episode))
        else:
            yield from stretch_tables(forecasters, episode)
    else:
        yield _compiled(first, episode, seed)[:, None]


def _compiled(forecaster: Forecaster, episode: Episode, seed: int) -> Array:  # [T, Y]
    """What a forecaster with networks says of the rows."""
    from presage.drivers.batched.episodes import block_episode  # noqa: PLC0415 tables do without JAX
    from presage.drivers.xla.episodes import scan_episode  # noqa: PLC0415

    if forecaster.only_rehearses:
        return block_episode(forecaster, episode, seed)
    return np.asarray(scan_episode(forecaster, episode, seed).log_probabilities)
