"""Processes that are started by the tests of faults, without what pytest and JAX bring along."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PYTHON = [sys.executable]


def module(name: str, *arguments: object) -> list[str]:
    """The command that runs a module of the tests."""
    return [sys.executable, "-m", name, *map(str, arguments)]


def run(command: list[str], seconds: float = 600) -> subprocess.CompletedProcess[str]:
    """What a command did, at the root of the repository."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "COVERAGE_PROCESS_START": ""}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )


def run_for_json(command: list[str], seconds: float = 3600) -> Any:
    """What a command printed."""
    done = run(command, seconds)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
