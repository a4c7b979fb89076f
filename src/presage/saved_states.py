"""States of forecasters on disk: a folder with a manifest and the tensors it names by their hash."""

import hashlib
from pathlib import Path

from presage.errors import StateFileError
from presage.files import write_file
from presage.forecasters.contract import Forecaster, State
from presage.forecasters.state_files import StateFiles, hash_in, pack_state, unpack_state

MANIFEST = "manifest.json"


def save_state(folder: str | Path, forecaster: Forecaster, state: State) -> Path:
    """The folder with the saved state; an earlier state in it is replaced as a whole or, on any failure, not at all."""
    return write_state_files(Path(folder), pack_state(forecaster, state))


def load_state(folder: str | Path, forecaster: Forecaster) -> State:
    """The state saved in a folder by the same forecaster, as NumPy arrays."""
    return unpack_state(forecaster, read_state_files(Path(folder)))


def write_state_files(folder: Path, files: StateFiles) -> Path:
    """The folder with a manifest and its tensors, in place of earlier ones."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / _tensors_name(files.tensors)
    write_file(kept, files.tensors)
    write_file(folder / MANIFEST, files.manifest)  # from here on the new state counts
    for other in folder.glob("*.safetensors"):
        if other != kept:
            other.unlink()
    return folder


def read_state_files(folder: Path) -> StateFiles:
    """The manifest in a folder, and the tensors that it names."""
    try:
        manifest = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise StateFileError("there is no saved state", str(folder), f"give a folder with a {MANIFEST}") from error
    named = hash_in(manifest)
    try:
        tensors = (folder / f"{named[:16]}.safetensors").read_bytes()
    except OSError as error:
        raise StateFileError("the tensors are missing", named[:16], "use another copy, or train it again") from error
    return StateFiles(manifest, tensors)


def _tensors_name(tensors: bytes) -> str:
    return f"{hashlib.sha256(tensors).hexdigest()[:16]}.safetensors"
