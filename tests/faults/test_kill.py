"""kill -9 under load, at random instants."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.counts import COUNTS
from tests.faults.processes import module, run_for_json

Record = Callable[[str, object], None]


@pytest.mark.long
@pytest.mark.parametrize("half", [0, 1])
def test_nothing_acknowledged_is_lost_by_kill_9_under_load(half: int, tmp_path: Path, record_property: Record) -> None:
    rounds = (COUNTS.kills + half) // 2
    found = run_for_json(module("tests.faults.load", tmp_path, "--rounds", rounds, "--seed", half))
    assert found["violations"] == []
    assert found["acknowledged"] > 10 * rounds, "there was hardly any load"
    record_property("kill -9 under load", f"{rounds} kills, {found['acknowledged']} events acknowledged, 0 lost")
