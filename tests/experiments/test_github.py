"""The GitHub experiment in small: what is asked, what is measured, and that it runs from settings alone."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from presage.errors import DataError, SettingError
from presage.experiments.github.claims import judge
from presage.experiments.github.experiment import reproduce_github
from presage.experiments.github.moments import DAY, find_moments
from presage.experiments.github.problem import ask, play_github
from presage.experiments.github.settings import SMOKE, GithubSettings
from presage.worlds.repositories import CommitHistory, RepositorySettings

WORLD = RepositorySettings(repositories=40, years=1)


def silent(steps: int) -> None:
    """Progress that nobody watches."""


def at(text: str) -> int:
    return int(np.datetime64(text, "s").astype(np.int64))


def test_moments_are_counted_as_a_plain_loop_counts_them() -> None:
    history = RepositorySettings(repositories=6, years=1, first_year=2016).deal(3)
    settings = replace(SMOKE, grid_hours=24 * 9, bulk=3, proxy_days=7, outcome_days=21)
    found = find_moments(history, settings)
    expected: dict[str, list[tuple[list[float], int, int]]] = {"A": [], "B": []}
    common = np.argsort(-history.written_in.sum(axis=0), kind="stable")[: settings.languages]
    for year in (2015, 2016, 2017):
        start = at(f"{year}-05-01")
        for name in range(len(history.repositories)):
            commits = history.at[history.repository == name]
            hours: dict[int, int] = {}
            kept = []
            for moment in commits.tolist():
                hours[moment // 3600] = hours.get(moment // 3600, 0) + 1
                if hours[moment // 3600] <= 3:
                    kept.append(moment)
            days = {moment // DAY for moment in commits.tolist()}
            if sum(start // DAY <= day < start // DAY + 252 for day in days) < settings.commit_days:
                continue
            for t in range(start, start + 252 * DAY, 9 * DAY):
                if t + 21 * DAY > history.observed_until[name]:
                    continue

                def between(first: int, last: int, kept: list[int] = kept) -> int:
                    return sum(first < moment <= last for moment in kept)

                edges = [0, *settings.history_days]
                past = [between(t - b * DAY, t - a * DAY) for a, b in pairwise(edges)]
                x = [*map(float, history.written_in[name, common]), *np.log1p(past)]
                z = int(np.digitize(between(t, t + 7 * DAY), settings.proxy_edges))
                y = int(between(t, t + 21 * DAY) >= settings.outcome_least)
                if between(t - 30 * DAY, t) <= 1:
                    expected["A"].append((x, z, y))
                if between(t - 7 * DAY, t) >= 2:
                    expected["B"].append((x, z, y))
    for mode, rows in expected.items():
        assert len(rows) > 5
        assert sorted(zip(found[mode].z, found[mode].y, strict=True)) == sorted((z, y) for _, z, y in rows)
        ours = sorted(found[mode].features.round(4).tolist())
        assert np.allclose(ours, sorted(np.array([x for x, _, _ in rows], np.float32).round(4).tolist()))


def midnights(first: str, days: int, seen: str) -> CommitHistory:
    """One repository, with a commit at so many midnights, seen until some day."""
    commits = at(first) + DAY * np.arange(days)
    return CommitHistory(
        ("one",), np.zeros(days, np.int32), commits, ("C",), np.ones((1, 1), bool), np.array([at(seen)])
    )


DAILY = replace(SMOKE, grid_hours=24, proxy_days=7, outcome_days=21, languages=1)


def test_nobody_is_asked_about_a_moment_whose_outcome_was_not_seen() -> None:
    found = find_moments(midnights("2016-05-01", 61, seen="2016-07-01"), DAILY)
    assert len(found["A"].z) == 1  # the first of May
    assert len(found["B"].z) == 40  # from the second of May to the tenth of June
    assert (found["B"].y == 1).all()


def test_a_commit_at_the_very_moment_is_past() -> None:
    found = find_moments(midnights("2016-05-01", 3, seen="2017-07-01"), DAILY)
    assert found["A"].y[0] == 0  # on the first of May two commits are to come, and three were wanted
    assert np.expm1(found["A"].features[0, 1:]).round().tolist() == [1, 0, 0, 0]
    assert found["B"].z[:2].tolist() == [1, 0]  # on the second of May one is to come, on the third none


def test_the_second_mode_follows_the_first_at_the_switch() -> None:
    moments = find_moments(WORLD.deal(0), SMOKE)
    oracle = {"A": np.zeros(len(moments["A"].z)), "B": np.ones(len(moments["B"].z))}
    asked = ask(SMOKE, moments, oracle, np.arange(2))
    assert asked.oracle.shape == (2, SMOKE.rounds)
    assert (asked.oracle[:, : SMOKE.switch] == 0).all()
    assert (asked.oracle[:, SMOKE.switch :] == 1).all()
    reversed_ = ask(replace(SMOKE, modes=("B", "A")), moments, oracle, np.arange(2))
    assert (reversed_.oracle[:, : SMOKE.switch] == 1).all()
    later = ask(SMOKE, moments, oracle, np.array([1]))
    assert np.array_equal(later.episode.z[0], asked.episode.z[1])  # a trial is itself in whatever part it is played


@pytest.mark.long
def test_a_small_run_gives_a_whole_report() -> None:
    told: list[int] = []
    report, files = reproduce_github(SMOKE, lambda seed: (WORLD.deal(seed), f"a test of seed {seed}"), told.append)
    assert sum(told) == SMOKE.trials
    pictures = {f"figure-{number}.{kind}" for number in (4, 5) for kind in ("svg", "png")}
    assert set(files) == pictures | {"results.json", "loss.csv", "regret.csv"}
    kept = json.loads(files["results.json"])
    assert [claim["id"] for claim in kept["claims"]] == ["G1", "G2", "G3", "G4", "G5", "X1"]
    assert {"week", "loss", "regret", "recovery_weeks"} <= set(kept["results"])
    names = {"direct", "factored", "residual", "mixture"}
    assert all(set(kept["results"][part]) == names for part in ("loss", "regret", "recovery_weeks"))
    bins = len(kept["results"]["week"])
    assert bins == SMOKE.rounds // 5
    assert all(len(curve) == bins for curve in kept["results"]["loss"].values())
    assert report.as_json()["settings"]["outcome_days"] == SMOKE.outcome_days


@pytest.mark.long
def test_other_adversaries_thresholds_and_horizons_run_from_settings_alone() -> None:
    settings = replace(SMOKE, modes=("B", "A"), outcome_least=5, outcome_days=6, optimiser="adam")
    run = play_github(WORLD.deal(1), settings, "a test of other settings", silent)
    assert all(np.isfinite(curve).all() for curve in run.losses.values())
    assert len(judge(settings, run)) == 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"modes": ("A", "A")}, "modes must be A and B"),
        ({"switch_week": 2.0}, "too little before or after the switch"),
        ({"round_minutes": 7}, "whole number of rounds"),
        ({"proxy_days": 5}, "before outcomes"),
        ({"proxy_edges": (2, 1)}, "must be ascending"),
        ({"optimiser": "lion"}, "optimiser is unknown"),
        ({"trials": 1}, "trials"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        replace(SMOKE, **change)


def test_a_history_without_a_mode_is_refused() -> None:
    once_a_month = np.arange(at("2016-01-01"), at("2017-12-31"), 31 * DAY)
    history = CommitHistory(
        ("slow",), np.zeros(len(once_a_month), np.int32), once_a_month, ("C",), np.ones((1, 1), bool), once_a_month[-1:]
    )
    with pytest.raises(DataError, match="no moment is in mode B"):
        find_moments(history, GithubSettings())
