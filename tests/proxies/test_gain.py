"""The gain of a proxy: the quick replay against the obvious one, and what it must not see."""

import numpy as np
import pytest

from presage.proxies import gain
from presage.proxies.gain import KAPPA, PIECES, expected_gain, gain_of_rows
from presage.proxies.signals import Candidate, Predictions
from presage.spaces import Array
from tests.proxies.logs import launches


def small(seed: int, rows: int = 240) -> tuple[Predictions, Candidate]:
    """A short log with missing feedback and delays that differ."""
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 12, rows)
    shown_at = np.sort(draw.integers(0, 80, rows).astype(float))
    z, y = draw.integers(-1, 3, rows), draw.integers(-1, 2, rows)
    log = Predictions(x, shown_at, y, draw.uniform(15, 25, rows), outcomes=2, cohort=x % 3)
    return log, Candidate("sign", z, draw.integers(0, 6, rows).astype(float), 3)


def shrunk(counts: Array, to: Array) -> Array:
    return (counts + KAPPA * to) / (counts.sum() + KAPPA)


def slow_gains(log: Predictions, sign: Candidate) -> list[float]:
    """One prediction at a time, looking at every row for each."""
    rows = range(len(log.x))
    starts = [log.shown_at[int(piece * len(log.x) / PIECES)] for piece in range(PIECES)]
    z_at, y_at = log.shown_at + sign.delay, log.shown_at + log.delay
    wait, early = np.median(log.delay[log.y >= 0]), np.median(sign.delay[sign.z >= 0])
    gains = []
    for number, i in enumerate(r for r in rows if log.y[r] >= 0):
        now = log.shown_at[i]
        start = max(s for s in starts if s <= now)
        cohorts = log.cohort
        assert cohorts is not None
        outcomes, proxies = np.zeros((3, 2)), np.zeros((3, 3))
        pairs, own = np.zeros((3, 2)), np.zeros(3)
        launch = now - (number * 0.6180339887498949) % 1.0 * wait
        for j in rows:
            if log.y[j] >= 0 and y_at[j] < start:
                outcomes[cohorts[j], log.y[j]] += 1
            if sign.z[j] >= 0 and z_at[j] < start:
                proxies[cohorts[j], sign.z[j]] += 1
            if log.y[j] >= 0 and sign.z[j] >= 0 and max(y_at[j], z_at[j]) < start:
                pairs[sign.z[j], log.y[j]] += 1
            if sign.z[j] >= 0 and log.x[j] == log.x[i] and launch + early <= z_at[j] < now:
                own[sign.z[j]] += 1
        base = shrunk(outcomes.sum(axis=0), np.full(2, 1 / 2))
        q = shrunk(outcomes[cohorts[i]], base)
        h = shrunk(own, shrunk(proxies[cohorts[i]], shrunk(proxies.sum(axis=0), np.full(3, 1 / 3))))
        p = sum(h[k] * shrunk(pairs[k], base) for k in range(3))
        gains.append(float(np.log(p / q)[log.y[i]]) if pairs.any() else np.nan)
    return gains


@pytest.mark.parametrize("seed", range(3))
def test_the_quick_replay_is_the_obvious_one(seed: int) -> None:
    log, sign = small(seed)
    slow = np.array(slow_gains(log, sign))
    assert np.count_nonzero(~np.isnan(slow)) > 50
    np.testing.assert_allclose(gain_of_rows(log, sign), slow, rtol=1e-9)


def test_no_gain_depends_on_feedback_before_it_is_known() -> None:
    """Symbols that become known from some moment on are changed; gains of rows shown until then stay."""
    log, z = launches(0)
    sign = Candidate("useful", z, 1.0, 3)
    before = gain_of_rows(log, sign)
    moment = 150.0
    later_y, later_z = log.shown_at + log.delay >= moment, log.shown_at + sign.delay >= moment
    tampered = Predictions(log.x, log.shown_at, np.where(later_y, 1 - log.y, log.y), log.delay, 2, log.cohort)
    after = gain_of_rows(tampered, Candidate("useful", np.where(later_z, (z + 1) % 3, z), 1.0, 3))
    judged = ~np.isnan(before) & (log.shown_at <= moment) & ~later_y  # the row's own outcome is what it is judged by
    assert judged.sum() > 500
    assert (before[judged] == after[judged]).all()
    assert not np.allclose(before[log.shown_at > moment + 5], after[log.shown_at > moment + 5])


def test_the_earlier_a_proxy_comes_the_more_it_gains() -> None:
    log, z = launches(1)
    gains = [expected_gain(log, Candidate("sign", z, delay, 3)).value for delay in (0.5, 10.0, 20.5)]
    assert gains == sorted(gains, reverse=True)
    assert gains[2] == pytest.approx(0.0, abs=0.005)


def test_few_judged_rows_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    log, z = launches(2)
    sign = Candidate("useful", z, 1.0, 3)
    of_all = expected_gain(log, sign).value
    monkeypatch.setattr(gain, "JUDGED", 1500)
    assert len(gain_of_rows(log, sign)) == 1500
    of_some = expected_gain(log, sign)
    assert of_some.low < of_all < of_some.high


def test_without_an_outcome_in_time_there_is_no_gain_to_tell() -> None:
    log, z = launches(3)
    never = Predictions(log.x, log.shown_at, log.y, log.delay + 1000, outcomes=2)
    assert np.isnan(expected_gain(never, Candidate("useful", z, 1.0, 3))).all()
