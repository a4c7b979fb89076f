"""What every experiment gives back, and how it is kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from presage.charts.pictures import Picture
from presage.experiments.claims import Claim, Verdict
from presage.experiments.stopwatch import Seconds


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
