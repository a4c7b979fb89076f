"""Opening a service on a data folder: the learner and the dashboard catch up with the log before the first request."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from presage.drivers.core import Core, Parameters, core_for
from presage.journal.sqlite import SqliteLog
from presage.journal.writer import Writer
from presage.service.dashboard.columns import subject_of
from presage.service.dashboard.fold import Watch
from presage.service.dashboard.watcher import WatchedNames, Watcher, add_recent_entries
from presage.service.features import check_servable, feature_encoder
from presage.service.folders import SNAPSHOTS, folder_forecaster, horizons_of, open_folder
from presage.service.learner.client import LearnerClient
from presage.service.learner.snapshots import SnapshotNotes
from presage.service.limits import Limits
from presage.service.service import LiveService, ServiceParts
from presage.spaces import Instance
from presage.task.task import load_task


def open_service(task_file: Path, folder: Path, settings: Limits, clock: Callable[[], int]) -> LiveService:
    """The service of a task on its data folder, with everything that its log holds."""
    check_servable(load_task(task_file))  # refuse a task that cannot be served before making anything
    feature_encoder(load_task(task_file))
    task, digest = open_folder(task_file, folder)
    engine, horizons = core_for(folder_forecaster(folder)), horizons_of(task)
    store = SqliteLog(folder, digest)
    snapshots, learner = SnapshotNotes(folder / SNAPSHOTS), None  # before a learner writes one
    try:
        learner = LearnerClient(engine, folder, store, horizons)
        watch = Watch(subject_of(engine.forecaster, horizons))
        add_recent_entries(watch, store)
        _warm_up(engine, learner.model.parameters)
    except BaseException:
        if learner:
            learner.close()
        store.close()
        raise
    shown = engine.forecaster
    names = WatchedNames(task.name, shown.name, shown.family, task.proxy().values, task.outcome.values)
    watcher = Watcher(watch, names)
    writer = Writer(store, horizons, clock, learner.teach, show=watcher.add_entries)
    return LiveService(ServiceParts(task, engine, writer, learner, clock, watcher, snapshots, folder), settings)


def _warm_up(engine: Core, parameters: Parameters) -> None:
    """Compile the functions that predict, so that no first request waits for it."""
    features = engine.forecaster.spaces.features
    x = Instance(np.zeros((1, features.slots), np.int32), np.zeros((1, features.dense), np.float32))
    engine.predict(parameters, x)
    engine.nowcast(parameters, x, np.array([0]))
    engine.weights(parameters)
