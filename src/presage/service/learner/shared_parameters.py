"""Parameters shared between the process that learns and the one that predicts: two copies, written in turn.

The learner writes into the copy that is not in use, and then tells which one it has written; the predictor turns to it
in one assignment. The next parameters are asked for only after that, so a copy is never written while it is read, and
one that a dying learner left half written is never read. Each learner has memory of its own.
"""

import errno
import mmap
import os
import tempfile
from collections.abc import Sequence

import numpy as np

from presage.drivers.core import ArrayLayout, Parameters
from presage.errors import NotFiniteError, OutputError

ALIGNED = 64
NAME = "presage-parameters"
PIECE = bytes(1 << 20)


class SharedParameters:
    """Two copies of some parameters in memory that processes share by its descriptor; without one, new memory."""

    def __init__(self, layouts: Sequence[ArrayLayout], descriptor: int | None = None) -> None:
        size = sum(_room(layout) for layout in layouts)
        self.descriptor = reserve_memory(2 * size) if descriptor is None else descriptor
        self._memory = mmap.mmap(self.descriptor, 2 * size)
        self._copies = [self._views(layouts, copy * size) for copy in (0, 1)]

    def close_descriptor(self) -> None:
        """Close the descriptor, which another process has by now; the memory stays until no array is left."""
        os.close(self.descriptor)

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


def reserve_memory(size: int) -> int:
    """The descriptor of new memory with all of its space reserved; it has no name, and so leaves nothing behind.

    Space that is only promised kills the process that first writes where there is none (SIGBUS), in a container with
    a small /dev/shm for example. That limit does not hold for memory without a name.
    """
    made = -1
    try:
        made = _new_memory()
        _reserve(made, size)
        _keep_size(made)
    except OSError as error:
        if made >= 0:
            os.close(made)
        need = f"{size:,} bytes ({error.strerror or error})"
        remedy = "give the service more memory, or the model less: `buckets` under [forecaster.settings]"
        if error.errno == errno.ENOENT:
            remedy = "set TMPDIR to a folder that can be written"
        raise OutputError("the parameters of the model cannot be shared between processes", need, remedy) from error
    return made


def _new_memory() -> int:
    """Memory without a name: without a file where the system can do that, otherwise a file that is gone already."""
    if hasattr(os, "memfd_create"):
        try:
            return os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:  # forbidden by a sandbox
            if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EACCES):
                raise
    with tempfile.TemporaryFile(prefix=NAME) as file:
        return os.dup(file.fileno())


def _reserve(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    left = size
    while left:
        left -= os.write(descriptor, PIECE[: min(left, len(PIECE))])


def _keep_size(descriptor: int) -> None:
    """Forbid to shrink the memory, by mistake too: whoever reads beyond its end is killed."""
    try:
        import fcntl  # noqa: PLC0415 some systems lack it

        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except (ImportError, AttributeError, OSError):  # it is a file
        return


def _room(layout: ArrayLayout) -> int:
    size = int(np.prod(layout.shape)) * np.dtype(layout.dtype).itemsize
    return (max(size, 1) + ALIGNED - 1) // ALIGNED * ALIGNED
