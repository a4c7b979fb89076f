"""The command `python -m benchmarks [NAME ...] [--json FILE]`: results to stdout, progress to stderr.

`python -m benchmarks structure [FOLDER]` counts modules instead of measuring time, `walk [FOLDER]` lists the modules
that data passes, and `rivals FILE.json ...` makes a table of backtests. `versions FOLDER` compares this version with
the one checked out there, `verify FOLDER` their verification of a log, and `log_bytes FOLDER LOG=TASK ...` what their
logs take on the disk. Of the default forecaster, `ablation [LOG=TASK ...]` tells what each part earns, `regret` how
near it is to the best single table, and `beside github|marketplace` how it does beside the paper's networks.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks import (
    ablation,
    beside,
    device,
    experiment,
    figure_2,
    http,
    install,
    instances,
    learner,
    log_bytes,
    predict,
    regret,
    river,
    scoring,
    service,
    steps,
    store,
    verify,
    versions,
    walk,
)
from benchmarks.blocks import Tell
from benchmarks.figures import HEADER, Figure
from benchmarks.rival_table import table
from benchmarks.structure import report

BENCHMARKS: dict[str, Callable[[Tell], Iterator[Figure]]] = {
    "figure-2": figure_2.figures,
    "experiment": experiment.figures,
    "steps": steps.figures,
    "predict": predict.figures,
    "learner": learner.figures,
    "instances": instances.figures,
    "river": river.figures,
    "scoring": scoring.figures,
    "device": device.figures,
    "http": http.figures,
    "store": store.figures,
    "service": service.figures,
    "install": install.figures,
}

REPORTS: dict[str, Callable[[list[str]], Iterator[str]]] = {
    "ablation": ablation.report,
    "beside": beside.report,
    "regret": regret.report,
    "walk": lambda arguments: walk.report(Path(*arguments[:1])),
}
"""Texts with arguments of their own."""

COMPARED: dict[str, Callable[[list[str], Tell], Iterator[Figure]]] = {
    "versions": versions.figures,
    "verify": verify.figures,
    "log_bytes": log_bytes.figures,
}
"""Comparisons with another version, whose folder is the first argument."""

ON_REQUEST = ("install",)
"""Those that run only when they are named."""


def main() -> None:
    """Run the benchmarks that are named, or all that need nothing else."""
    if sys.argv[1:2] == ["structure"]:
        print(report(Path(*sys.argv[2:3])))
        return
    if sys.argv[1:2] and sys.argv[1] in REPORTS:
        for line in REPORTS[sys.argv[1]](sys.argv[2:]):
            print(line, flush=True)
        return
    if sys.argv[1:2] == ["rivals"]:
        print(table([Path(file) for file in sys.argv[2:]]))
        return
    if sys.argv[1:2] and sys.argv[1] in COMPARED:
        print(HEADER)
        for figure in COMPARED[sys.argv[1]](sys.argv[2:], _tell):
            print(figure.line(), flush=True)
        return
    chosen, file = _arguments()
    started = time.perf_counter()
    found = []
    print(HEADER)
    for name in chosen:
        for figure in BENCHMARKS[name](_tell):
            print(figure.line(), flush=True)
            found.append(figure.record())
    took = time.perf_counter() - started
    _tell(f"{took:.0f} seconds in all")
    if file:
        file.write_text(json.dumps({"machine": _machine(), "seconds": took, "figures": found}, indent=2) + "\n")


def _arguments() -> tuple[list[str], Path | None]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios measured side by side.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"any of {', '.join(BENCHMARKS)}; all but {', '.join(ON_REQUEST)} if left out",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file, too")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; choose from {', '.join(BENCHMARKS)}")
    return given.names or [name for name in BENCHMARKS if name not in ON_REQUEST], given.json


def _machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "device": jax.devices()[0].device_kind,
    }


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
