"""Bits that flip and files that are cut short: found, or without consequence; never a shorter history."""

import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest

from presage.errors import LogDamagedError
from presage.joining.counters import Counters
from presage.joining.join import Known
from presage.journal import head_marker as head
from presage.journal.appender import Appender
from presage.journal.interface import Head
from presage.journal.sqlite import FILE, SqliteLog
from presage.journal.verify import verify_log
from tests.faults.counts import COUNTS
from tests.faults.ledger import event_of
from tests.faults.script import HORIZONS, course
from tests.journal.events import TASK

FILES = {"the file": FILE, "the write-ahead log": f"{FILE}-wal", "the head marker": head.NAME}
STOPPED = "the file"
"""What is damaged in a log that was stopped in order; in one that was killed, most of it is in the write-ahead log."""

Whole = tuple[Head, Counters, dict[str, Known]]


def written(folder: Path, kept: Path, *, stopped: bool) -> Whole:
    """What is in a log, which is copied to `kept` as it was stopped, or as a kill would leave it."""
    log, groups = SqliteLog(folder, TASK), course()
    for number, group in enumerate(groups):
        appender = Appender(log, HORIZONS, partial(int, number + 1), lambda *_: None)
        appender.append([event_of(wire) for wire in group])
        if number == len(groups) // 2:
            log.close()
            log = SqliteLog(folder, TASK)
    whole = everything(log)
    if not stopped:
        shutil.copytree(folder, kept)
    log.close()
    if stopped:
        shutil.copytree(folder, kept)
    return whole


def everything(log: SqliteLog) -> Whole:
    return log.head, log.counters, log.find({wire[1] for group in course() for wire in group})


def damage(path: Path, random: Random) -> None:
    """Flip a bit of a file, overwrite some of it with zeros, or cut it short."""
    before = path.read_bytes()
    content = bytearray(before)
    how = random.choice(("flip", "flip", "zeros", "cut"))
    place = random.randrange(len(content))
    if how == "flip" or not before[place]:  # zeros over zeros would do nothing
        content[place] ^= 1 << random.randrange(8)
    elif how == "zeros":
        start = place // 512 * 512
        content[start : start + 512] = bytes(len(content[start : start + 512]))
    else:
        del content[place:]
    path.write_bytes(content)


UNNOTICED = "not noticed"


def tried(kind: str, place: Path, times: int) -> Counter[str]:
    """How often damage to a kind of file ended how."""
    whole = written(place / "log", place / "kept", stopped=kind == STOPPED)
    random, ends, folder = Random(11), Counter[str](), place / "damaged"
    for _ in range(times):
        shutil.copytree(place / "kept", folder)
        damage(folder / FILES[kind], random)
        ends[opened(folder, whole)] += 1
        shutil.rmtree(folder)
    return ends


@pytest.mark.long
@pytest.mark.parametrize("kind", FILES)
def test_rot_is_found_or_without_consequence(
    kind: str, quick_folder: Path, record_property: Callable[[str, object], None]
) -> None:
    ends = tried(kind, quick_folder, COUNTS.flips)
    record_property(f"rot of {kind}", dict(ends))
    assert ends[UNNOTICED] == 0
    assert ends["found on opening"] > 0


def opened(folder: Path, whole: Whole) -> str:
    """How the damage ends; any other error than that of damage is a failure of the test."""
    try:
        log = SqliteLog(folder, TASK)
    except LogDamagedError:
        return "found on opening"
    try:
        verify_log(log, HORIZONS)
    except LogDamagedError:
        return "found by verifying"
    else:
        return "without consequence" if everything(log) == whole else UNNOTICED
    finally:
        with suppress(LogDamagedError):
            log.close()
