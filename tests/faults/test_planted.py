"""Planted bugs: the checks that pass elsewhere fail as soon as the code is wrong."""

from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from presage.errors import PresageError
from tests.faults.checker import violations
from tests.faults.planted import PATCHES, bug
from tests.faults.processes import module, run_for_json
from tests.faults.script import HORIZONS, asked
from tests.faults.test_power import CONTROLS, killed_resent_cut
from tests.faults.test_rot import UNNOTICED, tried
from tests.faults.tracing import killed_before
from tests.journal.test_log import (
    DurableJoinMachine,
    test_a_log_of_which_an_older_part_was_rewritten_is_refused_by_reading_it,
)

BY_THE_MACHINE = (
    "ids forgotten after a while",
    "parked feedback lost",
    "the last value wins",
    "a resend appended",
    "late feedback trained",
    "late only if somebody looked",
    "absences without entries",
    "expiry by the wall clock",
    "time goes back",
    "lessons learnt again after opening",
    "pairs missed",
    "learning that nobody used",
    "bins not counted",
)
BY_KILLS = ("answers before the commit", "the marker before the commit", "two transactions")
BY_LOAD = ("answers before the commit, in the writer",)
BY_KILL_AND_CUT = ("what is found not synced",)
BY_ROT = {"the marker overlooked": "the write-ahead log"}
"""Which file is to be damaged."""
BY_FORGERY = ("bodies outside the chain",)


def test_every_planted_bug_is_looked_for() -> None:
    looked_for = (*BY_THE_MACHINE, *BY_KILLS, *BY_LOAD, *CONTROLS, *BY_KILL_AND_CUT, *BY_ROT, *BY_FORGERY)
    assert sorted(looked_for) == sorted(PATCHES)


@pytest.mark.long
@pytest.mark.parametrize("name", BY_THE_MACHINE)
def test_the_state_machine_catches(name: str, quick_folder: Path) -> None:
    DurableJoinMachine.folder = quick_folder / "log"
    quickly = settings(
        max_examples=300,
        stateful_step_count=50,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        derandomize=True,
    )
    with bug(name), pytest.raises((AssertionError, PresageError)):
        run_state_machine_as_test(DurableJoinMachine, settings=quickly)


@pytest.mark.long
@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("name", BY_KILLS)
def test_kills_at_chosen_places_catch(name: str, quick_folder: Path) -> None:
    found = []
    for point in (("pwrite64", 100), ("pwrite64", 101), *(("fdatasync", 20 + number) for number in range(4))):
        folder = quick_folder / str(point)
        output = killed_before(point, module("tests.faults.script", folder, name))
        found += violations(folder, asked(output), HORIZONS)
    assert found


@pytest.mark.long
@pytest.mark.parametrize("name", BY_LOAD)
def test_kills_under_load_catch(name: str, tmp_path: Path) -> None:
    found = run_for_json(module("tests.faults.load", tmp_path, "--rounds", 60, "--bug", name))
    assert found["violations"]


@pytest.mark.long
@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("name", BY_KILL_AND_CUT)
def test_power_cuts_after_kills_catch(name: str, file_system: str, tmp_path: Path) -> None:
    with bug(name):
        assert any(killed_resent_cut(file_system, tmp_path, sync) for sync in range(21, 27))


@pytest.mark.long
@pytest.mark.parametrize("name", BY_ROT)
def test_rot_catches(name: str, quick_folder: Path) -> None:
    with bug(name):
        assert tried(BY_ROT[name], quick_folder, 100)[UNNOTICED]


@pytest.mark.parametrize("name", BY_FORGERY)
def test_a_forged_entry_catches(name: str, tmp_path: Path) -> None:
    with bug(name), pytest.raises(pytest.fail.Exception):
        test_a_log_of_which_an_older_part_was_rewritten_is_refused_by_reading_it(tmp_path)
