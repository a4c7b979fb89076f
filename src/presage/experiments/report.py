"""What every experiment gives back, and how it is kept."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

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
    parts: Sequence[dict[str, Any]] = ()  # what was played in parts, to be forgotten once the report is kept

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
