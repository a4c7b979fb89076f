"""The figures of the GitHub experiment."""

from typing import Any

import numpy as np

from presage.charts.panels import Axes, curves_panel
from presage.charts.style import rows_chart, styled
from presage.experiments.github.problem import BIN, GithubRun
from presage.experiments.github.settings import GithubSettings
from presage.experiments.networks import NAMES
from presage.later import alt
from presage.spaces import Array

MODES = {"A": "#009E73", "B": "#E69F00"}


def figure_4(settings: GithubSettings, run: GithubRun) -> Any:
    """How outcomes are distributed in each mode, over all proxies and given each."""
    rows: list[dict[str, Any]] = []
    for mode, by_repository in run.modes.items():
        counts = by_repository.sum(axis=0)  # [Z, Y]
        named = [("all proxies", counts.sum(axis=0))]
        named += [(f"given {proxy_name(settings, z)}", counts[z]) for z in range(len(counts))]
        for panel, (given, row) in enumerate(named):
            share = row / max(row.sum(), 1)
            for outcome, value in zip(("quiet", "active"), share, strict=True):
                shown = {"panel": panel, "given": given, "mode": mode, "outcome": outcome}
                rows.append(shown | {"share": round(float(value), 4), "text": f"{value:.2f}"})
    panels = []
    for panel in range(len(settings.proxy_edges) + 2):
        chosen = [row for row in rows if row["panel"] == panel]
        x = alt.X("outcome:N", title=None, sort=["quiet", "active"], axis=alt.Axis(labelAngle=0))
        y = alt.Y("share:Q", title="share of outcomes" if panel == 0 else None, scale=alt.Scale(domain=[0, 1]))
        offset = alt.XOffset("mode:N")
        colour = alt.Color("mode:N", scale=alt.Scale(domain=list(MODES), range=list(MODES.values())), title="mode")
        base = rows_chart(chosen)
        bars = base.mark_bar(stroke="#333333", strokeWidth=0.5).encode(x=x, y=y, xOffset=offset, color=colour)
        text = base.mark_text(dy=-6, fontSize=9).encode(x=x, y=y, xOffset=offset, text="text:N")
        panels.append(
            (bars + text).properties(width=150, height=180, title=alt.TitleParams(chosen[0]["given"], fontSize=11))
        )
    caption = [
        f"Mode A: at most {settings.quiet_most} commit in the past {settings.quiet_days} days; mode B: "
        f"{settings.busy_least} or more in the past {settings.busy_days}. Active: at least {settings.outcome_least} "
        f"commits within {settings.outcome_days} days.",
        "The paper's claim: the outcome distribution has no fixed relationship with the proxy, which makes it harder "
        "for factored.",
    ]
    title = alt.TitleParams("Outcomes given each proxy, in both modes", subtitle=caption)
    return styled(alt.hconcat(*panels, title=title, spacing=18))


def proxy_name(settings: GithubSettings, z: int) -> str:
    """A proxy in words."""
    edges = settings.proxy_edges
    least, most = (0 if z == 0 else edges[z - 1]), (edges[z] - 1 if z < len(edges) else None)
    count = f"{least} or more" if most is None else (f"{least}" if least == most else f"{least} to {most}")
    return f"{count} commit{'' if most == 1 else 's'} in {settings.proxy_days} days"


def weeks_at(settings: GithubSettings, run: GithubRun) -> Array:
    """The week at the middle of each bin."""
    return (np.arange(run.losses["direct"].shape[1]) + 0.5) * BIN / settings.rounds_a_week


def figure_5(settings: GithubSettings, run: GithubRun) -> Any:
    """Loss and regret over the weeks."""
    weeks = weeks_at(settings, run)
    losses = {name: run.losses[name] for name in NAMES}
    regrets = {name: np.cumsum(loss - run.losses["oracle"], axis=1) * BIN for name, loss in losses.items()}
    panels = [
        curves_panel(Axes("average loss", "week", "log loss (nats)", settings.switch_week), weeks, losses),
        curves_panel(Axes("regret", "week", "regret to the oracles (nats)", settings.switch_week), weeks, regrets),
    ]
    first, second = settings.modes
    trials = len(run.losses["direct"])
    caption = [
        f"Mean over {trials} trials with 95 % bands; each point of the loss is the mean of {BIN} rounds. "
        f"Dashed: the switch from mode {first} to mode {second}.",
        "The paper's claim: after three weeks without outcomes all learn alike; after the switch factored and residual "
        "recover about 2.5 weeks before direct; in the end residual is below factored.",
    ]
    title = alt.TitleParams("Will a repository stay active?", subtitle=caption)
    return styled(alt.hconcat(*panels, title=title, spacing=35))
