"""A folder of format 2 opens, verifies, exports and folds as it did; and its page is enough to read it."""

import hashlib
import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack

from presage.errors import OtherFormatError
from presage.journal.sqlite import FILE, SqliteLog
from presage.journal.verify import verify_chain
from presage.service.folders import task_digest
from tests.cli.typed import Presage
from tests.journal.test_verify import forged

WRITTEN = Path(__file__).parent.parent / "fixtures" / "format-2"
SAID = json.loads((WRITTEN / "said.json").read_text())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder."""
    return Path(shutil.copytree(WRITTEN / "residual-table", tmp_path / "data"))


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys, "log")


def test_it_verifies_exports_and_folds_as_it_did(folder: Path, tmp_path: Path, presage: Presage) -> None:
    def said(*words: object) -> Any:
        done = presage(*words, "--data", folder, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    bins = {"open": 3, "parked": 0, "trained": 382, "absent": 392, "late": 0, "quarantined": 0}
    assert said("verify") == {"entries": 791, "ids": 260, "chain": SAID["chain"], "bins": bins}
    assert said("verify", "--chain-only") == {"entries": 791, "chain": SAID["chain"]}
    exported = said("export", "--out", tmp_path / "log.parquet")
    assert exported == {"rows": 260, "scored": 257, "loss": pytest.approx(SAID["loss"], abs=1e-12)}
    folded = said("replay")
    assert (folded["state"], folded["position"], folded["predictions"]) == (SAID["state"], 694, 260)


def digest(*parts: bytes, size: int = 32, person: bytes = b"") -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=size, person=person).digest()


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little", signed=value < 0)


class Reader:
    """A reader written from docs/log-format.md alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = sqlite3.connect(f"file:{folder / FILE}?immutable=1", uri=True)
        self.entries = self.db.execute(
            "SELECT seq, at, kind, version, envelope, id, body, seal FROM log ORDER BY seq"
        ).fetchall()

    def chain(self) -> dict[int, bytes]:
        """The hash at the end of each commit, checked against the seals."""
        task = digest((self.folder / "task.toml").read_bytes())
        found, commit = {0: digest(task, person=b"presage log 2")}, list[tuple[Any, ...]]()
        before = found[0]
        for entry in self.entries:
            commit.append(entry)
            seal = entry[-1]
            if seal is None:
                continue
            salts = hashlib.shake_128(seal[32:48]).digest(32 * len(commit))
            parts = [before, number(commit[0][0], 8), number(len(commit), 4)]
            for place, (_, at, kind, version, envelope, id, body, _) in enumerate(commit):
                salt, named = salts[32 * place : 32 * place + 32], id.encode()
                parts += [number(at, 8), number(kind, 2), number(version, 2), number(len(envelope), 4), envelope]
                parts.append(digest(salt, number(len(named), 2), named, body))
            before = digest(*parts)
            assert seal == before + seal[32:48]
            found[entry[0]] = before
            commit = []
        assert not commit
        return found

    def marked(self, name: str) -> tuple[int, bytes]:
        """The position and the hash in a file of slots."""
        content, found = (self.folder / name).read_bytes(), []
        for place in range(0, len(content), 64):
            slot = content[place : place + 64]
            assert slot[:8] == b"presage1"
            assert slot[48:] == digest(slot[8:48], size=16, person=b"presage head")
            found.append((int.from_bytes(slot[8:16], "little"), slot[16:48]))
        return max(found)


def test_its_page_is_enough_to_read_it(folder: Path) -> None:
    reader = Reader(folder)
    assert reader.db.execute("SELECT * FROM about").fetchall() == [(2, digest((folder / "task.toml").read_bytes()), 1)]
    chain = reader.chain()
    assert [entry[0] for entry in reader.entries] == list(range(1, 792))
    assert chain[791].hex() == SAID["chain"]
    assert reader.marked("head") == reader.marked("epoch") == (791, chain[791])
    kinds, learns, open_predictions = Counter[int](), {0}, set()
    for seq, _, kind, version, envelope, id, body, _ in reader.entries:
        kinds[kind] += 1
        assert version == 1
        if kind == 1:
            (model,), (features, symbols, dense, answer, memo) = msgpack.decode(envelope), msgpack.decode(body)
            assert model in learns
            assert json.loads(features)
            assert (len(symbols) % 4, len(answer), dense, memo) == (0, 8, b"", b"")
            open_predictions.add(id)
        elif kind <= 5:
            assert (envelope, id in open_predictions) == (b"", True)
            assert len(msgpack.decode(body)) == 1
        else:
            assert (id, body) == ("", b"")
        if kind == 6:
            learns.add(seq)
            assert len(msgpack.decode(envelope)) == 2
            assert seq in chain, "it ends its commit"
    assert dict(kinds) == {1: 260, 2: kinds[2], 3: kinds[3], 4: kinds[4], 5: kinds[5], 6: 12, 7: 1, 8: 1}
    firsts = {kind: min(entry[0] for entry in reader.entries if entry[2] == kind) for kind in kinds}
    assert dict(reader.db.execute("SELECT kind, first FROM kinds")) == firsts
    position, sha256 = msgpack.decode(next(entry[4] for entry in reader.entries if entry[2] == 7))
    place = folder / "snapshots" / f"{position:016d}"
    manifest = json.loads((place / "manifest.json").read_text())
    said = manifest.pop("sha256")
    plain = json.dumps(manifest, sort_keys=True).encode() + (place / "learnt.safetensors").read_bytes()
    assert said == hashlib.sha256(plain).hexdigest() == sha256.hex()
    assert (manifest["seq"], manifest["chain"]) == (position, chain[position].hex())
    assert reader.entries[0][2] == 8
    assert msgpack.decode(reader.entries[0][4])[1::2] == [790, 790]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("INSERT INTO kinds VALUES (9, 1, 700)", "kind 9, version 1, since entry 700"),
        ("INSERT INTO kinds VALUES (2, 2, 650)", "kind 2, version 2, since entry 650"),
        ("UPDATE about SET derived = 2", "2"),
    ],
)
def test_a_log_with_what_this_version_does_not_know_is_not_written_but_its_chain_can_be_checked(
    folder: Path, presage: Presage, change: str, found: str
) -> None:
    forged(folder, change)
    before = (folder / FILE).read_bytes()
    with pytest.raises(OtherFormatError, match=found):
        SqliteLog(folder, task_digest(folder))
    for command in ("verify", "replay"):
        done = presage(command, "--data", folder)
        assert done.code == 2
        assert f"found {found!r}" in done.err or f"found {found}" in done.err
        assert "use a newer version of Presage" in done.err
    assert presage("verify", "--chain-only", "--data", folder).code == 0
    assert (folder / FILE).read_bytes() == before
    log = SqliteLog(folder, task_digest(folder), only_chain=True)
    assert verify_chain(log).chain.hex() == SAID["chain"]
    log.close()


def test_a_newer_format_is_refused(folder: Path) -> None:
    forged(folder, "UPDATE about SET format = 3")
    with pytest.raises(OtherFormatError, match="a format that this version does not know: found 3"):
        SqliteLog(folder, task_digest(folder), only_chain=True)
