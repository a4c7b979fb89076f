"""Report cards of all candidate proxies of a log."""

from collections.abc import Callable, Iterable

import numpy as np

from presage.errors import InputError, ShapeError
from presage.metrics.information import information
from presage.proxies.card import Card, rank
from presage.proxies.gain import expected_gain
from presage.proxies.lead import lead_time
from presage.proxies.signals import Candidate, Predictions
from presage.proxies.stability import stability
from presage.proxies.verdict import DEFAULT, Thresholds, with_verdict
from presage.spaces import EMPTY

LEAST = 40
"""The least predictions with proxy and outcome for which a card can be made."""

BLOCKS = 50
"""The most blocks of time that intervals of information are based on; at least 20 rows each."""


def judge(
    log: Predictions,
    candidates: Iterable[Candidate],
    *,
    thresholds: Thresholds = DEFAULT,
    progress: Callable[[str], None] | None = None,
) -> list[Card]:
    """The report cards of the candidates, best first.

    Args:
        log: the predictions and their outcomes.
        candidates: the proxies to compare, variants included.
        thresholds: where verdicts begin.
        progress: told the name of each candidate once it is judged.

    >>> draw = np.random.default_rng(0)
    >>> x, shown_at = draw.integers(0, 50, 4000), np.arange(4000) / 20
    >>> opened = draw.random(50)[x] > draw.random(4000)
    >>> finished = np.where(opened, 0.8, 0.1) > draw.random(4000)
    >>> log = Predictions(x, shown_at, finished.astype(int), np.full(4000, 21.0), outcomes=2)
    >>> [card.verdict[:26] for card in judge(log, [Candidate("opened", opened.astype(int), 1.0, symbols=2)])]
    ['use it: comes 20 days befo']
    """
    cards = []
    for candidate in candidates:
        cards.append(with_verdict(measure(log, candidate), thresholds))
        if progress:
            progress(candidate.name)
    return rank(cards)


def measure(log: Predictions, candidate: Candidate) -> Card:
    """The report card of one candidate, without a verdict."""
    if candidate.z.shape != log.x.shape:
        found = {"predictions": len(log.x), candidate.name: len(candidate.z)}
        raise ShapeError("a proxy has no value for each prediction", found, "give -1 where it is not known")
    rows = np.flatnonzero(log.known & (candidate.z != EMPTY))
    if len(rows) < LEAST:
        wrong = f"proxy {candidate.name} and the outcome are hardly ever known together"
        raise InputError(wrong, f"{len(rows)} rows", f"give a log with at least {LEAST} such predictions")
    x, z, y = log.x[rows], candidate.z[rows], log.y[rows]
    blocks = int(np.clip(len(rows) // 20, 2, BLOCKS))
    block = np.arange(len(rows)) * blocks // len(rows)
    told = information(x, z, y, candidate.symbols, log.outcomes, block=block)
    cohort = None if log.cohort is None else log.cohort[rows]
    gain = expected_gain(log, candidate)
    return Card(
        name=candidate.name,
        rows=len(rows),
        symbols=candidate.symbols,
        entropy=told.entropy,
        information=told.information,
        gap=told.gap,
        total=told.total,
        share=told.share,
        stability=stability(x, z, y, (candidate.symbols, log.outcomes), cohort),
        lead=lead_time(candidate.delay, log.delay),
        wait=float(np.median(log.delay[log.known])),
        gain=gain.launched,
        new=gain.new,
        overall=gain.overall,
    )
