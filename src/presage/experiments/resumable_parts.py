"""Trials played part by part: each finished part is kept, so that an interrupted run resumes where it stopped."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from presage.errors import OutputError
from presage.files import write_together
from presage.spaces import Array

Curves = dict[str, Array]
"""Named arrays with trials along their first axis."""

PART = 20
"""Trials of a part on CPUs: enough for all cores, little enough to lose. A GPU takes up to `PART_GPU` at once."""
PART_GPU = 1000


def play_parts(
    what: dict[str, Any], trials: int, play: Callable[[Array], Curves], progress: Callable[[int], None]
) -> Curves:
    """The curves of all trials; `play` is given the numbers of some of them.

    `what` says all that the curves depend on, apart from the code. Finished parts lie in the user's cache folder until
    they are forgotten. `progress` is called for trials that need not be played again; `play` reports the others.
    """
    folder = parts_folder(what)
    size = min(trials, PART if jax.default_backend() == "cpu" else PART_GPU)
    parts = []
    for first in range(0, trials, size):
        numbers = np.arange(first, min(first + size, trials))
        name = f"{first}-{numbers[-1]}.part"
        kept = _load(folder / name)
        if kept:
            progress(len(numbers))
        parts.append(kept or _play(folder, name, numbers, play))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def forget_parts(what: dict[str, Any]) -> None:
    """Remove the parts of a run whose results are kept elsewhere by now."""
    shutil.rmtree(parts_folder(what), ignore_errors=True)


@cache
def _code() -> str:
    """A digest of this package: parts made by other code are not used."""
    whole = hashlib.sha256()
    for path in sorted(Path(__file__).parent.parent.rglob("*.py")):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def parts_folder(what: dict[str, Any]) -> Path:
    """Where the parts of one run are kept while it goes on."""
    said = json.dumps(what | {"code": _code(), "device": jax.default_backend()}, sort_keys=True)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "presage" / "parts" / hashlib.sha256(said.encode()).hexdigest()[:24]


def _play(folder: Path, name: str, numbers: Array, play: Callable[[Array], Curves]) -> Curves:
    curves = play(numbers)
    with suppress(OutputError):  # a run that cannot be kept is still a run
        write_together(folder, {name: save({key: np.ascontiguousarray(value) for key, value in curves.items()})})
    return curves


def _load(path: Path) -> Curves | None:
    """A part kept earlier; None if there is none, or only a damaged one."""
    try:
        return load(path.read_bytes())
    except (OSError, SafetensorError):
        return None
