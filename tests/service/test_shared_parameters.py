"""Memory shared between processes: without a name, with its space reserved, or refused with a plain error."""

import errno
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from presage.drivers.core import ArrayLayout
from presage.errors import OutputError
from presage.service.learner.shared_parameters import SharedParameters, reserve_memory
from tests.service.serving import ROOT
from tests.service.small_memory import TRIALS

LAYOUTS = (ArrayLayout((3, 5), "<f8"), ArrayLayout((0,), "<f4"), ArrayLayout((7,), "|u1"))


def names() -> set[Path]:
    """What has a name where files in memory and temporary ones are."""
    folders = [folder for folder in (Path("/dev/shm"), Path(tempfile.gettempdir())) if folder.is_dir()]
    return {path for folder in folders for path in folder.glob("presage*")}


def descriptors() -> int:
    """How many files are open, where that can be seen."""
    return len(list(Path("/proc/self/fd").glob("*")))


def test_it_has_no_name_that_could_be_left_behind() -> None:
    before = names()
    shared = SharedParameters(LAYOUTS)
    assert names() == before
    shared.close_descriptor()


def test_a_copy_is_seen_by_who_has_the_descriptor_and_stays_when_it_is_closed() -> None:
    shared = SharedParameters(LAYOUTS)
    other = SharedParameters(LAYOUTS, shared.descriptor)
    written = tuple(np.arange(np.prod(layout.shape)).reshape(layout.shape).astype(layout.dtype) for layout in LAYOUTS)
    other.write(1, written)
    shared.close_descriptor()
    assert all(np.array_equal(*pair) for pair in zip(shared.copy(1), written, strict=True))
    assert not any(part.any() for part in shared.copy(0))


def test_its_space_is_reserved_before_it_is_used() -> None:
    descriptor = reserve_memory(1 << 20)
    assert os.fstat(descriptor).st_blocks * 512 >= 1 << 20
    os.close(descriptor)


def test_it_cannot_be_shrunk_under_who_reads_it() -> None:
    if not hasattr(os, "memfd_create"):
        pytest.skip("memory without a name is not on this machine")
    descriptor = reserve_memory(4096)
    with pytest.raises(PermissionError):
        os.ftruncate(descriptor, 0)
    os.close(descriptor)


@pytest.mark.parametrize("lacking", ["memfd_create", "both", "forbidden"])
def test_a_file_without_a_name_stands_in(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> int:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if lacking == "forbidden":
        monkeypatch.setattr(os, "memfd_create", forbidden, raising=False)
    else:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    if lacking == "both":
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    before, size = names(), 3 * (1 << 20) + 5
    descriptor = reserve_memory(size)
    assert names() == before
    assert os.fstat(descriptor).st_size == size
    assert os.fstat(descriptor).st_blocks * 512 >= size
    with mmap.mmap(descriptor, size) as memory:
        memory[-1] = 7
    os.close(descriptor)


@pytest.mark.parametrize(("number", "remedy"), [(errno.ENOSPC, "buckets"), (errno.ENOENT, "TMPDIR")])
def test_what_there_is_no_room_for_is_refused_in_plain_words(
    number: int, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    opened = descriptors()
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OutputError, match=remedy) as error:
        SharedParameters(LAYOUTS)
    assert "bytes" in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert descriptors() == opened


def cannot() -> str:
    """Why no /dev/shm can be small here; nothing if it can."""
    if os.geteuid() or not shutil.which("unshare") or not Path("/dev/shm").is_dir():
        return "a small /dev/shm needs root and unshare"
    tried = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=False)
    return "a small /dev/shm is not possible here" if tried.returncode else ""


@pytest.mark.long
@pytest.mark.parametrize("trial", TRIALS)
def test_a_small_dev_shm_limits_nothing_and_kills_nobody(trial: str, tmp_path: Path) -> None:
    if why := cannot():
        pytest.skip(why)
    command = ["unshare", "--mount", sys.executable, "-m", "tests.service.small_memory", trial, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
