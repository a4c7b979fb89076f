"""Numba started without linear algebra."""

import subprocess
import sys

SCRIPT = """
import sys
from presage.drivers.compile_time import start_numba_without_blas
start_numba_without_blas()
from presage import Delays, Episode, Spaces, factored_table
from presage.drivers.counting.episodes import count_experts
episode = Episode.fixed([[0, 0, 0]], [[0, 0, 0]], [[1, 1, 1]], Delays(proxy=0, outcome=1))
print(round(float(count_experts(factored_table(Spaces(1, 2, 2)), episode).own[0, 2]), 3), "scipy.linalg" in sys.modules)
import scipy.linalg
"""


def test_loops_run_without_linear_algebra_and_scipy_can_be_imported_later() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.47", "False"]
