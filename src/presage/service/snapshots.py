"""Snapshots of what was learnt: a cache. Without them the log is folded from its beginning."""

import hashlib
import json
import platform
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from presage.files import write_together
from presage.forecasters.state_files import describe, difference
from presage.later import Later
from presage.service.pupil import Pupil

codegen: Any = Later("numba.core.codegen")

MANIFEST, TENSORS = "manifest.json", "learnt.safetensors"
KEPT = 2
"""How many snapshots are kept: the last, and one before it."""


def fingerprint() -> dict[str, str]:
    """What the bits of a fold depend on beside the log."""
    versions = {name: version(name) for name in ("numpy", "numba", "jax", "jaxlib")}
    return versions | {"machine": platform.machine(), "processor": str(codegen.get_host_cpu_features())}


def keep_snapshot(pupil: Pupil, folder: Path, chain: str) -> None:
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
    write_together(place, {TENSORS: tensors, MANIFEST: json.dumps(manifest, indent=1).encode()})
    for old in sorted(folder.iterdir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def restore_snapshot(pupil: Pupil, folder: Path, chains: dict[str, str]) -> None:
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
