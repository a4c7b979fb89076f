"""Verification: whatever is changed in a log or beside it, by whatever means, is found."""

import re
import shutil
from pathlib import Path
from random import Random

import apsw
import pytest

from presage.errors import LogDamagedError
from presage.joining.counters import Bins, bins_of
from presage.joining.entries import Entry, EntryKind, SnapshotNote
from presage.joining.hash_chain import CHAIN, chain_start, seal
from presage.joining.join import Horizons, Known
from presage.joining.lessons import Boundary, Lesson
from presage.journal import sqlite
from presage.journal.appender import Appender
from presage.journal.head_marker import HeadMarker
from presage.journal.sqlite import FILE, SqliteLog
from presage.journal.verify import verify
from tests.faults.counts import COUNTS
from tests.joining.joined_again import known_from_entries
from tests.journal.events import TASK, outcome, prediction, proxy

HORIZONS = Horizons(proxy=10, outcome=100, absent_proxy=0, absent_outcome=-1)


LENGTH = 60


@pytest.fixture(scope="module", params=[1, 2])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a log with everything in it: parked, trained, absent and late, and batches learnt."""

    def feed(_: list[Lesson], boundary: Boundary | None) -> None:
        if boundary:
            appender.model_position = boundary.seq

    folder = tmp_path_factory.mktemp("written")
    log = SqliteLog(folder, TASK, format=request.param)
    appender = Appender(log, HORIZONS, lambda: 1, feed)
    for number in range(LENGTH):
        at = 1 + 3 * number
        make, lag = ((proxy, 2), (proxy, 7), (outcome, 3))[number % 3]  # in time, late, in time
        appender.append(
            [prediction(str(number), number, at, appender.model_position), outcome(f"parked {number}", at=at)]
        )
        appender.append([make(str(number - lag), 2, at)])
    appender.note(EntryKind.SNAPSHOT, SnapshotNote(log.counters.learn, bytes(32)))
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
    if next(forger.execute("SELECT format FROM about"))[0] == 2:
        change = re.sub(r"\bchain\b", "seal", change)
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


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE log SET envelope = x'9100' WHERE seq = (SELECT max(seq) FROM log WHERE kind = 1)",
        "UPDATE log SET envelope = x'' WHERE seq = (SELECT max(seq) FROM log WHERE kind = 7)",
        "UPDATE log SET version = 2 WHERE seq = 5",
        "UPDATE log SET body = NULL WHERE seq = 5",
        "UPDATE log SET seal = zeroblob(48) WHERE seq = (SELECT min(seq) FROM log WHERE seal IS NOT NULL)",
        "UPDATE counters SET notes = notes + 1, learns = learns - 1",
        "DELETE FROM kinds WHERE kind = 7",
        "UPDATE kinds SET first = first + 1 WHERE kind = 1",
        "INSERT INTO kinds VALUES (8, 1, 3)",
    ],
)
@pytest.mark.parametrize("written", [2], indirect=True)
def test_any_change_of_what_format_2_has_is_found(folder: Path, change: str) -> None:
    forged(folder, change)
    with pytest.raises(LogDamagedError):
        verify(folder, TASK, HORIZONS)


TAMPERINGS = (
    "UPDATE log SET kind = {kind} WHERE seq = {seq} AND id != '' AND kind > 1 AND {kind} > 1",
    "UPDATE log SET id = (SELECT id FROM log WHERE seq = {other}) WHERE seq = {seq} AND id != ''",
    "UPDATE log SET body = (SELECT body FROM log WHERE seq = {other}) WHERE seq = {seq} "
    "AND kind IN (2, 3, 4, 5) AND {other} IN (SELECT seq FROM log WHERE kind IN (2, 3, 4, 5))",
    "UPDATE known SET ({column}) = (SELECT {column} FROM known ORDER BY first LIMIT 1 OFFSET {place}) "
    "WHERE first = (SELECT first FROM known ORDER BY first LIMIT 1 OFFSET {row})",
    "UPDATE known SET {number} = {small} WHERE first = (SELECT first FROM known ORDER BY first LIMIT 1 OFFSET {row})",
)


def tampered(folder: Path, random: Random) -> None:
    """Change something in a log, and make its chain and its marker fit again, as only a mistake of our own could."""
    change = random.choice(TAMPERINGS).format(
        kind=random.randint(2, 5),
        seq=random.randint(1, 150),
        other=random.randint(1, 150),
        column=random.choice(("proxy, proxy_bin, proxy_entry, proxy_seq", "outcome_bin", "predicted_at", "features")),
        number=random.choice(Known._fields[1:3] + Known._fields[4:]),
        place=random.randint(0, 60),
        row=random.randint(0, 60),
        small=random.randint(-1, 6),
    )
    forged(folder, change)
    resealed(folder)


def resealed(folder: Path) -> None:
    """Make the seals and the marker fit the entries."""
    forger = apsw.Connection(str(folder / FILE), vfs="cksmvfs")
    chained = chain_start(TASK, 2)
    entries: list[Entry] = []
    rows = list(forger.execute("SELECT seq, at, kind, id, body, envelope, version, seal FROM log ORDER BY seq"))
    for *row, sealed in rows:
        entries.append(Entry(*row))
        if sealed:
            again = seal(2, chained, entries, sealed[CHAIN:])
            forger.execute("UPDATE log SET seal = ? WHERE seq = ?", (again, row[0]))
            chained, entries = again[:CHAIN], []
    forger.execute("DELETE FROM kinds; INSERT INTO kinds SELECT kind, version, min(seq) FROM log GROUP BY 1, 2")
    forger.close()
    marker = HeadMarker(folder)
    for _ in range(2):  # in both slots
        marker.write(len(rows), chained)
    (folder / "epoch").unlink()
    marker.close()


def is_as_joined_again(folder: Path) -> bool:
    """Whether every state, and the counts of bins and lessons, are what the entries give one after another."""
    log = SqliteLog(folder, TASK)
    entries, bins = [entry for entry in log.read(0, 10_000) if entry.id], [0] * len(Bins._fields)
    proxies = outcomes = 0
    try:
        for id in (ids := {entry.id for entry in entries}):
            known = known_from_entries([entry for entry in entries if entry.id == id], HORIZONS)
            if log.find([id]).get(id) != known:
                return False
            bins = [a + b for a, b in zip(bins, bins_of(known), strict=True)]
            proxies, outcomes = proxies + (known.proxy_seq > 0), outcomes + (known.outcome_seq > 0)
        if next(log.rows("SELECT count(*) FROM known"))[0] != len(ids):
            return False
        return (Bins(*bins), proxies, outcomes) == (log.counters.bins, log.counters.proxies, log.counters.outcomes)
    except LogDamagedError:
        return False
    finally:
        log.close()


@pytest.mark.long
@pytest.mark.parametrize("written", [2], indirect=True)
def test_one_pass_finds_what_joining_again_finds(written: Path, tmp_path: Path) -> None:
    """Verification never passes what joining all entries again would not have given."""
    random, wrong = Random(5), 0
    shutil.copytree(written, tmp_path / "whole")
    assert verify(tmp_path / "whole", TASK, HORIZONS).counters.notes == 1
    assert is_as_joined_again(tmp_path / "whole")
    for turn in range(COUNTS.flips):
        folder = Path(shutil.copytree(written, tmp_path / f"tampered {turn}"))
        tampered(folder, random)
        fits = is_as_joined_again(folder)
        wrong += not fits
        try:
            verify(folder, TASK, HORIZONS)
        except LogDamagedError:
            continue
        assert fits, turn
    assert wrong > COUNTS.flips / 4


def test_other_rules_than_those_it_was_written_by_are_found(folder: Path) -> None:
    for horizons in (HORIZONS._replace(proxy=5), HORIZONS._replace(absent_proxy=-1)):
        with pytest.raises(LogDamagedError):
            verify(folder, TASK, horizons)


def test_verifying_reads_but_does_not_change(folder: Path) -> None:
    before = (folder / FILE).read_bytes()
    verify(folder, TASK, HORIZONS)
    assert (folder / FILE).read_bytes() == before
