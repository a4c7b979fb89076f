"""A state as bytes: tensors in safetensors, and a JSON manifest that says whose they are. Nothing can run code."""

import hashlib
import json
import re
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.numpy

from presage.arrays import jax
from presage.errors import StateFileError
from presage.forecasters.contract import Forecaster, State
from presage.forecasters.mixture import revisions_of
from presage.spaces import Array

FORMAT = 1
"""The version of the layout; it moves when an older file could no longer be read."""


class StateFiles(NamedTuple):
    """The two files of a saved state."""

    manifest: bytes  # JSON
    tensors: bytes  # safetensors


def pack_state(forecaster: Forecaster, state: State) -> StateFiles:
    """The state of a forecaster as bytes.

    >>> import jax
    >>> from presage import Spaces, direct_table
    >>> forecaster = direct_table(Spaces(3, 1, 2))
    >>> state = forecaster.init(jax.random.key(0))
    >>> unpack_state(forecaster, pack_state(forecaster, state)).outcomes[0].shape
    (3, 2)
    """
    tensors = safetensors.numpy.save({name: np.array(leaf) for name, leaf in _named(state)})
    manifest = {
        "format": FORMAT,
        "forecaster": describe(forecaster),
        "sha256": hashlib.sha256(tensors).hexdigest(),
    }
    return StateFiles(json.dumps(manifest, indent=1, sort_keys=True).encode(), tensors)


def unpack_state(forecaster: Forecaster, snapshot: StateFiles) -> State:
    """The state in a snapshot of the same forecaster, as NumPy arrays."""
    manifest = read_manifest(snapshot.manifest)
    if manifest.get("format") != FORMAT:
        found = manifest.get("format")
        raise StateFileError(
            "the state was saved in another format", found, "load it with the version of presage that saved it"
        )
    check_description(forecaster, manifest.get("forecaster"))
    if hashlib.sha256(snapshot.tensors).hexdigest() != hash_in(snapshot.manifest):
        raise StateFileError(
            "the tensors are damaged", f"{len(snapshot.tensors)} bytes", "use another copy, or train it again"
        )
    try:
        tensors = safetensors.numpy.load(snapshot.tensors)
    except safetensors.SafetensorError as error:
        raise StateFileError("the tensors cannot be read", str(error), "use another copy, or train it again") from error
    return _filled(forecaster, tensors)


def describe(forecaster: Forecaster) -> dict[str, Any]:
    """What makes a forecaster the same as another, as JSON values."""
    spaces = asdict(forecaster.spaces)
    if not forecaster.spaces.proxy_with:
        del spaces["proxy_with"]  # manifests had none before features could belong to a proxy
    described = {
        "name": forecaster.name,
        "revisions": revisions_of(forecaster),
        "spaces": spaces,
        "settings": forecaster.settings,
        "replay": asdict(forecaster.replay) if forecaster.replay else None,
    }
    return dict(json.loads(json.dumps(described)))


def difference(forecaster: Forecaster, described: Any) -> str:
    """The first place where a description in a manifest differs from a forecaster; empty if there is none.

    Version 0.1.0 wrote no revisions: all of them were 1.
    """
    ours = describe(forecaster)
    if isinstance(described, dict):
        described = {"revisions": dict.fromkeys(ours["revisions"], 1)} | described
    return _difference(ours, described)


def check_description(forecaster: Forecaster, described: Any) -> None:
    """Raise StateFileError unless a description in a manifest is that of a forecaster."""
    differs = difference(forecaster, described)
    if differs.startswith("revisions"):
        remedy = "train it again, or load it with the version of presage that saved it"
        raise StateFileError("the state was learned by another revision of the forecaster", differs, remedy)
    if differs:
        raise StateFileError(
            "the state belongs to another forecaster", differs, "load it into the one it was saved from"
        )


def hash_in(manifest: bytes) -> str:
    """The hash of the tensors a manifest belongs to, as 64 hexadecimal digits."""
    found = read_manifest(manifest).get("sha256")
    if not isinstance(found, str) or not re.fullmatch(r"[0-9a-f]{64}", found):
        raise StateFileError("the manifest names no tensors", found, "use another copy, or train it again")
    return found


def _named(state: State) -> list[tuple[str, Array]]:
    leaves = jax.tree_util.tree_flatten_with_path(state)[0]
    return [(jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in leaves]


def read_manifest(text: bytes) -> dict[str, Any]:
    """The JSON object that a manifest is."""
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise StateFileError("the manifest is not JSON", text[:40], "use another copy, or train it again") from error
    if not isinstance(manifest, dict):
        raise StateFileError("the manifest is not a JSON object", manifest, "use another copy, or train it again")
    return manifest


def _difference(ours: Any, theirs: Any, path: str = "") -> str:
    """The first place where two descriptions differ, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        places = [_difference(ours[name], theirs[name], f"{path}.{name}".lstrip(".")) for name in sorted(ours)]
        return next((place for place in places if place), "")
    return "" if ours == theirs else f"{path or 'forecaster'} {theirs} where {ours} is expected"


def _filled(forecaster: Forecaster, tensors: dict[str, Array]) -> State:
    shapes = jax.eval_shape(forecaster.init, jax.random.key(0))
    expected = {name: (leaf.shape, leaf.dtype) for name, leaf in _named(shapes)}
    found = {name: (leaf.shape, leaf.dtype) for name, leaf in tensors.items()}
    if found != expected:
        odd = min(set(expected.items()) ^ set(found.items()), key=str)
        raise StateFileError("the tensors do not fit the forecaster", odd, "use another copy, or train it again")
    return jax.tree.unflatten(jax.tree.structure(shapes), [tensors[name] for name in expected])
