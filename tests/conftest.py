"""Set-up shared by all tests."""

import ctypes
import gc
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import pytest
from hypothesis import settings

from presage.drivers.xla.compile_cache import use_compile_cache

# Examples are the same in every run, so that a run tells of a change and not of luck; before a release they are not.
settings.register_profile("steady", derandomize=True)
if not os.environ.get("PRESAGE_FAULTS"):
    settings.load_profile("steady")


@pytest.fixture(autouse=True, scope="session")
def _compiled_programs_are_kept_between_runs() -> None:
    use_compile_cache()


forget_programs: Callable[[], None] = jax.clear_caches

ROOM = 2**30
"""Bytes of a test process beyond which it gives back the programs that it has compiled."""


@pytest.fixture(autouse=True)
def _compiled_programs_do_not_pile_up() -> Iterator[None]:
    """Programs that are needed again come from the disk; without this a process grows past 4 GiB."""
    yield
    if _resident() > ROOM:
        forget_programs()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)


def _resident(status: Path = Path("/proc/self/status")) -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.is_file() else None
    return int(found[1]) * 1024 if found else 0


EXPECTED_SKIPS = (
    "real data is not on this machine",
    "is not on this machine",
    "Spark",
    "Java",
    "Ibis",
    "pyspark",
    "ibis",
    "power cuts",
    "a small disk",
    "strace may not trace here",
    "the rivals extra is not installed",
)
"""What a test may be skipped for: data beside the checkout, libraries that nobody needs who does not use them, and
faults that only root can cause."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted is printed: n is part of a claim that nothing happened in n trials."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A skip for any other reason fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    reasons = {str(report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)}
    unexpected = sorted(reason for reason in reasons if not any(words in reason for words in EXPECTED_SKIPS))
    if unexpected and reporter:
        reporter.write_line(f"unexpected skips: {'; '.join(unexpected)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
