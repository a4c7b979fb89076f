"""How each experiment is run from the command line; a module each, imported when it is asked for."""

import dataclasses
from pathlib import Path
from typing import Any

from presage.cli.output import changed
from presage.experiments.report import Report

Result = tuple[Report, dict[str, bytes]]
"""A report, and the files that keep it."""


@dataclasses.dataclass(frozen=True)
class ReproduceRequest:
    """The options given on the command line."""

    trials: int
    seeds: tuple[int, ...]
    data: Path | None
    settings: str | None  # paper or tuned; the experiment's default if None
    changes: tuple[str, ...]

    def of(self, paper: Any, tuned: Any, default: Any) -> Any:
        """The settings of an experiment, with the changes that do not concern its world."""
        chosen = {"paper": paper, "tuned": tuned, None: default}[self.settings]
        own = tuple(change for change in self.changes if not change.startswith("world."))
        return changed(dataclasses.replace(chosen, trials=self.trials, seed=self.seeds[0]), own)

    @property
    def world(self) -> tuple[str, ...]:
        """The changes that concern the embedded world."""
        return tuple(change.removeprefix("world.") for change in self.changes if change.startswith("world."))
