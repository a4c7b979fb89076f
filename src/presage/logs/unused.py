"""Events that tell nothing about any prediction, counted by reason."""

from presage.logs.windows import is_one_of
from presage.task.columns import EventColumns
from presage.task.signals import Counted, First
from presage.task.task import Task


def event_counts(task: Task, log: EventColumns) -> dict[str, str]:
    """Why an event may be of no use, in words, and SQL that counts such events."""
    sources = [signal.source for signal in task.signals]
    used = {kind for source in sources if isinstance(source, Counted | First) for kind in source.kinds}
    used |= {kind for source in sources if isinstance(source, Counted) for kind in source.unless} | set(log.moment)
    named = {"at": log.at, "subject": log.subject, "instance": log.instance, "kind": log.kind}
    counts = {
        f"events without a valid {column}": f'sum(CASE WHEN "{ours}" IS NULL THEN 1 ELSE 0 END)'
        for ours, column in named.items()
        if column is not None
    }
    if log.kind is not None:
        other = f"sum(CASE WHEN NOT {is_one_of(tuple(sorted(used)))} THEN 1 ELSE 0 END)"
        counts["events of kinds that the task does not name"] = other
    if log.id is not None and log.moments is None:
        counts[f"events that repeat the {log.id} of an earlier one"] = "count(id) - count(DISTINCT id)"
    return counts
