"""Set-up shared by all tests."""

import ctypes
import gc
import os
import re
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Tests wait for compilers above all, and a program that runs once need not be the fastest. `make test-all` sets this to
# nothing, and so runs the programs that users run. Processes that tests start inherit it.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")

import jax
import pytest
from hypothesis import settings

from presage.drivers.xla.compile_cache import configure, use_compile_cache

# Examples are the same in every run, so that a run tells of a change and not of luck; before a release they are not.
settings.register_profile("steady", derandomize=True)
if not os.environ.get("PRESAGE_FAULTS"):
    settings.load_profile("steady")


@pytest.fixture(autouse=True, scope="session")
def _compiled_programs_are_kept_between_runs() -> None:
    use_compile_cache()
    configure("jax_persistent_cache_min_compile_time_secs", 0.0)


forget_programs: Callable[[], None] = jax.clear_caches

ROOM = 1150 * 2**20
"""Bytes of a test process beyond which it gives back the programs that it has compiled."""

STEP = 150 * 2**20
"""Bytes by which it grows before it does so again: it takes a third of a second, and libraries need room as well."""

_limit = [ROOM]


@pytest.fixture(autouse=True)
def _compiled_programs_do_not_pile_up() -> Iterator[None]:
    """Programs that are needed again come from the disk; without this a process grows past 4 GiB."""
    yield
    if _resident() > _limit[0]:
        forget_programs()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        _limit[0] = max(ROOM, _resident() + STEP)


PEAK = "presage_peak"


def _peak() -> int:
    """The most memory that this process has taken, in MiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // (2**20 if sys.platform == "darwin" else 2**10)


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
    "a small /dev/shm",
    "strace may not trace here",
    "the rivals extra is not installed",
)
"""What a test may be skipped for: data beside the checkout, libraries that nobody needs who does not use them, and
faults that only root can cause."""


_peaks: list[int] = []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """The most memory that a test process took is handed on to the one that reports."""
    output = getattr(node, "workeroutput", {})  # none if it crashed
    if PEAK in output:
        _peaks.append(output[PEAK])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted is printed: n is part of a claim that nothing happened in n trials."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
    peaks = ", ".join(str(peak) for peak in _peaks or [_peak()])
    terminalreporter.write_line(f"most memory of a test process: {peaks} MiB")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A skip for any other reason fails the run."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[PEAK] = _peak()
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    reasons = {str(report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)}
    unexpected = sorted(reason for reason in reasons if not any(words in reason for words in EXPECTED_SKIPS))
    if unexpected and reporter:
        reporter.write_line(f"unexpected skips: {'; '.join(unexpected)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
