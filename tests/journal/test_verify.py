"""Verification: whatever is changed in a log or beside it, by whatever means, is found."""

import shutil
from pathlib import Path

import apsw
import pytest

from presage.errors import LogDamagedError
from presage.joining.join import Horizons
from presage.joining.lessons import Boundary, Lesson
from presage.journal import sqlite
from presage.journal.appender import Appender
from presage.journal.sqlite import FILE, SqliteLog
from presage.journal.verify import verify
from tests.journal.events import TASK, outcome, prediction, proxy

HORIZONS = Horizons(proxy=10, outcome=100, absent_proxy=0, absent_outcome=-1)


LENGTH = 60


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a log with everything in it: parked, trained, absent and late, and batches learnt."""

    def feed(_: list[Lesson], boundary: Boundary | None) -> None:
        if boundary:
            appender.model_position = boundary.seq

    folder = tmp_path_factory.mktemp("written")
    log = SqliteLog(folder, TASK)
    appender = Appender(log, HORIZONS, lambda: 1, feed)
    for number in range(LENGTH):
        at = 1 + 3 * number
        make, lag = ((proxy, 2), (proxy, 7), (outcome, 3))[number % 3]  # in time, late, in time
        appender.append(
            [prediction(str(number), number, at, appender.model_position), outcome(f"parked {number}", at=at)]
        )
        appender.append([make(str(number - lag), 2, at)])
    decided = appender.settle(log.head.at, 10)
    appender.commit(decided)
    appender.hand_on(decided)
    log.close()
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, of which opening alone does not see all."""
    monkeypatch.setattr(sqlite, "CHECKED", 10)
    return Path(shutil.copytree(written, tmp_path / "log"))


def forged(folder: Path, change: str) -> None:
    forger = apsw.Connection(str(folder / FILE), vfs="cksmvfs")
    forger.execute(change)
    forger.close()


def test_a_whole_log_is_verified_and_counted(folder: Path) -> None:
    verified = verify(folder, TASK, HORIZONS)
    bins = verified.counters.bins
    assert all((bins.open, bins.parked, bins.trained, bins.absent, bins.late))
    assert verified.counters.learns > 10
    assert verify(folder, TASK, HORIZONS) == verified


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE log SET body = x'9100' WHERE seq = (SELECT min(seq) FROM log WHERE body = x'9101')",
        "UPDATE log SET at = at + 1 WHERE seq = 5",
        "UPDATE log SET id = 'x' WHERE seq = 5",
        "DELETE FROM log WHERE seq = 5",
        "UPDATE log SET chain = x'00' WHERE seq = (SELECT min(seq) FROM log WHERE chain IS NOT NULL)",
        "UPDATE known SET proxy = 1 - proxy WHERE first = 1",
        "UPDATE known SET proxy_bin = 2 WHERE first = (SELECT max(first) FROM known WHERE proxy_bin = 0)",
        "UPDATE known SET predicted_at = predicted_at + 1 WHERE first = 1",
        "UPDATE known SET features = x'00' WHERE first = 1",
        "UPDATE known SET proxy_seq = 0 WHERE first = (SELECT min(first) FROM known WHERE proxy_seq > 0)",
        "DELETE FROM known WHERE first = 1",
        "DELETE FROM ids WHERE id = '3'",
        "UPDATE ids SET first = 1 WHERE id = '3'",
        "INSERT INTO ids VALUES ('nobody', 1)",
        "INSERT INTO known SELECT 100000, predicted, predicted_at, features, proxy, proxy_bin, proxy_entry, proxy_seq, "
        "outcome, outcome_bin, outcome_entry, outcome_seq FROM known WHERE first = 1",
        "UPDATE counters SET open = open + 1, parked = parked - 1",
        "UPDATE counters SET used = used + 1",
        "UPDATE counters SET learnt_proxies = learnt_proxies - 1",
        "UPDATE counters SET outcomes = outcomes + 1",
    ],
)
def test_any_change_is_found(folder: Path, change: str) -> None:
    forged(folder, change)
    with pytest.raises(LogDamagedError):
        verify(folder, TASK, HORIZONS)


def test_other_rules_than_those_it_was_written_by_are_found(folder: Path) -> None:
    for horizons in (HORIZONS._replace(proxy=5), HORIZONS._replace(absent_proxy=-1)):
        with pytest.raises(LogDamagedError):
            verify(folder, TASK, horizons)


def test_verifying_reads_but_does_not_change(folder: Path) -> None:
    before = (folder / FILE).read_bytes()
    verify(folder, TASK, HORIZONS)
    assert (folder / FILE).read_bytes() == before
