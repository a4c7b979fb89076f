"""Parameters shared between the process that learns and the one that predicts: two copies, written in turn.

The learner writes into the copy that is not in use; the predictor turns to it when told, in one assignment. The next
parameters are asked for only after that, so a copy is never written while it is read.
"""

import mmap
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from presage.drivers.core import ArrayLayout, Parameters
from presage.errors import NotFiniteError

ALIGNED = 64


class SharedParameters:
    """Two copies of some parameters in memory that processes share by the path of a file."""

    def __init__(self, layouts: Sequence[ArrayLayout], path: Path, *, create: bool = False) -> None:
        self.path = path
        size = sum(_room(layout) for layout in layouts)
        with path.open("x+b" if create else "r+b") as file:
            if create:
                file.truncate(2 * size)
            self._memory = mmap.mmap(file.fileno(), 2 * size)
        self._copies = [self._views(layouts, copy * size) for copy in (0, 1)]

    def write(self, copy: int, parameters: Parameters) -> None:
        """Fill one of the copies; raise NotFiniteError, and leave it as it is, if a parameter is no finite number."""
        if found := not_finite(parameters):
            remedy = "nothing was published: report it, and serve another forecaster with --refold"
            raise NotFiniteError("the learner's parameters are no finite numbers", found, remedy)
        for view, array in zip(self._copies[copy], parameters, strict=True):
            view[...] = array

    def copy(self, copy: int) -> Parameters:
        """One of the copies, as it stands in memory."""
        return self._copies[copy]

    def _views(self, layouts: Sequence[ArrayLayout], offset: int) -> Parameters:
        views = []
        for layout in layouts:
            count = int(np.prod(layout.shape))
            views.append(np.frombuffer(self._memory, layout.dtype, count, offset).reshape(layout.shape))
            offset += _room(layout)
        return tuple(views)


def not_finite(parameters: Parameters) -> str:
    """Where a number is not finite, in words; empty if all are."""
    for place, array in enumerate(parameters):
        # Parts of a finite sum are finite. It is found faster than they are, which are looked at only where it is not.
        with np.errstate(over="ignore", invalid="ignore"):
            looks_finite = array.dtype.kind != "f" or np.isfinite(array.sum())
        if not looks_finite and not np.isfinite(array).all():
            return f"{np.count_nonzero(~np.isfinite(array)):,} of {array.size:,} in array {place}"
    return ""


def shared_path() -> Path:
    """A new path for shared memory; nothing is written to a disk where the machine has memory to share."""
    memory = Path("/dev/shm")
    folder = memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    return Path(tempfile.mkdtemp(prefix="presage-", dir=folder)) / "parameters"


def _room(layout: ArrayLayout) -> int:
    size = int(np.prod(layout.shape)) * np.dtype(layout.dtype).itemsize
    return (max(size, 1) + ALIGNED - 1) // ALIGNED * ALIGNED
