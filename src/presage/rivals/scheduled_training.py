"""Rivals that are retrained on a schedule, each time on all that is known by then."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from presage.errors import SettingError
from presage.progress import Step
from presage.rivals.feature_matrix import FeatureMatrix, feature_matrix, with_proxy
from presage.rivals.rival import (
    Rival,
    RivalLog,
    TimedSignal,
    check_name,
    outcome_signal,
    outcomes_with_proxies,
    proxy_signal,
    running_marginal,
)
from presage.settings import whole
from presage.spaces import Array
from presage.task.spans import ROW, Span, span

TIMES = 20
"""How often a rival is trained on a log, unless it says how far apart."""

LEAST_ROWS = 50
"""How many rows with a known outcome the first training waits for."""

Predict = Callable[[Array], Array]
"""Given a matrix [n, F], the probabilities of the classes [n, K]."""

Fit = Callable[[FeatureMatrix, Array, int, int], Predict]
"""Given a matrix, the classes of its rows, how many classes there are and a seed: what predicts."""


class Schedule(NamedTuple):
    """When a rival is trained: so many times over the log, or every so often."""

    times: int
    every: Span | None


def schedule(times: int, every: str | None) -> Schedule:
    """The schedule that is asked for, checked."""
    return Schedule(whole("times", times), None if every is None else span("every", every))


def trainings(log: RivalLog, signals: tuple[TimedSignal, ...], when: Schedule) -> list[int]:
    """The rows before which a rival is trained: the first as soon as enough is known of each signal.

    They depend on when feedback becomes known, not on what it says.
    """
    first = max(int(np.searchsorted(signal.arrivals.known[:-1], LEAST_ROWS)) for signal in signals)
    if first >= log.rows:
        return []
    if when.every is None:
        doubled = [np.searchsorted(signal.arrivals.known[:-1], LEAST_ROWS * 2 ** np.arange(30)) for signal in signals]
        early = np.maximum.reduce(doubled)
        even = np.linspace(first, log.rows, when.times + 1)[:-1].astype(np.int64)
        found = np.concatenate([even, early[early < log.rows]])
    else:
        if when.every.rows != log.in_rows:
            unit = "rows, as the log has no times" if log.in_rows else "time"
            raise SettingError(f"every must be a span of {unit}", str(when.every), 'write "7 days" or "500 rows"')
        length = when.every.microseconds // ROW * ROW if log.in_rows else when.every.microseconds
        begin, end = int(log.shown_at[first]), int(log.shown_at[-1])
        found = np.searchsorted(log.shown_at, np.arange(begin, end + 1, length), side="left")
        found = np.maximum(found, first)
    return [int(row) for row in np.unique(found)]


def retrained_rival(name: str, fit: Fit, when: Schedule, *, one_hot: bool, factored: bool) -> Rival:
    """A rival that is fitted at each training and predicts the rows until the next."""
    play = _play_factored if factored else _play_direct
    return Rival(check_name(name), lambda log, step: play(log, step, fit, when, one_hot))


def _play_direct(log: RivalLog, step: Step, fit: Fit, when: Schedule, one_hot: bool) -> Array:
    """Probabilities of y given x."""
    outcomes = outcome_signal(log)
    said, begins = running_marginal(outcomes), trainings(log, (outcomes,), when)
    if not begins:
        step(log.rows)
        return said
    matrix = feature_matrix(log, outcomes, one_hot=one_hot, first=begins[0])
    step(begins[0])
    for begin, end in zip(begins, [*begins[1:], log.rows], strict=True):
        learnt = outcomes.arrivals.rows[: outcomes.arrivals.known[begin]]
        predict = _fitted(fit, matrix, learnt, outcomes, log.seed)
        said[begin:end] = predict(matrix.values[begin:end])
        step(end - begin)
    return said


def _play_factored(log: RivalLog, step: Step, fit: Fit, when: Schedule, one_hot: bool) -> Array:
    """Probabilities of y given x, through the proxy: the sum over z of h(z|x) g(y|x,z)."""
    proxies, both = proxy_signal(log), outcomes_with_proxies(log)
    said, begins = running_marginal(outcome_signal(log)), trainings(log, (proxies, both), when)
    if not begins:
        step(log.rows)
        return said
    first = begins[0]
    h_matrix = feature_matrix(log, proxies, one_hot=one_hot, first=first)
    plain = feature_matrix(log, outcome_signal(log), one_hot=one_hot, first=first)
    g_matrix = with_proxy(plain, np.maximum(log.episode.z, 0), proxies.size, one_hot=one_hot)
    step(first)
    for begin, end in zip(begins, [*begins[1:], log.rows], strict=True):
        of_z, of_y = (
            _fitted(fit, matrix, signal.arrivals.rows[: signal.arrivals.known[begin]], signal, log.seed)
            for matrix, signal in ((h_matrix, proxies), (g_matrix, both))
        )
        part = slice(begin, end)
        h = of_z(h_matrix.values[part])  # [n, Z]
        rows = FeatureMatrix(plain.values[part], ())
        said[part] = 0
        for z in range(proxies.size):
            given = with_proxy(rows, np.full(end - begin, z), proxies.size, one_hot=one_hot)
            said[part] += h[:, z, None] * of_y(given.values)
        step(end - begin)
    return said


def _fitted(fit: Fit, matrix: FeatureMatrix, rows: Array, signal: TimedSignal, seed: int) -> Predict:
    """What a model predicts that was fitted to these rows; the rate of each class where only one was ever seen."""
    rows = np.sort(rows)
    classes = signal.symbols[rows]
    if (classes == classes[0]).all():
        counts = 1 + np.bincount(classes, minlength=signal.size)
        return lambda values: np.tile(counts / counts.sum(), (len(values), 1))
    return fit(matrix._replace(values=matrix.values[rows]), classes, signal.size, seed)


def retrained(
    estimator: Any,
    *,
    every: str | None = None,
    times: int = TIMES,
    factored: bool = False,
    name: str | None = None,
) -> Rival:
    """A scikit-learn classifier, retrained on a schedule on all that is known by then.

    It is given a matrix of numbers: a column for each value of a category of few values; for the identity, and for
    categories of many values, how often each outcome came to that value, among what was known before the row was
    shown; numbers as they are. Until the first training, after 50 known outcomes, the running marginal is said.

    Args:
        estimator: Has `fit` and `predict_proba`; a copy of it is fitted at each training.
        every: How far apart trainings are, such as "7 days".
        times: How many there are over the log, where `every` is left out.
        factored: Whether one copy learns h(z|x) from known proxies and another g(y|x,z) from known outcomes.
        name: What tables call it; the name of its class if left out.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> retrained(GaussianNB(), every="7 days").name
    'gaussiannb'
    """
    for needed in ("fit", "predict_proba"):
        if not callable(getattr(estimator, needed, None)):
            remedy = f"give a classifier with fit and predict_proba, such as scikit-learn has; this one lacks {needed}"
            raise SettingError("a rival that is retrained must give probabilities", type(estimator).__name__, remedy)
    called = type(estimator).__name__.lower() + ("-factored" if factored else "") if name is None else name
    when = schedule(times, every)
    return retrained_rival(called, _sklearn_fit(estimator), when, one_hot=True, factored=factored)


def _sklearn_fit(estimator: Any) -> Fit:
    def fit(matrix: FeatureMatrix, classes: Array, size: int, seed: int) -> Predict:
        model = seeded(copy.deepcopy(estimator), seed)
        model.fit(matrix.values, classes)
        seen = np.asarray(model.classes_, np.int64)

        def predict(values: Array) -> Array:
            said = np.zeros((len(values), size))
            said[:, seen] = model.predict_proba(values)
            return said

        return predict

    return fit


def seeded(model: Any, seed: int) -> Any:
    """The model with a fixed seed wherever it would draw another in every run, so that a backtest can be repeated."""
    if hasattr(model, "get_params") and hasattr(model, "set_params"):
        free = [
            name
            for name, value in model.get_params().items()
            if value is None and name.rpartition("__")[2] == "random_state"
        ]
        model.set_params(**dict.fromkeys(free, seed))
    return model
