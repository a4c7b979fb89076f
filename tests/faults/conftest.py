"""Where the faults are tried."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.power import SIZES, cannot
from tests.faults.tracing import cannot_trace


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one, for faults that end a process but not the machine."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.exists() else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture
def strace() -> None:
    """A skip where system calls cannot be tampered with."""
    if why := cannot_trace():
        pytest.skip(why)


@pytest.fixture(params=list(SIZES))
def file_system(request: pytest.FixtureRequest) -> str:
    """A kind of file system whose power can be cut here."""
    kind = str(request.param)
    if why := cannot(kind):
        pytest.skip(why)
    return kind
