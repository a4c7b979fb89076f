"""Snapshots of what was learnt: a cache. Without them the log is folded from its beginning."""

import hashlib
import json
import platform
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.numpy

from presage.drivers.core import Core, NetworkCore, core_for, digest
from presage.drivers.lessons import Lessons
from presage.files import write_together
from presage.forecasters.contract import Forecaster
from presage.forecasters.state_files import describe, difference
from presage.joining.entries import OLDEST_FORMAT, EntryKind, SnapshotNote, snapshot_in
from presage.joining.join import Horizons
from presage.journal.appender import Appender
from presage.journal.interface import LogStore
from presage.journal.readers import read_lessons
from presage.service.learner.folding import LogFold
from presage.service.learner.shared_parameters import not_finite
from presage.spaces import Instance

MANIFEST, TENSORS = "manifest.json", "learnt.safetensors"
FIXED_ROWS = 32
"""How many rows a test vector is of."""

KEPT = 2
"""How many snapshots are kept: the last, and one before it."""


def fingerprint() -> dict[str, str]:
    """What the bits of a fold depend on beside the log."""
    from numba.core import codegen  # noqa: PLC0415 takes half a second

    processor: Callable[[], object] = codegen.get_host_cpu_features
    versions = {name: version(name) for name in ("numpy", "numba")}
    for name in ("jax", "jaxlib"):
        with suppress(PackageNotFoundError):  # networks alone need them
            versions[name] = version(name)
    return versions | {"machine": platform.machine(), "processor": str(processor())}


@cache
def _arithmetic(engine: Any) -> bytes:
    """What an empty learner makes of a few fixed lessons: all of its arithmetic, once per process."""
    learning, x = engine.learner(), _fixed_rows(engine)
    said = engine.predict(learning.parameters(), x)
    spaces, rows = engine.forecaster.spaces, np.arange(FIXED_ROWS, dtype=np.int32)
    lessons = Lessons(x, rows % spaces.proxies, rows % spaces.outcomes, said.memo, rows.astype(np.int64))
    for _ in range(2):
        learning.learn(lessons, lessons, FIXED_ROWS)
    return digest(learning).encode()


def _fixed_rows(engine: Core) -> Instance:
    """A few instances, the same on every machine."""
    features, rows = engine.forecaster.spaces.features, np.arange(FIXED_ROWS, dtype=np.int64)[:, None]
    symbols = (7919 * rows + 31 * np.arange(features.slots)) % np.array(features.sizes, np.int64).reshape(1, -1)
    dense = ((3 * rows + np.arange(features.dense)) % 17 - 8) / 8
    return Instance(symbols.astype(np.int32), dense.astype(np.float32))


def vector_of(pupil: LogFold) -> str | None:
    """A hash of what some learnt parameters say of a few fixed rows, and of what learning makes of them.

    Machines that agree on it are taken to agree on everything. None for networks, whose arithmetic is not so plain.
    """
    parameters = pupil.learning.parameters()
    engine: Any = pupil.engine
    if isinstance(engine, NetworkCore):
        return None
    x = _fixed_rows(engine)
    said = engine.predict(parameters, x)
    z = np.arange(FIXED_ROWS, dtype=np.int32) % engine.forecaster.spaces.proxies
    told = engine.nowcast(parameters, x, z)
    parts = (np.ascontiguousarray(part).tobytes() for part in (said.log_probabilities, said.memo, told))
    return hashlib.sha256(b"".join((*parts, _arithmetic(engine)))).hexdigest()


def chains_of(store: LogStore, folder: Path) -> dict[str, str]:
    """What the log says of each snapshot in a folder, by position: the hash of the log there.

    From format 2 on the hash of the snapshot follows, or `?` if no entry names it.
    """
    noted = {str(note.position): note.sha256.hex() for note in map(snapshot_in, store.notes(EntryKind.SNAPSHOT))}
    found = {}
    for seq in positions(folder):
        if 0 < seq <= store.head.seq and (chain := store.chain_at(seq)):
            named = "" if store.format == OLDEST_FORMAT else f" {noted.get(str(seq), '?')}"
            found[str(seq)] = f"{chain.hex()}{named}"
    return found


class SnapshotNotes:
    """Names the snapshots that a service writes in its log; those that were there before are named already or wrong."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._met = set(self._there())

    def take(self, appender: Appender) -> None:
        """Add an entry for each new snapshot; called by the writer's thread."""
        for note in self._there():
            if note not in self._met:
                appender.note(EntryKind.SNAPSHOT, note)
                self._met.add(note)

    def any(self) -> bool:
        """Whether there is a new one."""
        return not self._met.issuperset(self._there())

    def _there(self) -> list[SnapshotNote]:
        found = []
        for seq in sorted(positions(self._folder)):
            with suppress(OSError, ValueError, KeyError, TypeError):  # of one that is not finished, or damaged
                manifest = json.loads((self._folder / f"{seq:016d}" / MANIFEST).read_bytes())
                found.append(SnapshotNote(seq, bytes.fromhex(manifest["sha256"])))
        return found


def keep_snapshot(pupil: LogFold, folder: Path, chain: str) -> None:
    """Write what was learnt at the position of the last batch; `chain` is the log's hash there."""
    tensors = safetensors.numpy.save({name: np.array(part) for name, part in pupil.learning.tensors().items()})
    manifest = {
        "seq": pupil.learnt,
        "chain": chain,
        "predictions": pupil.learning.predictions,
        "forecaster": describe(pupil.engine.forecaster),
        "fingerprint": fingerprint(),
        "vector": vector_of(pupil),
    }
    manifest["sha256"] = _checksum(manifest, tensors)
    place = folder / f"{pupil.learnt:016d}"
    write_together(place, {TENSORS: tensors, MANIFEST: json.dumps(manifest, indent=1).encode()}, private=True)
    for old in sorted(folder.iterdir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def restore_snapshot(
    pupil: LogFold, folder: Path, chains: dict[str, str], say: Callable[[str], None] = _say, *, ours_only: bool = False
) -> None:
    """Go on from the last snapshot that is whole, of this forecaster, of this log, and of arithmetic like ours.

    `chains` is what the log says of each snapshot, as `chains_of` gives it. A snapshot of another fingerprint will do
    if its test vector comes out the same here, unless `ours_only`.
    """
    for place in sorted(folder.glob("*"), reverse=True):
        manifest, tensors = _read(place)
        if tensors is None or difference(pupil.engine.forecaster, manifest.get("forecaster")):
            continue
        ours = manifest.get("fingerprint") == fingerprint()
        if not ours and (ours_only or not manifest.get("vector")):
            continue
        chain, _, named = chains.get(str(manifest["seq"]), "").partition(" ")
        if chain != manifest["chain"]:
            continue
        if named and named != manifest["sha256"]:
            say(f"The snapshot at {manifest['seq']:,} is not the one that the log names; it is ignored.")
            continue
        pupil.learning.restore(tensors, manifest["predictions"])
        # Numbers that are not finite are of a version that a number could poison.
        if not_finite(pupil.learning.parameters()) or (not ours and vector_of(pupil) != manifest["vector"]):
            pupil.learning = pupil.engine.learner()
            continue
        pupil.learnt = manifest["seq"]
        return


def positions(folder: Path) -> list[int]:
    """The log positions that there are snapshots for."""
    return [int(place.name) for place in folder.glob("*") if place.name.isdigit()]


def _read(place: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The manifest and tensors of a snapshot; none if it is damaged."""
    try:
        manifest = json.loads((place / MANIFEST).read_bytes())
        data = (place / TENSORS).read_bytes()
        said = manifest.pop("sha256")
        if said != _checksum(manifest, data):
            return {}, None
        return manifest | {"sha256": said}, safetensors.numpy.load(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, safetensors.SafetensorError):
        return {}, None


def _checksum(manifest: dict[str, Any], tensors: bytes) -> str:
    """A hash of all that a snapshot says."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode() + tensors).hexdigest()


class Folded(NamedTuple):
    """What was learned, and whether snapshots have the same."""

    state: str  # a hash of all that later learning depends on
    position: int  # of the last LEARN entry
    predictions: int  # made before it
    snapshots: dict[str, bool]  # by position, those of this log and of this machine's fingerprint


def fold_log(
    forecaster: Forecaster, store: LogStore, horizons: Horizons, snapshots: Path, progress: Callable[[int], None]
) -> Folded:
    """Fold a log from its beginning; `progress` is called with the number of further entries folded."""
    engine = core_for(forecaster)
    pupil, last = LogFold(engine), 0
    chains = chains_of(store, snapshots)
    compared: dict[str, bool] = {}
    for lessons, boundary in read_lessons(store, horizons):
        pupil.take(lessons)
        if boundary is None:
            continue
        pupil.learn(boundary.seq, boundary.predictions)
        progress(boundary.seq - last)
        last = boundary.seq
        if str(boundary.seq) in chains:
            other = LogFold(engine)
            restore_snapshot(other, snapshots, {str(boundary.seq): chains[str(boundary.seq)]}, ours_only=True)
            if other.learnt == boundary.seq:
                compared[str(boundary.seq)] = digest(other.learning) == digest(pupil.learning)
    progress(store.head.seq - last)
    return Folded(digest(pupil.learning), pupil.learnt, pupil.learning.predictions, compared)
