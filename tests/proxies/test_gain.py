"""The gain of a proxy: the count against the obvious one and against a backtest, and what it must not see."""

import numpy as np
import pytest

from presage.backtesting.backtest import new_rows, seen
from presage.drivers.play import play
from presage.forecasters.catalogue import STRENGTH as BACKTEST_STRENGTH
from presage.forecasters.catalogue import TaskFacts, named_forecasters
from presage.logs.signals import NEVER_AT
from presage.proxies import gain
from presage.proxies.gain import KAPPA, STRENGTH, Gains, expected_gain, gain_of_rows, instants
from presage.proxies.signals import PredictionRows, ProxyCandidate
from presage.spaces import Array, Features, Instance, Spaces
from presage.timeline.episode import Episode
from tests.proxies.logs import launches


def small(seed: int, rows: int = 240) -> tuple[PredictionRows, ProxyCandidate]:
    """A short log with missing feedback, delays that differ and proxies after outcomes, many rows in one instant."""
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 12, rows)
    shown_at = np.sort(draw.integers(0, 80, rows).astype(float))
    z, y = draw.integers(-1, 3, rows), draw.integers(-1, 2, rows)
    log = PredictionRows(x, shown_at, y, draw.integers(15, 25, rows), outcomes=2, cohort=x % 3, finer=(x % 6,))
    delay = draw.integers(0, 6, rows).astype(float)
    delay[::9] += 30
    return log, ProxyCandidate("sign", z, delay, 3)


def shrunk(counts: Array, to: Array, strength: float) -> Array:
    return (counts + strength * to) / (counts.sum() + strength)


def chain(levels: list[Array], strength: float) -> Array:
    """Counts from coarse to fine, each shrunk to the one before."""
    said = (levels[0] + 1) / (levels[0].sum() + len(levels[0]))
    for level in levels[1:]:
        said = shrunk(level, said, strength)
    return said


def slow_gains(log: PredictionRows, sign: ProxyCandidate) -> Gains:
    """One prediction at a time, looking at every row for each."""
    z_at, y_at = log.shown_at + sign.delay, log.shown_at + log.delay
    wait, early = np.median(log.delay[log.y >= 0]), np.median(sign.delay[sign.z >= 0])
    keys = [*log.levels, log.x]
    rows, found = np.flatnonzero(log.y >= 0), []
    for number, i in enumerate(rows):
        now = log.shown_at[i]
        launch = now - (number * 0.6180339887498949) % 1.0 * wait
        outcomes, proxies, pairs = np.zeros((4, 2)), np.zeros((4, 3)), np.zeros((4, 3, 2))
        young = np.zeros(3)
        for j in range(len(log.x)):
            alike = [key[j] == key[i] for key in keys]
            if log.y[j] >= 0 and y_at[j] < now:
                outcomes[alike, log.y[j]] += 1
            if sign.z[j] >= 0 and z_at[j] < now:
                proxies[alike, sign.z[j]] += 1
                young[sign.z[j]] += alike[-1] and launch + early <= z_at[j]
            if log.y[j] >= 0 and sign.z[j] >= 0 and max(y_at[j], z_at[j]) < now:
                pairs[alike, sign.z[j], log.y[j]] += 1
        q, h = (chain(list(counts), STRENGTH) for counts in (outcomes, proxies))
        g = np.stack([chain(list(pairs[:, k]), KAPPA) for k in range(3)])
        pooled = np.stack([chain(list(pairs[:-1, k]), KAPPA) for k in range(3)])
        fresh = chain([*proxies[:-1], young], STRENGTH)
        launched = np.log(fresh @ pooled / chain(list(outcomes[:-1]), STRENGTH))[log.y[i]]
        overall = np.log(h @ g / q)[log.y[i]]
        new = proxies[-1].any() and not outcomes[-1].any()
        found.append((launched if pairs.any() else np.nan, overall if new else np.nan, overall))
    return Gains(rows, *np.array(found).T)


@pytest.mark.parametrize("seed", range(3))
def test_the_count_is_the_obvious_one(seed: int) -> None:
    log, sign = small(seed)
    slow, quick = slow_gains(log, sign), gain_of_rows(log, sign)
    assert np.count_nonzero(~np.isnan(slow.launched)) > 50
    assert np.count_nonzero(~np.isnan(slow.new)) > 5
    for one, other in zip(quick, slow, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def backtested(log: PredictionRows, sign: ProxyCandidate) -> tuple[Array, Array]:
    """How much less the residual table of a backtest loses than the direct one on each row; and which rows are new."""
    moments = [
        seen(instants(log.shown_at), np.where(np.isnan(delay), NEVER_AT, instants(log.shown_at + np.nan_to_num(delay))))
        for delay in (sign.delay, log.delay)
    ]
    symbols = np.stack([log.x, *log.levels[1:]], axis=1).astype(np.int32)
    x = Instance(symbols, np.zeros((len(log.x), 0), np.float32))
    sizes = Features(symbols=tuple(int(size) + 1 for size in symbols.max(axis=0)))
    episode, spaces = Episode.varying(x, sign.z, log.y, *moments), Spaces(sizes, sign.symbols, log.outcomes)
    groups = tuple(tuple(range(1, last + 1)) for last in range(1, symbols.shape[1]))
    named, facts = named_forecasters(groups), TaskFacts(groups)
    direct, residual = (
        play(named[f"{name}-table-backing-off"].make(spaces, facts), episode, 0) for name in ("direct", "residual")
    )
    return np.asarray(direct) - np.asarray(residual), new_rows(log.x, *moments)


@pytest.mark.long
def test_gains_overall_and_on_new_instances_are_those_of_residual_over_direct_in_a_backtest() -> None:
    """Row by row, with the tables that a backtest plays and everything as it was known then."""
    assert BACKTEST_STRENGTH == STRENGTH
    log, sign = small(5, 500)
    gains = gain_of_rows(log, sign)
    difference, new = backtested(log, sign)
    np.testing.assert_allclose(gains.overall, difference[gains.rows], atol=1e-5)
    np.testing.assert_allclose(gains.new, np.where(new, difference, np.nan)[gains.rows], atol=1e-5)


@pytest.mark.long
def test_the_gain_as_if_launched_is_what_instances_gain_that_are() -> None:
    """20 logs in which instances come and go: those that were new in the log, and all of them as if they were."""
    expected, found = [], []
    for seed in range(20):
        log, z = launches(seed, tilt=1.0, rows=3000)
        gains = gain_of_rows(log, ProxyCandidate("useful", z, 1.0, 3))
        learnt = log.shown_at[gains.rows] > 25
        expected.append(np.nanmean(gains.launched))
        found.append(np.nanmean(gains.new[learnt]))
    apart = np.array(expected) - found
    assert np.mean(found) > 0.02
    # Some of those as if launched have no proxy of their own yet, so they gain a little less.
    assert abs(apart.mean()) < 3 * apart.std() / np.sqrt(20) + 0.2 * np.mean(found)


def test_a_gain_is_not_swallowed_by_pooling() -> None:
    """Cohorts differ in what a proxy means: a g without cohorts would lose what pooling outcomes by them gains."""
    draw = np.random.default_rng(9)
    rows, instances = 6000, 200
    launch = draw.uniform(-60, 240, instances)
    x = draw.integers(0, instances, 3 * rows)
    at = launch[x] + draw.uniform(0, 60, len(x))
    inside = np.flatnonzero((at >= 0) & (at < 240))[:rows]
    inside = inside[np.argsort(at[inside])]
    x, at = x[inside], at[inside]
    cohort = x % 3
    opened = (draw.random(len(x)) < draw.beta(1, 1, instances)[x]).astype(int)
    odds = np.array([-2.5, 0.0, 2.5])[cohort] + np.array([2.0, -2.0, 0.5])[cohort] * opened
    y = (draw.random(len(x)) < 1 / (1 + np.exp(-odds))).astype(int)
    log = PredictionRows(x, at, y, np.full(len(x), 21.0), outcomes=2, cohort=cohort)
    gains = expected_gain(log, ProxyCandidate("opened", opened, 1.0, 2))
    assert all(gain.low > 0 for gain in gains)


def test_no_gain_depends_on_feedback_before_it_is_known() -> None:
    """Symbols that become known from some moment on are changed; gains of rows shown until then stay."""
    log, z = launches(0)
    sign = ProxyCandidate("useful", z, 1.0, 3)
    before = gain_of_rows(log, sign)
    moment = 150.0
    later_y, later_z = log.shown_at + log.delay >= moment, log.shown_at + sign.delay >= moment
    tampered = PredictionRows(log.x, log.shown_at, np.where(later_y, 1 - log.y, log.y), log.delay, 2, log.cohort)
    after = gain_of_rows(tampered, ProxyCandidate("useful", np.where(later_z, (z + 1) % 3, z), 1.0, 3))
    judged = ~np.isnan(before.launched) & (log.shown_at <= moment) & ~later_y  # its own outcome is what it is judged by
    later = log.shown_at > moment + 5
    assert judged.sum() > 500
    for one, other in ((before.launched, after.launched), (before.overall, after.overall)):
        assert (one[judged] == other[judged]).all()
        assert not np.allclose(one[later], other[later])


def test_the_earlier_a_proxy_comes_the_more_it_gains() -> None:
    log, z = launches(1)
    gains = [expected_gain(log, ProxyCandidate("sign", z, delay, 3)).launched.value for delay in (0.5, 10.0, 20.5)]
    assert gains == sorted(gains, reverse=True)
    assert gains[2] == pytest.approx(0.0, abs=0.005)


def test_few_judged_rows_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    log, z = launches(2)
    sign = ProxyCandidate("useful", z, 1.0, 3)
    of_all = expected_gain(log, sign)
    monkeypatch.setattr(gain, "JUDGED", 1500)
    assert len(gain_of_rows(log, sign).rows) == 1500
    for of_some, whole in zip(expected_gain(log, sign), of_all, strict=True):
        assert of_some.low < whole.value < of_some.high


def test_without_an_outcome_in_time_there_is_no_gain_to_tell() -> None:
    log, z = launches(3)
    never = PredictionRows(log.x, log.shown_at, log.y, log.delay + 1000, outcomes=2)
    for mean in expected_gain(never, ProxyCandidate("useful", z, 1.0, 3)):
        assert np.isnan(mean).all()
