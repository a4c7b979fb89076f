"""The forecaster that a task asks for."""

from presage.forecasters.contract import Forecaster
from presage.forecasters.named import chosen_forecasters
from presage.spaces import Spaces
from presage.task.features import Category
from presage.task.task import Task, Vocabulary


def task_spaces(task: Task) -> Spaces:
    """The spaces of a task whose file says all there is to know about its features."""
    known = {f.name: Vocabulary(f.values, 1 if isinstance(f, Category) else f.slots or 1) for f in task.learned}
    return task.spaces(known)


def task_forecaster(task: Task) -> Forecaster:
    """The forecaster of a task."""
    places = {name: place for place, name in enumerate(task.symbols)}
    groups = tuple(tuple(sorted(places[name] for name in group)) for group in task.forecaster.back_off)
    kind = task.forecaster.kind
    return chosen_forecasters((kind,), task_spaces(task), groups)[kind]
