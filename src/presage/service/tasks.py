"""What a task asks for: its forecaster, and how long it waits."""

from presage.forecasters.catalogue import all_revisions
from presage.forecasters.contract import Forecaster
from presage.joining.entries import NOTHING
from presage.joining.join import Horizons
from presage.spaces import Spaces
from presage.task.features import Category
from presage.task.task import Task, Vocabulary


def task_spaces(task: Task) -> Spaces:
    """The spaces of a task whose file says all there is to know about its features."""
    known = {f.name: Vocabulary(f.values, 1 if isinstance(f, Category) else f.slots or 1) for f in task.learned}
    return task.spaces(known)


def task_forecaster(task: Task) -> Forecaster:
    """The forecaster of a task, of the current revision."""
    return task_forecasters(task)[0]


def task_forecasters(task: Task) -> tuple[Forecaster, ...]:
    """The forecaster of a task, and then its older revisions that are kept."""
    places = {name: place for place, name in enumerate(task.symbols)}
    groups = tuple(tuple(sorted(places[name] for name in group)) for group in task.forecaster.back_off)
    return all_revisions(task.forecaster.kind, task_spaces(task), groups)


def horizons_of(task: Task) -> Horizons:
    """How long the signals of a task are waited for."""
    proxy, outcome = task.proxy(), task.outcome
    absent = (NOTHING if s.absent_symbol is None else s.absent_symbol for s in (proxy, outcome))
    return Horizons(proxy.horizon.microseconds, outcome.horizon.microseconds, *absent)
