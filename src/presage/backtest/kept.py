"""What forecasters said of every row of a log, kept in memory, or on the disk where that would be too much."""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from presage.spaces import Array

MEMORY = 2**30
"""How many bytes are kept in memory."""


class Kept(Mapping[str, Array]):
    """By forecaster, the log-probabilities of every row: float32 [N, Y].

    Past `MEMORY` bytes they lie in files of a temporary folder, which goes when this does, and are mapped into memory
    while somebody looks at them.

    >>> kept = Kept(["marginal"], rows=3, outcomes=2)
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
