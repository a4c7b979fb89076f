"""A service that begins with what a model has learnt: its log, imported into a new data folder."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from presage.errors import DataError, SettingError
from presage.fitting.fitted_log import carry_on
from presage.fitting.model_files import unpack_model
from presage.logs.rows import LogRows, SignalRows, read_log
from presage.logs.signals import NEVER_AT
from presage.progress import Progress, silent
from presage.service import history
from presage.service.features import check_servable, feature_encoder
from presage.service.folders import check_new
from presage.spaces import EMPTY
from presage.task.task import load_task


class ImportedModel(NamedTuple):
    """The log that a service now has, and the hash of what it has learnt from it."""

    entries: int
    state: str
    position: int


def import_model(model: Path, task_file: Path, folder: Path, progress: Progress = silent) -> ImportedModel:
    """Make the data folder of a service that has seen what a model has learnt; `presage log import` makes the same.

    The events of the model's log go into the journal, so that it still tells all that the service knows. Raise
    InputError if the task or forecaster is another, or if the log is not what the model has learnt.
    """
    check_new(folder)
    task = load_task(task_file)
    check_servable(task)
    feature_encoder(task)
    of_model, choice, fitted, logs = unpack_model(model)
    remedy = f"run presage log import LOG --task {task_file} --data {folder}"
    if replace(of_model, folder=Path()) != replace(task, folder=Path()):
        raise SettingError("the model was fitted to another task", of_model.name, "serve its own task, or fit it again")
    served = {"forecaster": task.forecaster.kind, "proxy": task.proxy().name, "seed": 0}
    if choice._asdict() != served:
        raise SettingError(f"the task serves {_words(served.items())}", _words(choice._asdict().items()), remedy)
    log = logs[0]
    if len(set(logs)) > 1 or log == "dataframe":
        raise SettingError("the model does not name one log that holds all it has learnt", list(logs), remedy)
    with progress("reading the log", None):
        rows, _ = read_log(task, log, raw=True)
        if carry_on(task, choice, None, rows, fitted.until)[0].digest != fitted.digest:
            raise DataError("the log is not what the model has learnt", log, f"fit the model again, or {remedy}")
    rows = known_by(rows, fitted.until)
    with history.new_service(task_file, folder, int(rows.shown_at[0])) as service:
        with progress("serve: predictions and feedback", history.count(task, rows)) as step:
            history.live_through(service, history.happened(task, rows), history.BULK, step)
        state, position = service.digest()
        return ImportedModel(int(service.describe()["log"]["position"]), state, position)


def known_by(rows: LogRows, until: int) -> LogRows:
    """The rows that were shown by then, with the feedback that was known by then."""
    count = int(np.searchsorted(rows.shown_at, until, side="right"))

    def of(signal: SignalRows) -> SignalRows:
        known = signal.known_at[:count] <= until
        known_at = np.where(known, signal.known_at[:count], NEVER_AT)
        return SignalRows(signal.name, np.where(known, signal.symbols[:count], EMPTY), known_at)

    assert rows.json is not None
    return rows._replace(
        id=rows.id[:count],
        shown_at=rows.shown_at[:count],
        instances=type(rows.instances)(*(part[:count] for part in rows.instances)),
        proxies=tuple(map(of, rows.proxies)),
        outcome=of(rows.outcome),
        json=rows.json[:count],
    )


def _words(pairs: Iterable[tuple[str, object]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in pairs)
