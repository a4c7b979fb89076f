"""Several seeds: claims are judged on the trials of all of them together, and of each alone."""

from collections.abc import Sequence
from typing import Any

import pytest

from presage.charts.pictures import Picture
from presage.experiments.claims import Claim, Measure, Verdict, every, some
from presage.experiments.github import claims as github_claims
from presage.experiments.github import experiment as github
from presage.experiments.github.problem import GithubRun
from presage.experiments.github.settings import PAPER as GITHUB
from presage.experiments.github.settings import GithubSettings
from presage.experiments.marketplace import experiment as marketplace
from presage.experiments.marketplace.settings import PAPER as MARKETPLACE
from presage.experiments.report import Report, Seconds
from presage.experiments.synthetic import experiment as synthetic
from presage.experiments.synthetic.settings import PAPER as SYNTHETIC
from presage.metrics.intervals import Interval
from tests.experiments import test_claims_github, test_claims_marketplace, test_claims_synthetic
from tests.experiments.verdicts import around, verdict_of

HOLDS, FAILS, CANNOT_TELL = Verdict.HOLDS, Verdict.FAILS, Verdict.CANNOT_TELL

SEEDS = tuple(range(9))
GAP = around(0.1)  # [trials]: 0.1, give or take 0.19; over nine seeds 0.06


def silent(steps: int) -> None:
    """Progress that nobody watches."""


def draw_nothing(experiment: Any, monkeypatch: pytest.MonkeyPatch, *figures: str) -> None:
    """Pictures and tables take longer than all the rest."""
    for name in figures:
        monkeypatch.setattr(experiment, name, lambda *what: None)
    monkeypatch.setattr(experiment, "picture", lambda chart: Picture(b"", b""))
    monkeypatch.setattr(experiment, "curve_table", lambda *what: "")


def told(report: Report, id: str) -> tuple[Verdict, set[Verdict]]:
    """The verdict on all seeds, and those on each."""
    assert report.as_json()["seeds"] == list(SEEDS)
    (pooled,) = [claim for claim in report.claims if claim.id == id]
    assert pooled.measures[0].interval.mean == pytest.approx(GAP.mean() * scale_of(pooled), rel=1e-3)
    return pooled.verdict, {verdict_of(id, claims) for claims in report.by_seed.values()}


def scale_of(claim: Claim) -> float:
    """How much of the gap a claim sums up."""
    return {"S2": 1.0, "G3": 0.01, "M2": 0.01 * 21 * 24 * 90}[claim.id]


def test_synthetic_claims_are_judged_on_all_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = test_claims_synthetic.CURVES | {"factored-75": test_claims_synthetic.CURVES["direct"] - GAP}
    monkeypatch.setattr(synthetic, "regret_by_mix", lambda own, progress: (test_claims_synthetic.MIXES, curves))
    points = test_claims_synthetic.grown(test_claims_synthetic.SLOPES)
    monkeypatch.setattr(synthetic, "regret_by_size", lambda own, progress: points)
    monkeypatch.setattr(synthetic, "regret_parts", lambda own, progress: [])
    monkeypatch.setattr(synthetic, "as_picture", lambda svg: Picture(b"", b""))
    report, _ = synthetic.reproduce_synthetic(SYNTHETIC, silent, lambda *what: "", SEEDS)
    assert told(report, "S2") == (HOLDS, {CANNOT_TELL})
    narrow, wide = (claims[5].measures[0].interval for claims in (report.claims, report.by_seed[0]))
    assert narrow.high - narrow.low == pytest.approx((wide.high - wide.low) / 3, rel=0.02)  # growth is pooled too


def test_github_claims_are_judged_on_all_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    base = test_claims_github.LOSSES
    losses = base | {"factored": base["residual"] + 0.01 * GAP[:, None]}
    counts = test_claims_github.MODES
    played: list[GithubSettings] = []

    def play(history: Any, own: GithubSettings, *more: Any) -> GithubRun:
        played.append(own)
        return GithubRun(losses, counts, 1.0)

    monkeypatch.setattr(github, "play_github", play)
    draw_nothing(github, monkeypatch, "figure_4", "figure_5")
    monkeypatch.setattr(github_claims, "LEAD_RESAMPLES", 5)
    report, _ = github.reproduce_github(GITHUB, lambda seed: (None, f"world {seed % 2}"), silent, SEEDS)  # type: ignore[arg-type,return-value]
    assert [own.seed for own in played] == list(SEEDS)
    assert told(report, "G3") == (HOLDS, {CANNOT_TELL})
    once = {mode: 2 * table.sum(axis=0) for mode, table in counts.items()}  # two worlds, however many seeds
    assert report.results["modes"] == {mode: table.tolist() for mode, table in once.items()}
    assert report.results["oracle_seconds"] == len(SEEDS)
    for name, curve in report.results["regret"].items():  # summed up in rounds, on either road
        assert curve[-1] == pytest.approx(report.results["total_regret"][name]["mean"], rel=1e-4)


def test_marketplace_claims_are_judged_on_all_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {
        "staggered": test_claims_marketplace.run(test_claims_marketplace.STAGGERED),
        "uniform": test_claims_marketplace.run(test_claims_marketplace.UNIFORM),
    }
    losses = runs["staggered"].losses
    near = losses | {"factored": losses["residual"] + 0.01 * GAP[:, None]}
    runs["staggered"] = runs["staggered"]._replace(losses=near)
    with_oracles: list[bool] = []

    def play(*what: Any, oracles: bool) -> Any:
        with_oracles.append(oracles)
        return runs

    monkeypatch.setattr(marketplace, "play_marketplace", play)
    draw_nothing(marketplace, monkeypatch, "figure_6", "figure_7")
    report, _ = marketplace.reproduce_marketplace(MARKETPLACE, lambda seed: (None, "a market"), silent, SEEDS)  # type: ignore[arg-type,return-value]
    assert told(report, "M2") == (HOLDS, {CANNOT_TELL})
    assert with_oracles == [True] + [False] * 8


@pytest.mark.parametrize(
    ("low", "high", "least", "most", "verdict"),
    [
        (1.0, 3.0, 0.5, None, HOLDS),
        (1.0, 3.0, 2.0, None, CANNOT_TELL),
        (1.0, 3.0, 3.5, None, FAILS),
        (1.0, 3.0, None, 3.5, HOLDS),
        (1.0, 3.0, None, 2.0, CANNOT_TELL),
        (1.0, 3.0, None, 0.5, FAILS),
        (1.0, 3.0, 0.5, 3.5, HOLDS),
        (1.0, 3.0, 0.5, 2.5, CANNOT_TELL),
        (1.0, 3.0, 1.5, 3.5, CANNOT_TELL),
        (1.0, 3.0, -1.0, 0.5, FAILS),
        (1.0, 3.0, 3.5, 4.0, FAILS),
        (float("nan"), float("nan"), 0.0, None, CANNOT_TELL),
    ],
)
def test_an_interval_against_its_thresholds(
    low: float, high: float, least: float | None, most: float | None, verdict: Verdict
) -> None:
    assert Measure("something", Interval((low + high) / 2, low, high), least, most).verdict is verdict


@pytest.mark.parametrize(
    ("verdicts", "all_of", "any_of"),
    [
        ([HOLDS, HOLDS], HOLDS, HOLDS),
        ([HOLDS, CANNOT_TELL], CANNOT_TELL, HOLDS),
        ([HOLDS, FAILS], FAILS, HOLDS),
        ([CANNOT_TELL, FAILS], FAILS, CANNOT_TELL),
        ([FAILS, FAILS], FAILS, FAILS),
    ],
)
def test_several_verdicts_make_one(verdicts: Sequence[Verdict], all_of: Verdict, any_of: Verdict) -> None:
    assert (every(verdicts), some(verdicts)) == (all_of, any_of)


def test_a_report_fails_where_the_trials_of_all_seeds_say_so() -> None:
    def report(pooled: Verdict, alone: Verdict) -> Report:
        claims = [[Claim("S1", "text", verdict, ())] for verdict in (pooled, alone)]
        return Report("synthetic", SYNTHETIC, Seconds(0.0, 0.0), {}, claims[0], (), {0: claims[1]})

    assert report(FAILS, HOLDS).fails
    assert not report(CANNOT_TELL, FAILS).fails
    assert not report(HOLDS, FAILS).fails
