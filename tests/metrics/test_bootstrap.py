"""Block bootstrap intervals cover on series whose neighbours are alike."""

import numpy as np
import pytest

from presage.errors import SettingError, ShapeError
from presage.metrics import bootstrap
from presage.metrics.bootstrap import bootstrap_differences, bootstrap_mean, bootstrap_means
from presage.metrics.intervals import mean_interval
from presage.spaces import Array


def alike(series: int, rows: int, memory: float, seed: int) -> Array:
    """Series [K, n] of mean 0 in which each row remembers the one before."""
    noise = np.random.default_rng(seed).normal(size=(series, rows + 200))
    values = np.zeros_like(noise)
    for t in range(1, rows + 200):
        values[:, t] = memory * values[:, t - 1] + noise[:, t]
    return values[:, 200:]


@pytest.mark.parametrize(("rows", "memory"), [(400, 0.0), (2000, 0.5), (2000, 0.9)])
def test_intervals_cover_the_mean_where_neighbours_are_alike(rows: int, memory: float) -> None:
    """200 series: at least 90 % covered, within 3 standard errors of that, where rows taken as independent fail."""
    series = alike(200, rows, memory, seed=1)
    hits = [low <= 0.0 <= high for _, low, high in (bootstrap_mean(each, resamples=200) for each in series)]
    assert np.mean(hits) > 0.90 - 3 * np.sqrt(0.9 * 0.1 / 200)
    if memory == 0.9:
        naive = [low <= 0.0 <= high for _, low, high in map(mean_interval, series)]
        assert np.mean(naive) < 0.5


def test_intervals_cover_where_correlations_are_small_and_last_long() -> None:
    """A tenth of the variance is a slow wave: each correlation lies below the threshold, and together they matter."""
    slow = alike(300, 1024, 0.95, seed=3) * np.sqrt(0.1 * (1 - 0.95**2))
    series = slow + np.random.default_rng(4).normal(size=slow.shape) * np.sqrt(0.9)
    hits = [low <= 0.0 <= high for _, low, high in (bootstrap_mean(each, resamples=200) for each in series)]
    assert np.mean(hits) > 0.90 - 3 * np.sqrt(0.9 * 0.1 / 300)


@pytest.mark.parametrize("unknown", [0.0, 0.9])
@pytest.mark.parametrize(("length", "student"), [(6, 2.0096), (60, 2.7764)])  # 97.5 % with 49 and 4 degrees of freedom
def test_the_fast_path_resamples_what_the_obvious_one_does(
    length: int, student: float, unknown: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows gathered run by run, and the mean of those known, spread as much as the sums of runs do.

    Of the first four fifths some are `unknown`: runs then differ in how many rows they hold.
    """
    series = alike(1, 600, 0.6, seed=2)[0]
    series[np.random.default_rng(3).random(600) < np.where(np.arange(600) < 480, unknown, 0.0)] = np.nan
    monkeypatch.setattr(bootstrap, "_run_length", lambda centred: length)
    fast = bootstrap_mean(series, resamples=20_000)
    draw = np.random.default_rng(0)
    pieces, size = 300, 2
    runs = pieces // length
    means = []
    for _ in range(5000):
        starts = draw.integers(0, pieces, runs) * size
        rows = (starts[:, None] + np.arange(length * size)) % len(series)
        means.append(np.nanmean(series[rows]))
    slow = student * np.std(means) * np.sqrt(runs / (runs - 1))
    assert (fast.high - fast.low) / 2 == pytest.approx(slow, rel=0.05)
    assert fast.mean == pytest.approx(np.nanmean(series))


def test_longer_memory_asks_for_longer_runs() -> None:
    lengths = [bootstrap._best_length(alike(1, 512, memory, seed=3)[0]) for memory in (0.0, 0.5, 0.9)]
    assert lengths[0] <= 3
    assert lengths == sorted(set(lengths))


def test_the_best_length_is_that_of_the_theory() -> None:
    """Where each row remembers a share m of the one before: (1.5 (2 m / (1 - m^2))^2 n)^(1/3), by Politis and White."""
    lengths = [bootstrap._best_length(each) for each in alike(60, 8192, 0.5, seed=11)]
    assert np.mean(lengths) == pytest.approx((1.5 * (4 / 3) ** 2 * 8192) ** (1 / 3), rel=0.1)


def test_runs_are_never_so_long_that_hardly_any_are_left() -> None:
    """Politis and White's bound, three times the root of the number of pieces, or a third of them if that is less."""
    walk = np.random.default_rng(8).normal(size=512).cumsum()
    assert bootstrap._run_length(walk) <= 68
    for pieces in range(2, 60):
        assert 3 * (bootstrap._run_length(walk[:pieces]) - 1) < pieces


def test_an_interval_depends_on_its_own_series_alone() -> None:
    calm, restless = alike(1, 3000, 0.2, seed=9)[0], alike(1, 3000, 0.999, seed=10)[0]
    assert bootstrap_means(np.stack([calm, restless])) == [bootstrap_mean(calm), bootstrap_mean(restless)]


def test_differences_are_paired() -> None:
    shared = alike(1, 3000, 0.9, seed=4)[0]
    draw = np.random.default_rng(5)
    losses = np.stack([shared + 0.1 + draw.normal(0, 0.1, 3000), shared + draw.normal(0, 0.1, 3000)])
    more, same = bootstrap_differences(losses, shared)
    assert more.low > 0.09
    assert same.low < 0 < same.high
    assert more.high - more.low < 0.1 * (bootstrap_mean(losses[0]).high - bootstrap_mean(losses[0]).low)


def test_rows_without_a_number_are_left_out() -> None:
    values = np.random.default_rng(6).normal(1.0, 0.2, 4000)
    some = np.where(np.arange(4000) % 4 == 0, values, np.nan)
    of_some, of_all, of_none = bootstrap_means(np.stack([some, values, np.full(4000, np.nan)]))
    assert of_some.mean == pytest.approx(values[::4].mean())
    assert of_some.high - of_some.low > 1.5 * (of_all.high - of_all.low)
    assert np.isnan(of_none).all()


def test_a_seed_gives_the_same_interval_again() -> None:
    values = alike(1, 100, 0.5, seed=7)[0]
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


def test_short_series_work_and_shorter_ones_are_refused() -> None:
    for rows in range(4, 12):
        assert bootstrap_mean(np.arange(float(rows))).low < rows / 2
    with pytest.raises(ShapeError, match="at least 4 rows"):
        bootstrap_mean(np.arange(3.0))
    with pytest.raises(ShapeError, match="differ in length"):
        bootstrap_differences(np.zeros((2, 10)), np.zeros(9))
    with pytest.raises(SettingError, match="resamples"):
        bootstrap_mean(np.arange(10.0), resamples=3)


def test_the_mean_of_hardly_any_rows_is_not_told() -> None:
    losses = np.full(1000, np.nan)
    for known in range(4):
        assert np.isnan(bootstrap_mean(losses)).all(), known
        losses[100 * known] = 0.3
    losses[700] = 0.1
    assert bootstrap_mean(losses).mean == pytest.approx(0.26)
