"""System calls counted, and made to kill or fail, by strace."""

import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

from tests.faults.processes import module, run

CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "rename")
"""What writes, syncs or names."""

STRACE = ["strace", "-qq", "-e", "signal=none"]  # with --seccomp-bpf a call is made before its kill


@cache
def cannot_trace() -> str:
    """Why system calls cannot be tampered with here; empty if they can be."""
    if not shutil.which("strace"):
        return "strace is not on this machine"
    command = [*STRACE, "-o", "/dev/null", "-e", "trace=write", "-e", "inject=write:signal=KILL:when=1", "echo", "."]
    killed = subprocess.run(command, capture_output=True, check=False).returncode in (137, -9)
    return "" if killed else "strace may not trace here"


Point = tuple[str, int]
"""A system call, and the how-manieth of its kind."""


def points(folder: Path, most: int) -> list[Point]:
    """Places all over the course of events: every call of the rare kinds, and evenly chosen ones of the others."""
    trace = folder.with_suffix(".trace")
    assert run(module("tests.faults.script", folder.with_suffix(".first"))).returncode == 0  # which writes bytecode
    command = [*STRACE, "-o", str(trace), "-e", f"trace={','.join(CALLS)}", *module("tests.faults.script", folder)]
    assert run(command).returncode == 0
    calls = Counter(re.findall(r"^(\w+)\(", trace.read_text(), re.MULTILINE))
    every = sorted((call, number + 1) for call, count in calls.items() for number in range(count))
    step = max(1.0, len(every) / most)
    return [every[int(place * step)] for place in range(min(most, len(every)))]


def syncs_of_names(folder: Path) -> set[Point]:
    """The syncs of the folder itself that SQLite makes: it overlooks their errors, and so we sync it before."""
    trace = folder.with_suffix(".trace")
    command = [*STRACE, "-y", "-o", str(trace), "-e", "trace=fdatasync", *module("tests.faults.script", folder)]
    assert run(command).returncode == 0
    paths = re.findall(r"^fdatasync\(\d+<(.*?)>\)", trace.read_text(), re.MULTILINE)
    return {("fdatasync", number) for number, path in enumerate(paths, 1) if Path(path) == folder}


def killed_before(point: Point, command: list[str]) -> str:
    """What a command printed before it was killed on the threshold of a system call."""
    call, count = point
    done = run(_injected(call, f"signal=KILL:when={count}", command))
    assert done.returncode in (137, -9), done.stderr
    return done.stdout


def failing_at(point: Point, error: str, command: list[str]) -> subprocess.CompletedProcess[str]:
    """What a command did of which one system call failed."""
    call, count = point
    return run(_injected(call, f"error={error}:when={count}", command))


def _injected(call: str, what: str, command: list[str]) -> list[str]:
    return [*STRACE, "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{what}", *command]
