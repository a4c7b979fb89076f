"""The default over a log, alone and with all tables, against River's delayed validation of one softmax regression.

The log is that of learning resources (`examples/oulad.toml`), read beforehand for both. Twice 30,000 rows of it are
played: the first ones, of which no outcome comes in time, so that nobody can learn from it; and as many spread over the
whole log, each as late as it was. Rates are per second of processor time.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.blocks import Tell, alternate, ratios, spread
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
LEAST, ALONE = Target(20), Target(10)
"""How many times as many rows a second: for all tables and the default together, and for the default alone."""


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
        every, alone = (_ours(task, rows, chosen, names) for names in (table_names(task), ("mixture",)))
        yield from _compare(f"river/{name}", {"ours": every, "alone": alone, "river": _river(rows, chosen)}, tell)


def _compare(name: str, sides: dict[str, Callable[[], float]], tell: Tell) -> Iterator[Figure]:
    rates = alternate({side: partial(_rate, play) for side, play in sides.items()}, tell, name)
    against = f"River's softmax regression, {short(median(rates['river']))} rows/s"
    for side, target in (("ours", LEAST), ("alone", ALONE)):
        about = name if side == "ours" else f"{name}-default"
        yield Figure(about, spread(rates[side]), "rows/s", against, ratios(rates[side], rates["river"]), target)
    against = f"the default's; River's {sides['river']():.3f}"
    yield Figure(f"{name}-loss", spread([sides["alone"]()]), "nats", against)


def _rate(play: Callable[[], float]) -> float:
    """Rows in a second of processor time: River has one thread, and we may have several."""
    started = time.process_time()
    play()
    return ROWS / (time.process_time() - started)


def _ours(task: Task, rows: LogRows, chosen: Array, names: tuple[str, ...]) -> Callable[[], float]:
    """A function that plays some forecasters, and gives the loss of the default."""
    spaces = Spaces(rows.features, len(task.proxy(None).values), len(task.outcome.values))
    forecasters = chosen_forecasters(names, spaces, facts_of(task))
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
