"""What every experiment gives back, and how it is kept."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

from presage.charts.pictures import Picture
from presage.experiments.claims import Claim


class Seconds(NamedTuple):
    """How long an experiment took, compilation apart."""

    compile: float
    run: float


@dataclass(frozen=True)
class Report:
    """The results of an experiment with what they came from."""

    experiment: str
    settings: Any  # a frozen dataclass
    seconds: Seconds
    results: dict[str, Any]
    claims: Sequence[Claim]

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values: experiment, settings, seconds, results and claims."""
        plain = {
            "experiment": self.experiment,
            "settings": asdict(self.settings),
            "seconds": {name: round(value, 3) for name, value in self.seconds._asdict().items()},
            "results": self.results,
            "claims": [claim._asdict() for claim in self.claims],
        }
        return dict(json.loads(json.dumps(plain)))

    @property
    def all_hold(self) -> bool:
        """Whether every claim holds."""
        return all(claim.holds for claim in self.claims)


def kept_files(report: Report, pictures: dict[str, Picture], tables: dict[str, str]) -> dict[str, bytes]:
    """The files that keep a report: results with settings, seed and version, pictures in both forms, and tables."""
    kept = report.as_json() | {"version": version("presage")}
    files = {"results.json": json.dumps(kept, indent=1).encode()}
    for name, drawn in pictures.items():
        files |= {f"{name}.svg": drawn.svg, f"{name}.png": drawn.png}
    return files | {name: table.encode() for name, table in tables.items()}
