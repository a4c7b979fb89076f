"""Models on disk: a folder with a manifest, and the tensors that it names by their hash. Nothing can run code."""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from presage.errors import OutputError, PresageError, StateFileError
from presage.files import check_results_folder, write_results
from presage.fitting.fitted_log import FittedLog, ModelChoice, forecaster_of
from presage.fitting.learning import Learnt, learn_rows
from presage.fitting.open_rows import OpenRows
from presage.forecasters.state_files import StateFiles, check_description, describe, hash_in, read_manifest
from presage.logs.cuts import cut_again, found_cuts
from presage.saved_states import read_state_files, write_state_files
from presage.spaces import Array, Instance
from presage.task.task import Task, Vocabulary, read_task

FORMAT = 1
"""The version of the layout; it moves when an older folder could no longer be read."""

REMEDY = "use another copy, or fit the model again"

SavedModel = tuple[Task, ModelChoice, FittedLog, tuple[str, ...]]


def check_model_folder(folder: Path) -> Path:
    """The folder; refused at once if nothing can be written to this folder, or if it holds files that are not ours."""
    return check_results_folder(folder)


def pack_model(task: Task, choice: ModelChoice, fitted: FittedLog, logs: tuple[str, ...]) -> StateFiles:
    """A model as bytes."""
    arrays = {name: np.asarray(part, order="C") for name, part in fitted.arrays().items()}
    tensors = safetensors.numpy.save(arrays)
    manifest = {
        "format": FORMAT,
        "presage": version("presage"),
        "task": task.text,
        "task_folder": "." if task.folder == Path() else str(task.folder.resolve()),
        **choice._asdict(),
        "described": describe(fitted.forecaster),
        "edges": found_cuts(task),
        "vocabularies": {name: one._asdict() for name, one in fitted.vocabularies.items()},
        "rows": fitted.rows,
        "until": fitted.until,
        "logs": list(logs),
        "sha256": hashlib.sha256(tensors).hexdigest(),
    }
    manifest["check"] = _check(manifest)
    return StateFiles(json.dumps(manifest, indent=1).encode(), tensors)


def write_model(folder: Path, files: StateFiles) -> Path:
    """The folder that now holds a model and is marked as ours."""
    write_results(folder, {})
    try:
        return write_state_files(folder, files)
    except OSError as error:
        remedy = f"free some space or choose another folder ({error.strerror})"
        raise OutputError("the model could not be written", str(folder), remedy) from error


def unpack_model(folder: Path) -> SavedModel:
    """The model in a folder; StateFileError unless all of it is there, undamaged and of this version's forecasters."""
    files = read_state_files(folder)
    manifest = read_manifest(files.manifest)
    if "described" not in manifest:
        raise StateFileError("the folder holds no model", str(folder), "give one that Model.save or --save wrote")
    if manifest.get("format") != FORMAT:
        remedy = f"read it with a version of presage that writes format {FORMAT}, or fit the model again"
        raise StateFileError("the model was saved in another format", manifest.get("format"), remedy)
    if manifest.pop("check", None) != _check(manifest):
        raise StateFileError("the manifest of the model is damaged", str(folder), REMEDY)
    if hashlib.sha256(files.tensors).hexdigest() != hash_in(files.manifest):
        raise StateFileError("the tensors of the model are damaged", f"{len(files.tensors)} bytes", REMEDY)
    try:
        task = cut_again(read_task(manifest["task"], Path(manifest["task_folder"])), manifest["edges"])
        fitted, choice = _fitted(task, manifest, safetensors.numpy.load(files.tensors))
    except (KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        if isinstance(error, PresageError):
            raise
        raise StateFileError("the model cannot be read", str(error), REMEDY) from error
    return task, choice, fitted, tuple(manifest["logs"])


def _fitted(task: Task, manifest: Mapping[str, Any], arrays: dict[str, Array]) -> tuple[FittedLog, ModelChoice]:
    choice = ModelChoice(*(manifest[name] for name in ModelChoice._fields))
    words = manifest["vocabularies"].items()
    vocabularies = {name: Vocabulary(tuple(one["values"]), one["slots"]) for name, one in words}
    if (choice.forecaster, manifest["described"]["revisions"].get("mixture")) == ("mixture", 1):
        choice = choice._replace(forecaster="mixture-of-tables")  # what was called the mixture then
    forecaster = forecaster_of(task, choice, vocabularies)
    check_description(forecaster, manifest["described"])
    tensors = {name.removeprefix("learnt."): part for name, part in arrays.items() if name.startswith("learnt.")}
    kept = {name: arrays[f"open.{name}"] for name in OpenRows._fields if name not in ("id", "x")}
    ids = arrays["open.id"]
    if ids.dtype == np.uint8:
        ids = np.array(json.loads(ids.tobytes()), object)
    rows = OpenRows(id=ids, x=Instance(arrays["open.symbols"], arrays["open.dense"]), **kept)
    # What is known since the last row was shown is learnt again for predictions: no second copy of it is kept.
    learnt = Learnt(tensors, (), arrays["open.said"])
    latest = learn_rows(forecaster, choice.seed, learnt, rows, np.ones(len(ids), np.bool_))
    learnt = learnt._replace(parameters=latest.parameters)
    return FittedLog(vocabularies, forecaster, learnt, rows, manifest["rows"], manifest["until"]), choice


def _check(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
