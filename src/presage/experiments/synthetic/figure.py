"""The two figures of the synthetic experiment, out of plain rows, so that another process can draw them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from presage.charts.style import COLOURS, DASHES, FORECASTERS, SHAPES, rows_chart, scale, styled
from presage.experiments.synthetic.settings import SyntheticSettings
from presage.later import alt
from presage.metrics.intervals import mean_interval
from presage.spaces import Array

if TYPE_CHECKING:  # compiled loops are loaded with it
    from presage.experiments.synthetic.problem import Point

Row = dict[str, Any]
"""Plain values by name."""

SHARES = {"100": [1, 0], "75": [6, 3], "0": [2, 2]}


def figure_2(trials: int, rows: list[Row]) -> Any:
    """Regret against the mix: on the left as in the paper, on the right with the residual and the mixture."""
    panels = [
        _mix_panel("as in the paper", rows, ("direct", "factored")),
        _mix_panel("residual and mixture added", rows, ("direct", "residual", "mixture")),
    ]
    caption = [
        f"Mean over {trials} trials, band: one standard deviation; lines are labelled with the share of "
        "useful proxies. The paper's claims: with useful proxies factored is steady while",
        "direct suffers from the adversarial schedule; with 75 % useful ones it still wins there; with useless ones it "
        "loses to direct in most cases.",
    ]
    title = alt.TitleParams("Regret from adversarial to uniform schedules", subtitle=caption)
    return styled(alt.hconcat(*panels, title=title, spacing=30).resolve_scale(y="shared"))


def mix_rows(mixes: Array, regrets: dict[str, Array]) -> list[Row]:
    """What `figure_2` shows: one row per mix and curve."""
    return [row for name, values in regrets.items() for row in _curve(name, mixes, values)]


def blank_rows(settings: SyntheticSettings) -> list[Row]:
    """Something like what `figure_2` shows, before it is known."""
    percents = [round(100 * useful) for useful in settings.useful]
    names = ["direct", *(f"{name}-{percent}" for name in FORECASTERS[1:] for percent in percents)]
    return mix_rows(np.linspace(0, 1, settings.mixes), {name: np.ones((settings.mixes, 2)) for name in names})


def _mix_panel(title: str, rows: list[Row], shown: tuple[str, ...]) -> Any:
    rows = [row for row in rows if row["forecaster"] in shown]
    names = list(FORECASTERS)
    x = alt.X("mix:Q", title="mix: share of rounds with a uniformly drawn instance", scale=alt.Scale(domain=[0, 1.32]))
    x = x.axis(values=[0, 0.25, 0.5, 0.75, 1], format="~g")
    y = alt.Y("regret:Q", title="regret after all rounds (nats)")
    colour = alt.Color("forecaster:N", scale=scale(COLOURS, names), legend=None)
    base = rows_chart(rows)
    band = base.mark_area(opacity=0.15).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour, detail="curve:N")
    dash = alt.StrokeDash("useful:N", scale=scale(SHARES, list(SHARES)), legend=None)
    line = base.mark_line().encode(x=x, y=y, color=colour, strokeDash=dash, detail="curve:N")
    shape = alt.Shape("forecaster:N", scale=scale(SHAPES, names), legend=None)
    every = base.transform_filter("round(datum.mix * 100) % 10 == 0")
    marks = every.mark_point(filled=True, size=28, opacity=1).encode(x=x, y=y, color=colour, shape=shape)
    ends = rows_chart(_apart([row for row in rows if row["mix"] == 1.0], 38.0))
    labels = ends.mark_text(align="left", dx=6, fontSize=10).encode(x=x, y=y, text="label:N", color=colour)
    return (band + line + marks + labels).properties(width=400, height=300, title=title)


def _curve(name: str, mixes: Array, values: Array) -> list[Row]:
    forecaster, _, useful = name.partition("-")
    shared = {"curve": name, "forecaster": forecaster, "useful": useful or "100"}
    shared["label"] = f"{forecaster} {useful} %" if useful else forecaster
    mean, deviation = values.mean(axis=1).tolist(), values.std(axis=1, ddof=1).tolist()
    return [
        shared | {"mix": mix, "regret": m, "low": m - d, "high": m + d}
        for mix, m, d in zip(mixes.tolist(), mean, deviation, strict=True)
    ]


def _apart(rows: list[Row], gap: float) -> list[Row]:
    """The rows moved up where needed, so that labels at their regret do not overlap."""
    placed, above = [], -np.inf
    for row in sorted(rows, key=lambda row: row["regret"]):
        above = max(row["regret"], above + gap)
        placed.append(row | {"regret": above})
    return placed


def growth_rows(points: "list[Point]") -> list[Row]:
    """What `growth_figure` shows: one row per point."""
    rows = []
    least = min((point.delay for point in points if point.along == "both"), default=1)
    for point in points:
        interval = mean_interval(point.regrets)
        size = {"delay": point.delay, "instances": point.instances, "both": point.delay // least}[point.along]
        shared = {"along": point.along, "schedule": point.schedule, "forecaster": point.forecaster, "size": size}
        shared |= {"bound": point.bound, "quoted": point.quoted}
        rows.append(shared | {"regret": interval.mean, "low": interval.low, "high": interval.high})
    return rows


def growth_figure(settings: Row, rows: list[Row]) -> Any:
    """Regret against the delay and against the number of instances, on logarithmic axes, beside the bounds.

    `settings` are those of the experiment by name.
    """
    panels = []
    base = f"D = {settings['scaled_delay']}, N = {settings['scaled_instances']}"
    axes = {"delay": "outcome delay D (rounds)", "instances": "instances N", "both": f"scale of {base} together"}
    for along, label in axes.items():
        for schedule in ("adversarial", "uniform"):
            chosen = [row for row in rows if (row["along"], row["schedule"]) == (along, schedule)]
            against = "both, scaled together" if along == "both" else along
            panels.append(_growth_panel(f"{schedule}: regret against {against}", label, chosen))
    caption = [
        f"Points: mean over {settings['trials']} trials of {settings['growth_rounds']} rounds, with 95 % intervals; "
        f"otherwise D = {settings['delay']} and N = {settings['instances']}. Thin lines: the exact bounds. "
        f"The last row has {settings['scaled_rounds']} rounds for each instance.",
        "Dotted grey: the lower bound for direct as the paper quotes it, its constant unknown.",
        "The paper's claim: on the adversarial schedule regret grows with D x N for direct and with D + N for "
        "factored; on the uniform one with D + N for both.",
    ]
    title = alt.TitleParams("How regret grows", subtitle=caption)
    pairs = [alt.hconcat(*panels[first : first + 2], spacing=40) for first in range(0, len(panels), 2)]
    return styled(alt.vconcat(*pairs, title=title, spacing=25))


def _growth_panel(title: str, label: str, rows: list[Row]) -> Any:
    names = list(FORECASTERS[:2])
    sizes = sorted({row["size"] for row in rows})
    x = alt.X("size:Q", title=label, scale=alt.Scale(type="log"), axis=alt.Axis(values=sizes, format="d"))
    y = alt.Y("regret:Q", title="regret (nats)", scale=alt.Scale(type="log", domain=[50, 200_000], nice=False))
    y = y.axis(values=[100, 1000, 10_000, 100_000], format="~s")
    colour = alt.Color("forecaster:N", scale=scale(COLOURS, names), title=None)
    shape = alt.Shape("forecaster:N", scale=scale(SHAPES, names), title=None)
    dash = alt.StrokeDash("forecaster:N", scale=scale(DASHES, names), title=None)
    base = rows_chart(rows)
    bars = base.mark_rule().encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    line = base.mark_line().encode(x=x, y=y, color=colour, strokeDash=dash)
    marks = base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour, shape=shape)
    bounds = base.mark_line(strokeWidth=0.8, opacity=0.7).encode(x=x, y="bound:Q", color=colour, strokeDash=dash)
    known = base.transform_filter("isValid(datum.quoted) && datum.quoted > 50")
    lower = known.mark_line(color="#888888", strokeDash=[1, 3]).encode(x=x, y="quoted:Q")
    largest = base.transform_filter(f"datum.size == {sizes[-1]}")
    named = largest.transform_calculate(name="'bound of ' + datum.forecaster")
    labels = [
        named.transform_filter(f"datum.forecaster == '{name}'")
        .mark_text(align="right", dy=dy, fontSize=10)
        .encode(x=x, y="bound:Q", color=colour, text="name:N")
        for name, dy in (("direct", -9), ("factored", 12))
    ]
    return alt.layer(bounds, lower, bars, line, marks, *labels).properties(width=330, height=230, title=title)


def as_table(mixes: Array, regrets: dict[str, Array]) -> str:
    """Figure 2 as CSV: one row per mix and curve."""
    lines = ["mix,curve,mean,sd,low,high"]
    for name, values in regrets.items():
        for mix, trials in zip(mixes, values, strict=True):
            interval = mean_interval(trials)
            numbers = (interval.mean, np.std(trials, ddof=1), interval.low, interval.high)
            lines.append(f"{mix:g},{name},{','.join(f'{number:.3f}' for number in numbers)}")
    return "\n".join(lines) + "\n"
