"""A service in a mount namespace with a small /dev/shm: `unshare --mount python -m tests.service.small_memory`."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from presage.drivers.core import ArrayLayout
from presage.errors import OutputError
from presage.service.learner.shared_parameters import SharedParameters
from presage.service.limits import Limits
from presage.service.opening import open_service
from tests.service.running import until
from tests.service.shop import START, happenings, write_task

MEBIBYTES = 64
MEMORY = Path("/dev/shm")


def shrink(folder: Path) -> None:
    """Put a small file system on a folder; only this mount namespace sees it."""
    size = f"size={MEBIBYTES}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=True, capture_output=True)
    found = os.statvfs(folder)
    assert found.f_blocks * found.f_frsize == MEBIBYTES << 20


def serve_much(folder: Path) -> None:
    """Learn more parameters than /dev/shm has room for."""
    task = write_task(folder, "residual-table")
    task.write_text(task.read_text().replace("hashed = 64", "hashed = 2000000"))
    service = open_service(task, folder / "data", Limits(clock="events"), lambda: START)
    size = sum(part.nbytes for part in service._parts.learner.model.parameters)
    assert size > 1.2 * (MEBIBYTES << 20)
    asyncio.run(service.submit([each.event for each in happenings(60)]))
    until(service.caught_up)
    numbers = service.numbers()
    assert numbers.model_position > 0
    assert numbers.learner.deaths == 0
    service.close()


def use_a_full_disk(_: Path) -> None:
    """Share memory where there is none without a name, by files of a disk that is too small."""
    del os.memfd_create
    tempfile.tempdir = str(MEMORY)
    with pytest.raises(OutputError, match="No space left"):
        SharedParameters([ArrayLayout((MEBIBYTES << 17,), "<f8")])
    assert list(MEMORY.iterdir()) == []
    SharedParameters([ArrayLayout((1 << 17,), "<f8")])  # what fits is fine
    assert list(MEMORY.iterdir()) == []


TRIALS: dict[str, Callable[[Path], None]] = {"serve much": serve_much, "use a full disk": use_a_full_disk}

if __name__ == "__main__":
    shrink(MEMORY)
    TRIALS[sys.argv[1]](Path(sys.argv[2]))
