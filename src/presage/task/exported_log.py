"""The log that a service exports, as a task sees it: columns of fixed names, and what each model had seen."""

from dataclasses import replace

from presage.errors import SettingError
from presage.task.columns import PredictionColumns
from presage.task.signals import Labelled, Signal
from presage.task.task import Task

OURS = (
    "id", "shown_at", "position", "model", "proxy", "proxy_at", "proxy_position", "outcome", "outcome_at",
    "outcome_position", "loss", "probabilities",
)  # fmt: skip
"""The columns of an exported log beside the features.

`position` is that of the prediction in the service's log, `model` that up to which its model had learnt; feedback
became learnable at `proxy_position` and `outcome_position`. `probabilities` is what was answered, in the order of the
task's outcomes, and `loss` its log loss.
"""


def as_served(task: Task) -> Task:
    """The same task on a log that its service exported.

    A row is predicted with the feedback that lies before the position of its model, whatever the times say.
    """
    for signal in task.signals:
        if task.in_rows or not signal.values:
            wrong = "no service exported this log: it would not have served the task"
            found = 'order = "rows"' if task.in_rows else f'{task.path(signal)}.edges = "{signal.cuts}"'
            raise SettingError(wrong, found, "give the task that was served")
    features = tuple(replace(feature, column=feature_column(feature.name)) for feature in task.instance)
    columns = PredictionColumns("shown_at", "position", None, None, model="model")
    proxy, outcome = _labelled(task.proxy(), "proxy"), _labelled(task.outcome, "outcome")
    return replace(task, instance=features, proxies=(proxy,), outcome=outcome, log=columns)


def feature_column(name: str) -> str:
    """The column of a feature: its name, or its name and an underscore where one of ours is called so."""
    return f"{name}_" if name in OURS else name


def _labelled(signal: Signal, kind: str) -> Signal:
    return replace(signal, source=Labelled(kind, f"{kind}_at", f"{kind}_position"))
