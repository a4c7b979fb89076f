"""Numba's cache: a loop is compiled again when a kernel that it calls has changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import presage

SCRIPT = """
import numpy as np
from presage import Instance, Features, Spaces, residual_table
from presage.drivers.counting.table_core import TableFunctions
tally = TableFunctions(residual_table(Spaces(Features(symbols=(3,)), proxies=2, outcomes=2)))
x = Instance(np.zeros((1, 1), np.int32), np.zeros((1, 0), np.float32))
print(float(tally.predict(tally.start(), x).log_probabilities[0, 0]))
"""


def test_a_changed_kernel_is_noticed_by_its_callers_in_other_files(tmp_path: Path) -> None:
    package = tmp_path / "presage"
    shutil.copytree(Path(presage.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def said() -> float:
        where = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        run = [sys.executable, "-c", SCRIPT]
        return float(subprocess.run(run, env=os.environ | where, capture_output=True, check=True, text=True).stdout)

    before = said()
    assert np.isclose(before, np.log(0.5))
    kernels = package / "drivers" / "counting" / "kernels.py"
    text = kernels.read_text()
    line = "said[trial, row, expert, symbol] = max(mixed[symbol], LEAST)"
    assert text.count(line) == 1
    kernels.write_text(text.replace(line, line.replace("mixed[symbol]", "0.5 * mixed[symbol]")))
    assert np.isclose(said(), np.log(0.25))
