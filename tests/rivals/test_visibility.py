"""Rivals know what they may and no more: labels that become known later move nothing, and each is learnt in time."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from presage.backtesting.leak_check import tampered_log
from presage.backtesting.rival_scores import moved_by
from presage.errors import DataError
from presage.rivals import Rival, RivalLog, lightgbm, online, retrained, river, vw
from presage.rivals.feature_matrix import feature_matrix
from presage.rivals.rival import outcome_signal, outcomes_with_proxies, play_rival, proxy_signal
from presage.rivals.scheduled_training import LEAST_ROWS, schedule, trainings
from tests.problems import KINDS
from tests.rivals.logs import DAY, changed_after, learnable_log, rival_log

INSTALLED = "the rivals extra is not installed"
for module in ("lightgbm", "river", "sklearn", "vowpalwabbit"):
    pytest.importorskip(module, reason=INSTALLED)

from river.naive_bayes import BernoulliNB  # noqa: E402
from sklearn.linear_model import SGDClassifier  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402

QUICK: dict[str, Any] = {"num_iterations": 5, "min_data_in_leaf": 5, "num_threads": 1}
Bernoulli: Any = BernoulliNB
MADE: dict[str, Callable[[], Rival]] = {
    "lightgbm": lambda: lightgbm(times=4, **QUICK),
    "lightgbm-factored": lambda: lightgbm(times=4, factored=True, **QUICK),
    "vw": vw,
    "vw-factored": lambda: vw(factored=True),
    "river": river,
    "river-factored": lambda: river(factored=True),
    "retrained": lambda: retrained(GaussianNB(), every="10 days"),
    "retrained-factored": lambda: retrained(SGDClassifier(loss="log_loss"), times=3, factored=True),  # draws at random
    "online": lambda: online(Bernoulli()),
}


def said_by(rival: Rival, log: RivalLog) -> Any:
    return play_rival(rival, log, lambda _: None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MADE)
def test_labels_that_become_known_later_move_nothing(name: str, kind: str) -> None:
    log, rival = rival_log(kind), MADE[name]()
    said = said_by(rival, log)
    assert np.isfinite(said).all()
    assert np.exp(said).sum(axis=1) == pytest.approx(1, abs=1e-5)
    for last in (90, 250):
        changed = said_by(rival, changed_after(log, last))
        assert (said[: last + 1] == changed[: last + 1]).all(), last


@pytest.mark.parametrize("name", MADE)
def test_labels_that_are_known_are_used(name: str) -> None:
    log, rival = rival_log("at once"), MADE[name]()
    changed = said_by(rival, changed_after(log, 100))
    assert (said_by(rival, log)[-50:] != changed[-50:]).any()


@pytest.mark.parametrize("name", MADE)
def test_what_there_is_to_learn_is_learnt_and_progress_adds_up(name: str) -> None:
    log = learnable_log(2000)
    steps: list[int] = []
    said = play_rival(MADE[name](), log, steps.append)
    assert sum(steps) == log.rows
    right = said.argmax(axis=1) == log.episode.y
    assert right[-500:].mean() > 0.6, right[-500:].mean()


def test_a_rival_that_looks_ahead_is_caught() -> None:
    log = rival_log("fixed")

    def ahead(log: RivalLog, _: Any) -> Any:
        return 1 + np.eye(log.spaces.outcomes)[log.episode.y]

    tampered = tampered_log(log.spaces, log.episode, 0)
    assert moved_by(Rival("ahead", ahead), log, tampered) > 30
    assert moved_by(vw(), log, tampered) == 0


def test_a_rival_that_does_not_repeat_itself_is_told() -> None:
    log, draw = rival_log("fixed"), np.random.default_rng(0)
    lucky = Rival("lucky", lambda log, _: draw.random((log.rows, log.spaces.outcomes)))
    with pytest.raises(DataError, match=r"does not say the same .* found 'lucky'"):
        moved_by(lucky, log, tampered_log(log.spaces, log.episode, 0))


class Recorder:
    """A classifier that keeps the rows it was trained on, by the last of its numbers."""

    def __init__(self) -> None:
        self.trained: list[tuple[list[int], list[int]]] = []

    def __deepcopy__(self, memory: Any) -> "Recorder":
        return self

    def fit(self, values: Any, classes: Any) -> None:
        self.trained.append((np.rint(values[:, -1]).astype(int).tolist(), classes.tolist()))
        self.classes_ = np.unique(classes)

    def predict_proba(self, values: Any) -> Any:
        return np.full((len(values), len(self.classes_)), 1 / len(self.classes_))


def numbered(log: RivalLog) -> RivalLog:
    """The log with the number of each row as its last number."""
    dense = log.episode.x.dense.copy()
    dense[:, -1] = np.arange(log.rows)
    return log._replace(episode=replace(log.episode, x=log.episode.x._replace(dense=dense)))


@pytest.mark.parametrize("kind", ["fixed", "varying", "bursts", "at once"])
def test_a_retrained_rival_learns_what_was_known_by_then_and_all_of_it(kind: str) -> None:
    log, model = numbered(rival_log(kind)), Recorder()
    said_by(retrained(model, times=5), log)
    begins = trainings(log, (outcome_signal(log),), schedule(5, None))
    assert len(begins) == len(model.trained) >= 5
    seen = log.episode.outcome_seen
    for begin, (rows, classes) in zip(begins, model.trained, strict=True):
        assert rows == [row for row in range(log.rows) if seen[row] != -1 and seen[row] < begin]
        assert classes == log.episode.y[rows].tolist()
        assert len(rows) >= LEAST_ROWS


@pytest.mark.parametrize("kind", ["fixed", "varying", "bursts"])
def test_an_online_rival_learns_each_row_once_and_in_time(kind: str) -> None:
    log, learnt = rival_log(kind), []
    log.episode.x.symbols[:, 0] = np.arange(log.rows)

    def numbered_row(x: dict[str, float]) -> int:
        return next(int(name.removeprefix("column0=")) for name in x if name.startswith("column0="))

    class Model:
        """Keeps what it is given."""

        def __deepcopy__(self, memory: Any) -> "Model":
            return self

        def learn_one(self, x: dict[str, float], y: int) -> None:
            learnt.append((numbered_row(x), y))

        def predict_proba_one(self, x: dict[str, float]) -> dict[int, float]:
            now, seen = numbered_row(x), log.episode.outcome_seen
            by_then = sorted((int(seen[row]), row) for row in range(log.rows) if seen[row] != -1 and seen[row] < now)
            assert learnt == [(row, log.episode.y[row]) for _, row in by_then]
            return {}

    said = said_by(online(Model(), name="model"), log)
    assert np.exp(said) == pytest.approx(1 / 4)


def test_a_factored_online_rival_learns_outcomes_with_the_proxy_of_their_row() -> None:
    log = rival_log("varying")
    log.episode.x.symbols[:, 0] = np.arange(log.rows)
    learnt: list[tuple[int, int, int]] = []

    class Model:
        """Keeps what it is given of rows that have a proxy."""

        def __deepcopy__(self, memory: Any) -> "Model":
            return self

        def learn_one(self, x: dict[str, float], y: int) -> None:
            row = next(int(name.removeprefix("column0=")) for name in x if name.startswith("column0="))
            learnt.extend((row, int(name[-1]), y) for name in x if name in ("proxy=0", "proxy=1", "proxy=2"))

        def predict_proba_one(self, x: dict[str, float]) -> dict[int, float]:
            return {}

    said_by(online(Model(), factored=True, name="model"), log)
    both, one = outcomes_with_proxies(log).arrivals, log.episode
    known = both.rows[: both.known[log.rows - 1]].tolist()
    assert learnt == [(row, one.z[row], one.y[row]) for row in known]


def test_a_factored_retrained_rival_is_told_rates_of_proxies_in_h_and_of_outcomes_in_g() -> None:
    log = rival_log("fixed")
    given: list[Any] = []

    class Model(Recorder):
        """Keeps the matrices that its copies are trained on."""

        def __deepcopy__(self, memory: Any) -> "Model":
            return Model()

        def fit(self, values: Any, classes: Any) -> None:
            given.append(values)
            super().fit(values, classes)

    said_by(retrained(Model(), factored=True, times=1, name="model"), log)
    first, *_ = begins = trainings(log, (proxy_signal(log), outcomes_with_proxies(log)), schedule(1, None))
    assert len(given) == 2 * len(begins)
    for signal, values in ((proxy_signal(log), given[0]), (outcome_signal(log), given[1])):
        known = outcomes_with_proxies(log) if signal.size == 4 else signal
        rows = np.sort(known.arrivals.rows[: known.arrivals.known[first]])
        expected = feature_matrix(log, signal, one_hot=True, first=first).values[rows]
        assert (values[:, : expected.shape[1]] == expected).all()


def test_trainings_are_as_far_apart_as_they_should_be() -> None:
    log = rival_log("fixed")
    found = trainings(log, (outcome_signal(log),), schedule(20, "7 days"))
    assert found[0] == LEAST_ROWS + 40  # the last outcome is seen at the end of the round before
    assert set(np.diff(log.shown_at[found]).tolist()) == {7 * DAY}
    even = trainings(log, (outcome_signal(log),), schedule(20, None))
    assert 20 <= len(even) <= 24
    assert trainings(rival_log("never"), (outcome_signal(rival_log("never")),), schedule(20, None)) == []


def test_outcomes_whose_proxy_is_not_known_yet_wait_for_it() -> None:
    log = rival_log("varying")
    both, one = outcomes_with_proxies(log), log.episode
    for row in (100, 250, 400):
        known = {int(each) for each in both.arrivals.rows[: both.arrivals.known[row]]}
        assert known == {
            each
            for each in range(log.rows)
            if -1 not in (one.proxy_seen[each], one.outcome_seen[each])
            and max(one.proxy_seen[each], one.outcome_seen[each]) < row
        }
    assert proxy_signal(log).size == 3
