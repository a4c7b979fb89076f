"""Snapshots of what was learnt: a cache. Without them the log is folded from its beginning."""

import hashlib
import json
import platform
import shutil
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.numpy

from presage.drivers.core import core_for, digest
from presage.files import write_together
from presage.forecasters.contract import Forecaster
from presage.forecasters.state_files import describe, difference
from presage.joining.join import Horizons
from presage.journal.interface import LogStore
from presage.journal.readers import read_lessons
from presage.service.learner.folding import LogFold
from presage.service.learner.shared_parameters import not_finite

MANIFEST, TENSORS = "manifest.json", "learnt.safetensors"
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


def keep_snapshot(pupil: LogFold, folder: Path, chain: str) -> None:
    """Write what was learnt at the position of the last batch; `chain` is the log's hash there."""
    tensors = safetensors.numpy.save({name: np.array(part) for name, part in pupil.learning.tensors().items()})
    manifest = {
        "seq": pupil.learnt,
        "chain": chain,
        "predictions": pupil.learning.predictions,
        "forecaster": describe(pupil.engine.forecaster),
        "fingerprint": fingerprint(),
    }
    manifest["sha256"] = _checksum(manifest, tensors)
    place = folder / f"{pupil.learnt:016d}"
    write_together(place, {TENSORS: tensors, MANIFEST: json.dumps(manifest, indent=1).encode()}, private=True)
    for old in sorted(folder.iterdir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def restore_snapshot(pupil: LogFold, folder: Path, chains: dict[str, str]) -> None:
    """Go on from the last snapshot that is whole, of this forecaster and fingerprint, and of this log.

    `chains` gives the log's hash at each position that a snapshot is for.
    """
    for place in sorted(folder.glob("*"), reverse=True):
        manifest, tensors = _read(place)
        if tensors is None or manifest.get("fingerprint") != fingerprint():
            continue
        if difference(pupil.engine.forecaster, manifest.get("forecaster")):
            continue
        if chains.get(str(manifest["seq"])) == manifest["chain"]:
            pupil.learning.restore(tensors, manifest["predictions"])
            if not_finite(pupil.learning.parameters()):  # of a version that a number could poison
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
        if manifest.pop("sha256") != _checksum(manifest, data):
            return {}, None
        return manifest, safetensors.numpy.load(data)
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
    kept = {seq for seq in (positions(snapshots) if snapshots.exists() else []) if seq <= store.head.seq}
    compared: dict[str, bool] = {}
    for lessons, boundary in read_lessons(store, horizons):
        pupil.take(lessons)
        if boundary is None:
            continue
        pupil.learn(boundary.seq, boundary.predictions)
        progress(boundary.seq - last)
        last = boundary.seq
        if boundary.seq in kept:
            other = LogFold(engine)
            restore_snapshot(other, snapshots, {str(boundary.seq): boundary.chain.hex()})
            if other.learnt == boundary.seq:
                compared[str(boundary.seq)] = digest(other.learning) == digest(pupil.learning)
    progress(store.head.seq - last)
    return Folded(digest(pupil.learning), pupil.learnt, pupil.learning.predictions, compared)
