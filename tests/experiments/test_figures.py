"""The figures of the two experiments show the numbers that their claims are judged on."""

from collections.abc import Iterator
from typing import Any

import pytest

from presage.experiments.github.figure import figure_4, figure_5
from presage.experiments.github.problem import BIN, GithubRun
from presage.experiments.github.settings import PAPER as GITHUB
from presage.experiments.marketplace.claims import regret_curves, regret_splits
from presage.experiments.marketplace.figure import figure_7
from presage.experiments.marketplace.settings import PAPER as MARKETPLACE
from tests.experiments import test_claims_github, test_claims_marketplace

NAMES = ("direct", "factored", "residual", "mixture")

RUN = GithubRun(test_claims_github.LOSSES, test_claims_github.MODES, 0.0)


def panels(part: Any) -> Iterator[list[dict[str, Any]]]:
    """The rows of each panel of a chart that has some, in the order in which they are drawn."""
    if isinstance(part, dict):
        rows = part.get("data", {}).get("values") if isinstance(part.get("data"), dict) else None
        if rows:
            yield rows
        for name, inner in part.items():
            if name != "data":
                yield from panels(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from panels(inner)


def curves(chart: Any) -> list[dict[str, tuple[list[float], list[float]]]]:
    """By panel and forecaster, where its curve is drawn and at what height."""
    found = []
    for rows in panels(chart.to_dict(validate=False)):
        if "mean" in rows[0]:
            by_name: dict[str, tuple[list[float], list[float]]] = {}
            for row in rows:
                x, y = by_name.setdefault(row["forecaster"], ([], []))
                x.append(row["x"])
                y.append(row["mean"])
            if by_name not in found:  # a line and its bands may each have the rows
                found.append(by_name)
    return found


def test_figure_4_shows_how_outcomes_are_distributed_given_each_proxy() -> None:
    bars = [row for rows in panels(figure_4(GITHUB, RUN).to_dict(validate=False)) for row in rows]
    for mode, by_repository in RUN.modes.items():
        counts = by_repository.sum(axis=0)
        expected = [counts.sum(axis=0)[1] / counts.sum(), *(counts[:, 1] / counts.sum(axis=1))]
        for outcome in ("active", "quiet"):
            drawn = {row["panel"]: row["share"] for row in bars if (row["mode"], row["outcome"]) == (mode, outcome)}
            shares = [share if outcome == "active" else 1 - share for share in expected]
            assert [drawn[panel] for panel in range(4)] == pytest.approx(shares, abs=1e-4)


@pytest.mark.long
def test_figure_5_shows_mean_losses_and_the_regret_so_far_in_the_middle_of_bins() -> None:
    losses, regrets = curves(figure_5(GITHUB, RUN))
    for name in NAMES:
        weeks, loss = losses[name]
        assert (weeks[0], weeks[-1]) == pytest.approx((2.5 / 1008, 10 - 2.5 / 1008), rel=1e-4)
        assert (loss[0], loss[-1]) == pytest.approx(RUN.losses[name].mean(axis=0)[[0, -1]], rel=1e-4)
        total = (RUN.losses[name] - RUN.losses["oracle"]).sum(axis=1).mean() * BIN
        assert regrets[name][1][-1] == pytest.approx(total, rel=1e-4)


@pytest.mark.long
def test_figure_7_shows_regret_from_the_first_round_and_from_the_first_outcomes() -> None:
    run = test_claims_marketplace.run
    runs = {
        "staggered": run(test_claims_marketplace.STAGGERED),
        "uniform": run(test_claims_marketplace.UNIFORM),
    }
    drawn = curves(figure_7(MARKETPLACE, runs))
    assert len(drawn) == 4
    for place, one in enumerate(runs.values()):
        whole, since = drawn[place], drawn[2 + place]
        splits = regret_splits(MARKETPLACE, regret_curves(MARKETPLACE, one))
        for name in NAMES:
            for (days, regret), split, begin in ((whole[name], "total", 1 / 24), (since[name], "since", 7.0)):
                assert (days[0], days[-1]) == pytest.approx((begin, 21.0), rel=1e-4)
                assert regret[-1] == pytest.approx(splits[split][name].mean(), rel=1e-4)
            assert since[name][1][0] == 0.0
