"""The report of an experiment: its claims, the files that keep it, and the time it took."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from presage.charts.pictures import Picture
from presage.drivers.compile_time import compiling_seconds
from presage.experiments.claims import Claim, Verdict
from presage.metrics.intervals import mean_intervals
from presage.spaces import Array


class Seconds(NamedTuple):
    """How long something took, compilation apart."""

    compile: float
    run: float


class Stopwatch:
    """Starts when it is made; what JAX and numba report as tracing and compiling counts as compilation."""

    def __init__(self) -> None:
        self._started, self._compiled = time.perf_counter(), compiling_seconds()

    def seconds(self) -> Seconds:
        """The seconds so far."""
        total = time.perf_counter() - self._started
        compiling = min(compiling_seconds() - self._compiled, total)
        return Seconds(compiling, total - compiling)


def curve_table(along: str, at: Array, curves: dict[str, Array]) -> str:
    """One row a point and curve, with the mean over trials [trials, points] and its 95 % interval."""
    lines = [f"{along},forecaster,mean,low,high"]
    for name, values in curves.items():
        for point, *numbers in zip(at, *mean_intervals(values), strict=True):
            lines.append(f"{point:.5g},{name},{','.join(f'{number:.6g}' for number in numbers)}")
    return "\n".join(lines) + "\n"


def binned(losses: Array, size: int) -> Array:  # [R, T // size]
    """The mean loss of every `size` rounds; a last short bin is left out.

    >>> binned(np.array([[1.0, 3.0, 5.0, 7.0, 9.0]]), 2).tolist()
    [[2.0, 6.0]]
    """
    bins = losses.shape[1] // size
    return losses[:, : bins * size].reshape(len(losses), bins, size).mean(axis=-1).astype(np.float32)


@dataclass(frozen=True)
class Report:
    """The results of an experiment with what they came from; `claims` are judged on the trials of all seeds."""

    experiment: str
    settings: Any  # a frozen dataclass, of the first seed
    seconds: Seconds
    results: dict[str, Any]
    claims: Sequence[Claim]
    parts: Sequence[dict[str, Any]] = ()  # what was played in parts, to be forgotten once the report is kept
    by_seed: Mapping[int, Sequence[Claim]] = field(default_factory=dict)  # the same claims, on each seed alone

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values: experiment, settings, seeds, seconds, results, and claims, pooled and by seed."""
        plain = {
            "experiment": self.experiment,
            "settings": asdict(self.settings),
            "seeds": list(self.by_seed) or [self.settings.seed],
            "seconds": {name: round(value, 3) for name, value in self.seconds._asdict().items()},
            "results": self.results,
            "claims": [claim.as_json() for claim in self.claims],
            "claims_by_seed": {seed: [claim.as_json() for claim in claims] for seed, claims in self.by_seed.items()},
        }
        return dict(json.loads(json.dumps(plain)))

    @property
    def fails(self) -> bool:
        """Whether some claim fails on the trials of all seeds together."""
        return any(claim.verdict is Verdict.FAILS for claim in self.claims)


def kept_files(report: Report, pictures: dict[str, Picture], tables: dict[str, str]) -> dict[str, bytes]:
    """The files that keep a report: results with settings, seed and version, pictures in both forms, and tables."""
    kept = report.as_json() | {"version": version("presage")}
    files = {"results.json": json.dumps(kept, indent=1).encode()}
    for name, drawn in pictures.items():
        files |= {f"{name}.svg": drawn.svg, f"{name}.png": drawn.png}
    return files | {name: table.encode() for name, table in tables.items()}
