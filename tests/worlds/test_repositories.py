"""The simulated repositories deal what their settings say, and resemble the real ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from examples.repository_statistics import Moments, capped, drift, modes, moments_of, rates, told, windows_of
from presage.errors import SettingError
from presage.worlds.repositories import DAY, LANGUAGES, CommitHistory, RepositorySettings

SETTINGS = RepositorySettings()
FEW = RepositorySettings(repositories=40, years=1)


@pytest.fixture(scope="module")
def history() -> CommitHistory:
    return SETTINGS.deal(seed=0)


@pytest.fixture(scope="module")
def by_mode(history: CommitHistory) -> dict[str, Moments]:
    key = capped(history)
    windows = windows_of(key, SETTINGS.repositories, SETTINGS.windows)
    return modes(moments_of(key, windows, history.observed_until))


def test_the_same_seed_deals_the_same_and_another_deals_another() -> None:
    first, again, other = (FEW.deal(seed) for seed in (1, 1, 2))
    for name in ("repository", "at", "written_in"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert np.array_equal(first.observed_until, other.observed_until)


def test_commits_are_in_order_and_within_what_is_observed(history: CommitHistory) -> None:
    assert history.repository.dtype == np.int32
    assert history.at.dtype == history.observed_until.dtype == np.int64
    step, ahead = np.diff(history.repository), np.diff(history.at)
    assert (step >= 0).all()
    assert (ahead[step == 0] >= 0).all()
    assert history.at.min() >= SETTINGS.windows[0] - 365 * DAY
    assert (history.at < history.observed_until[history.repository]).all()
    assert (history.observed_until == SETTINGS.windows[-1] + (252 + 21) * DAY).all()


def test_windows_begin_on_the_first_of_may_and_end_where_the_paper_says() -> None:
    begin = np.array(SETTINGS.windows).astype("datetime64[s]")
    assert [str(day.astype("datetime64[D]")) for day in begin] == ["2015-05-01", "2016-05-01", "2017-05-01"]
    assert str((begin[-1] + np.timedelta64(252 * DAY, "s")).astype("datetime64[D]")) == "2018-01-08"


def test_names_and_languages_belong_to_the_repositories(history: CommitHistory) -> None:
    assert len(set(history.repositories)) == SETTINGS.repositories
    assert history.languages == tuple(LANGUAGES)
    assert history.written_in.shape == (SETTINGS.repositories, len(LANGUAGES))
    assert history.written_in.dtype == bool
    error = np.sqrt(0.25 / SETTINGS.repositories)
    np.testing.assert_allclose(history.written_in.mean(axis=0), list(LANGUAGES.values()), atol=4 * error)


# The rate in the real data of 2014 to 2020, and the standard deviation of this world's over 12 seeds.
REAL: dict[str, dict[str, tuple[float, float]]] = {
    "A": {
        "P(z=0)": (0.796, 0.0035),
        "P(z=1)": (0.074, 0.0026),
        "P(z=2)": (0.130, 0.0024),
        "P(y=1 given z=0)": (0.160, 0.0056),
        "P(y=1 given z=1)": (0.362, 0.0116),
        "P(y=1 given z=2)": (0.843, 0.0047),
    },
    "B": {
        "P(z=0)": (0.353, 0.0108),
        "P(z=1)": (0.114, 0.0022),
        "P(z=2)": (0.533, 0.0116),
        "P(y=1 given z=0)": (0.375, 0.0078),
        "P(y=1 given z=1)": (0.630, 0.0082),
        "P(y=1 given z=2)": (0.959, 0.0026),
    },
}
MISFIT = 0.01
"""Admitted on top of three standard deviations."""


@pytest.mark.parametrize("mode", ["A", "B"])
def test_proxies_and_outcomes_are_as_frequent_as_in_the_real_data(mode: str, by_mode: dict[str, Moments]) -> None:
    found = rates(by_mode[mode])
    far = {
        name: (found[name], real)
        for name, (real, deviation) in REAL[mode].items()
        if abs(found[name] - real) > MISFIT + 3 * deviation
    }
    assert not far


def test_what_an_outcome_owes_to_its_proxy_shifts_between_the_modes(by_mode: dict[str, Moments]) -> None:
    quiet, busy = rates(by_mode["A"]), rates(by_mode["B"])
    for z in range(3):
        assert busy[f"P(y=1 given z={z})"] > quiet[f"P(y=1 given z={z})"] + 0.08
    assert drift(quiet, busy) == pytest.approx(0.101, abs=MISFIT + 3 * 0.0057)


def test_history_tells_what_the_proxy_does_not(by_mode: dict[str, Moments], history: CommitHistory) -> None:
    """Of busy ones, so that a factored forecaster stays above a residual one; four deviations over seeds."""
    busy = told(by_mode["B"], history.written_in)
    assert busy["H(Y) - loss of y given x"] == pytest.approx(0.0905, abs=4 * 0.0044)
    assert busy["loss of y given z - given z and x"] == pytest.approx(0.0269, abs=4 * 0.0020)
    assert busy["loss of factored - loss of residual"] == pytest.approx(0.0186, abs=4 * 0.0012)


def test_of_quiet_repositories_history_tells_little(by_mode: dict[str, Moments], history: CommitHistory) -> None:
    quiet = told(by_mode["A"], history.written_in)
    assert 0 < quiet["H(Y) - loss of y given x"] < 0.03
    assert 0 < quiet["loss of factored - loss of residual"] < 0.01


def test_young_repositories_begin_within_the_history() -> None:
    def late(young: float) -> float:
        dealt = replace(SETTINGS, repositories=300, young=young).deal(seed=5)
        whose, first = np.unique(dealt.repository, return_index=True)
        assert len(whose) > 250
        return float((dealt.at[first] > SETTINGS.windows[0]).mean())

    assert late(0.0) < 0.15
    assert late(1.0) > 0.6


@pytest.mark.parametrize(
    "change",
    [
        {"repositories": 0},
        {"years": 0},
        {"first_year": 1900},
        {"awake_days": 0.0},
        {"quiet_spread": -1.0},
        {"log_rate": float("nan")},
        {"young": 1.5},
        {"language_tie": -0.1},
    ],
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        replace(SETTINGS, **change)
