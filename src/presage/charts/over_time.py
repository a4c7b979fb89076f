"""Lines over blocks of time, one for each family of forecasters: losses, gains, weights."""

from collections.abc import Mapping
from typing import Any

from presage.charts.style import COLOURS, DASHES, FONT, alt, rows_chart, scale, short, styled
from presage.charts.times import Times
from presage.spaces import Array


def over_time_chart(
    times: Times,
    lines: Mapping[str, Array],
    title: str,
    marks: Mapping[str, float],
    *,
    zero: bool = False,
    share: bool = False,
) -> Any:
    """Lines [B] by family over blocks of time, with named moments marked.

    `zero` draws the line at 0; `share` makes the vertical axis that of shares of a whole.
    """
    names = list(lines)
    rows = [
        {"family": name, "at": at, "from": float(start), "value": short(value)}
        for name, values in lines.items()
        for at, start, value in zip(times.middles, times.edges[:-1], values, strict=True)
    ]
    axis = alt.Axis(tickCount=5, format="%") if share else alt.Axis(tickCount=5)
    ends = alt.Scale(domain=[0, 1]) if share else alt.Scale(zero=False)
    told = [alt.Tooltip("family:N", title="forecaster"), times.told("from"), alt.Tooltip("value:Q", title=title)]
    line = (
        rows_chart(rows)
        .mark_line(strokeWidth=2)
        .encode(
            x=times.axis("at"),
            y=alt.Y("value:Q", title=title, scale=ends, axis=axis),
            color=alt.Color("family:N", scale=scale(COLOURS, names), legend=None),
            strokeDash=alt.StrokeDash("family:N", scale=scale(DASHES, names), legend=None),
            tooltip=told,
        )
    )
    layers = [line, *_moments(times, marks)]
    if zero:
        layers.insert(0, rows_chart([{"value": 0}]).mark_rule(color="#333333").encode(y=alt.Y("value:Q", title=title)))
    return styled(alt.layer(*layers).properties(width="container", height=240))


def _moments(times: Times, marks: Mapping[str, float]) -> list[Any]:
    """Upright lines at moments with names, such as when the first outcomes are known."""
    inside = {text: at for text, at in marks.items() if times.edges[0] <= at <= times.edges[-1]}
    drawn = []
    for place, (text, at) in enumerate(inside.items()):
        late = at > (times.edges[0] + times.edges[-1]) / 2  # the words stand where there is room for them
        base = rows_chart([{"at": float(at), "text": text}]).encode(x=times.axis("at"))
        words = base.mark_text(
            align="right" if late else "left", dx=-4 if late else 4, baseline="top", font=FONT, color="#444444"
        )
        drawn += [
            base.mark_rule(strokeDash=[6, 4], color="#777777"),
            words.encode(y=alt.value(14 * place), text="text:N"),
        ]
    return drawn
