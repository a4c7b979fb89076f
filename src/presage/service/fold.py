"""What a log teaches, folded from its beginning in this process."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from presage.drivers.core import core_for, digest
from presage.forecasters.contract import Forecaster
from presage.joining.join import Horizons
from presage.journal.interface import LogStore
from presage.journal.readers import read_lessons
from presage.service.pupil import Pupil
from presage.service.snapshots import positions, restore_snapshot


class Folded(NamedTuple):
    """What was learnt, and whether snapshots say the same."""

    state: str  # a hash of all that later learning depends on
    position: int  # of the last LEARN entry
    predictions: int  # made before it
    snapshots: dict[str, bool]  # by position, those of this log and of this machine's fingerprint


def fold_log(
    forecaster: Forecaster, store: LogStore, horizons: Horizons, snapshots: Path, progress: Callable[[int], None]
) -> Folded:
    """Fold a log from its beginning; `progress` is told how many entries more are folded."""
    engine = core_for(forecaster)
    pupil, last = Pupil(engine), 0
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
            other = Pupil(engine)
            restore_snapshot(other, snapshots, {str(boundary.seq): boundary.chain.hex()})
            if other.learnt == boundary.seq:
                compared[str(boundary.seq)] = digest(other.learning) == digest(pupil.learning)
    progress(store.head.seq - last)
    return Folded(digest(pupil.learning), pupil.learnt, pupil.learning.predictions, compared)
