"""Rivals that learn row by row, each as soon as its feedback is known: one pass over the log."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from presage.errors import SettingError
from presage.extras import extras_named
from presage.progress import Step
from presage.rivals.rival import (
    Rival,
    RivalLog,
    TimedSignal,
    check_name,
    outcome_signal,
    outcomes_with_proxies,
    proxy_signal,
)
from presage.rivals.scheduled_training import seeded
from presage.spaces import Array

STRIDE = 1000
"""After how many rows progress is told."""

Describe = Callable[[int, int | None], Any]
"""Given a row, and a proxy or None: the example that a learner takes."""


BINS_EACH = 1, 4
"""Bins of a number for each doubling of its size, coarse and fine: what is rare learns from the coarse ones ..."""

SIZES = -20, 40
"""... between 2 to the power of these; there are as many for negative numbers, and one for 0."""

BINS = tuple(1 + 2 * each * (SIZES[1] - SIZES[0]) for each in BINS_EACH)
"""How many bins there are, coarse and fine."""

FARTHEST = 3.0
"""Standard deviations from the mean at which a standardised number is cut off."""


class NumberTerms(NamedTuple):
    """What linear models are given of the D numbers of every row."""

    bins: Array  # int32 [N, 2 D]: the coarse bin of each, then the fine one of each
    standard: Array  # float64 [N, D]


def number_terms(dense: Array) -> NumberTerms:
    """The bins of each number by its size, and how far it is from the mean of the rows up to its own.

    Where bins begin depends on no other row, and the mean on none that comes later: nothing is seen ahead.

    >>> number_terms(np.array([[0.0], [1.0], [1.5], [-1.0]])).bins.tolist()
    [[0, 0], [21, 81], [21, 83], [81, 321]]
    """
    values = np.asarray(dense, np.float64)
    sizes = np.abs(values)
    logs = np.log2(np.where(sizes > 0, sizes, 1.0))
    bins = []
    for each in BINS_EACH:
        least, most = each * SIZES[0], each * SIZES[1]
        places = 1 + np.clip(np.floor(each * logs + 1e-6), least, most - 1) - least
        bins.append(np.where(values > 0, places, np.where(values < 0, places + most - least, 0)).astype(np.int32))
    moved = values - values[:1]  # so that squares stay small
    rows = np.arange(1, len(values) + 1)[:, None]
    mean = np.cumsum(moved, axis=0) / rows
    variance = np.maximum(np.cumsum(moved**2, axis=0) / rows - mean**2, 0.0)
    spread = np.sqrt(variance)
    standard = np.divide(moved - mean, spread, out=np.zeros_like(moved), where=spread > 1e-9 * np.abs(mean))
    return NumberTerms(np.hstack(bins), np.clip(standard, -FARTHEST, FARTHEST))


class OnlineLearner:
    """What learns one row after another; `learn` takes an example and its label, `predict` gives the shares [K]."""

    def __init__(
        self, signal: TimedSignal, learn: Callable[[Any, int], None], predict: Callable[[Any], Any], describe: Describe
    ) -> None:
        self._rows, self._known = signal.arrivals.rows.tolist(), signal.arrivals.known.tolist()
        self._labels: list[int] = signal.symbols.tolist()
        self._learn, self.predict, self._describe = learn, predict, describe
        self._done = 0

    def catch_up(self, row: int, proxies: list[int] | None = None) -> None:
        """Learn all that is known before a row; with the proxies of the rows, if they are features."""
        while self._done < self._known[row]:
            learnt = self._rows[self._done]
            example = self._describe(learnt, None if proxies is None else proxies[learnt])
            self._learn(example, self._labels[learnt])
            self._done += 1


Make = Callable[[TimedSignal], OnlineLearner]
"""Given what to learn: a learner that knows nothing yet."""


def play_online(log: RivalLog, step: Step, make: Make, describe: Describe, *, factored: bool) -> Array:
    """The probabilities of every row [N, Y], each predicted with what was learnt from feedback seen before its round.

    If `factored`, as the sum over z of h(z|x) g(y|x,z).
    """

    def make_each(signal: TimedSignal) -> OnlineLearner:
        if signal.size > 1:
            return make(signal)
        return OnlineLearner(signal, lambda _, __: None, lambda _: [1.0], describe)  # there is nothing to learn

    said = np.empty((log.rows, log.spaces.outcomes))
    predict = (_through_proxies if factored else _direct)(log, make_each, describe)
    for row in range(log.rows):
        said[row] = predict(row)
        if row % STRIDE == STRIDE - 1:
            step(STRIDE)
    step(log.rows % STRIDE)
    return said


def _direct(log: RivalLog, make: Make, describe: Describe) -> Callable[[int], Any]:
    learner = make(outcome_signal(log))

    def predict(row: int) -> Any:
        learner.catch_up(row)
        return learner.predict(describe(row, None))

    return predict


def _through_proxies(log: RivalLog, make: Make, describe: Describe) -> Callable[[int], Any]:
    h, g = make(proxy_signal(log)), make(outcomes_with_proxies(log))
    proxies: list[int] = log.episode.z.tolist()

    def predict(row: int) -> Any:
        h.catch_up(row)
        g.catch_up(row, proxies)
        shares = np.asarray(h.predict(describe(row, None)))
        given = [g.predict(describe(row, z)) for z in range(log.spaces.proxies)]
        return shares / max(shares.sum(), 1e-12) @ _as_shares(given)

    return predict


def _as_shares(rows: Any) -> Array:
    """Rows that add up to 1: evenly where all of a row is 0."""
    rows = np.asarray(rows, np.float64) + 1e-12
    return rows / rows.sum(axis=1, keepdims=True)


def online(model: Any, *, factored: bool = False, name: str | None = None) -> Rival:
    """A River classifier, which learns each row as soon as its feedback is known.

    It is given a mapping from features to numbers: "feature=symbol" to 1 for each category and each value of a set, and
    for numbers "number0" and so on to the standardised one, with "number0=bin" and
    "number0'=bin" for coarse and fine bins to 1. Labels are the outcomes' places in the task file, counted from 0.

    Args:
        model: Has `learn_one` and `predict_proba_one`; a copy of it is played.
        factored: Whether one copy learns h(z|x) from known proxies and another g(y|x,z) from known outcomes.
        name: What tables call it; the name of its class if left out.

    >>> from river.naive_bayes import BernoulliNB
    >>> online(BernoulliNB()).name
    'bernoullinb'
    """
    for needed in ("learn_one", "predict_proba_one"):
        if not callable(getattr(model, needed, None)):
            remedy = (
                f"give a classifier with learn_one and predict_proba_one, such as River has; this one lacks {needed}"
            )
            raise SettingError("a rival that learns online must give probabilities", type(model).__name__, remedy)
    called = type(model).__name__.lower() + ("-factored" if factored else "") if name is None else name
    return Rival(check_name(called), lambda log, step: _play_river(log, step, model, factored))


def _play_river(log: RivalLog, step: Step, model: Any, factored: bool) -> Array:
    describe = _features_by_name(log)

    def make(signal: TimedSignal) -> OnlineLearner:
        own = _copied(model, log.seed)

        def predict(example: dict[str, float]) -> list[float]:
            said = own.predict_proba_one(example)
            return [float(said.get(label, 0.0)) for label in range(signal.size)]

        return OnlineLearner(signal, own.learn_one, predict, describe)

    return play_online(log, step, make, describe, factored=factored)


def _copied(model: Any, seed: int) -> Any:
    """A copy that has learnt nothing, with a fixed seed where it would draw another in every run."""
    if not hasattr(model, "clone"):
        return seeded(copy.deepcopy(model), seed)
    free = getattr(model, "seed", seed) is None
    return model.clone({"seed": seed}) if free else model.clone()


def _features_by_name(log: RivalLog) -> Describe:
    """The mapping that describes a row to River; a proxy is one more feature, and one of each pair with another."""
    symbols = log.episode.x.symbols.tolist()
    bins, standard = (each.tolist() for each in number_terms(log.episode.x.dense))
    sets = [f"set{place}" for place, each in enumerate(log.spaces.features.sets) for _ in range(each.slots)]
    names = [*log.names, *sets]
    numbers = [f"number{place}" for place in range(log.spaces.features.dense)]
    binned = [*numbers, *(f"{name}'" for name in numbers)]

    def describe(row: int, z: int | None) -> dict[str, float]:
        example = {f"{name}={value}": 1.0 for name, value in zip(names, symbols[row], strict=True) if value >= 0}
        example |= dict(zip(numbers, standard[row], strict=True))
        example |= {f"{name}={value}": 1.0 for name, value in zip(binned, bins[row], strict=True)}
        if z is None:
            return example
        return example | {f"proxy={z}": 1.0} | {f"proxy={z},{name}": value for name, value in example.items()}

    return describe


LEARNING_RATE = 0.1


def river(*, factored: bool = False, name: str | None = None) -> Rival:
    """River's softmax regression with AdaGrad: a weight for each feature value and outcome, one pass.

    Args:
        factored: Whether one model learns h(z|x) from known proxies and another g(y|x,z) from known outcomes.
        name: What tables call it.

    >>> river().name
    'river'
    """

    def play(log: RivalLog, step: Step) -> Array:
        with extras_named():
            from river import linear_model, optim  # noqa: PLC0415 an extra

        model = linear_model.SoftmaxRegression(optimizer=optim.AdaGrad(LEARNING_RATE))
        return _play_river(log, step, model, factored)

    return Rival(check_name(("river-factored" if factored else "river") if name is None else name), play)
