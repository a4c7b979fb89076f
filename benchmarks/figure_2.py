"""Figure 2 in all: from the start of a process that has compiled before to the SVG, as the command makes it."""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.blocks import Tell, spread
from benchmarks.figures import Figure, Target

PROCESSES = 7

SCRIPT = """
import time
start = time.perf_counter()
from presage.charts.artist import Artist
from presage.experiments.synthetic.figure import blank_rows, figure_2, mix_rows
from presage.experiments.synthetic.settings import PAPER
with Artist() as artist:
    artist.rehearse(figure_2, PAPER.trials, blank_rows(PAPER))
    from presage.drivers.compile_time import start_numba_without_blas
    start_numba_without_blas()
    from presage.experiments.synthetic.problem import regret_by_mix
    rows = mix_rows(*regret_by_mix(PAPER, lambda episodes: None))
    drawn = artist.draw(figure_2, PAPER.trials, rows)
    print(time.perf_counter() - start)
assert drawn.startswith("<svg")
"""


def figures(tell: Tell) -> Iterator[Figure]:
    """Seconds in all, the second time and later."""
    took = []
    for number in range(PROCESSES + 1):
        tell(f"figure 2: process {number} of {PROCESSES}")
        done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
        took.append(float(done.stdout))
    yield Figure("Figure 2 in all, compiled before", spread(took[1:]), "s", target=Target(5.0, at_most=True))
