"""All tables and their mixture over a log, against River's delayed progressive validation of one softmax regression.

The log is that of learning resources (`examples/oulad.toml`), read beforehand for both. Twice 30,000 rows of it are
played: the first ones, of which no outcome comes in time, so that nobody can learn from it; and as many spread over the
whole log, each as late as it was.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.blocks import Tell, alternate, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from presage.backtesting.backtest import seen, table_names
from presage.backtesting.replay import replay
from presage.forecasters.catalogue import chosen_forecasters, facts_of
from presage.logs.rows import LogRows, read_log
from presage.metrics.losses import log_loss
from presage.spaces import Array, Instance, Spaces
from presage.task.task import Task, load_task
from presage.timeline.episode import Episode

LOG = Path("../shared/data/oulad/resources_21d.parquet")
TASK = Path("examples/oulad.toml")
ROWS = 30_000
LEAST = Target(20)


def figures(tell: Tell) -> Iterator[Figure]:
    """Rows a second, and what was lost on them."""
    if not find_spec("river"):
        tell("river: River is missing, so this is skipped; pip install river==0.26.1")
        return
    if not LOG.exists():
        tell(f"river: the log is not on this machine, so this is skipped: {LOG}")
        return
    task = load_task(TASK)
    rows, _ = read_log(task, str(LOG))
    for name, chosen in (("first", np.arange(ROWS)), ("spread", np.arange(ROWS) * (len(rows.id) // ROWS))):
        yield from _compare(f"river/{name}", _ours(task, rows, chosen), _river(rows, chosen), tell)


def _compare(name: str, ours: Callable[[], float], river: Callable[[], float], tell: Tell) -> Iterator[Figure]:
    sides = {"ours": lambda: ROWS / seconds(ours), "river": lambda: ROWS / seconds(river)}
    rates = alternate(sides, tell, name)
    against = f"River's softmax regression, {short(median(rates['river']))} rows/s"
    yield Figure(name, spread(rates["ours"]), "rows/s", against, ratios(rates["ours"], rates["river"]), LEAST)
    yield Figure(f"{name}-loss", spread([ours()]), "nats", f"the mixture's; River's {river():.3f}")


def _ours(task: Task, rows: LogRows, chosen: Array) -> Callable[[], float]:
    """A function that plays all tables and their mixture, and gives the loss of the mixture."""
    spaces = Spaces(rows.features, len(task.proxy(None).values), len(task.outcome.values))
    forecasters = chosen_forecasters(table_names(task), spaces, facts_of(task))
    x = Instance(*(part[chosen] for part in rows.instances))
    shown_at, proxy, outcome = rows.shown_at[chosen], rows.proxy(), rows.outcome

    def play() -> float:
        waits = (seen(shown_at, signal.known_at[chosen]) for signal in (proxy, outcome))
        episode = Episode.varying(x, proxy.symbols[chosen], outcome.symbols[chosen], *waits)
        said = replay(forecasters, episode, 0, lambda _: None)
        losses = {name: float(log_loss(each, episode.y).mean()) for name, each in said.items()}
        return losses["mixture"]

    return play


def _river(rows: LogRows, chosen: Array) -> Callable[[], float]:
    """A function that validates a softmax regression on one-hot features, and gives its loss."""
    evaluate, models, metrics = (import_module(f"river.{name}") for name in ("evaluate", "linear_model", "metrics"))
    symbols, outcomes = rows.instances.symbols[chosen].tolist(), rows.outcome.symbols[chosen].tolist()
    features = [{f"{column}={symbol}": 1 for column, symbol in enumerate(row)} for row in symbols]
    data, shown_at = list(zip(features, outcomes, strict=True)), rows.shown_at[chosen].tolist()
    delays = np.unique(rows.outcome.known_at[chosen] - rows.shown_at[chosen]).tolist()
    assert len(delays) == 1  # River is fastest with one for all

    def play() -> float:
        model, moments = models.SoftmaxRegression(), iter(shown_at)
        for outcome in range(1 + max(outcomes)):  # told of them, it scores before it has seen one
            model.weights[outcome].clear()
        moment: Callable[[object], int] = lambda _: next(moments)  # noqa: E731
        score = evaluate.progressive_val_score(data, model, metrics.CrossEntropy(), moment=moment, delay=delays[0])
        return float(score.get())

    return play
