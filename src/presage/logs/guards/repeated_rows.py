"""Predictions that a log holds twice, though not under the same id."""

from collections.abc import Iterator

import duckdb

from presage.logs.columns import feature_name
from presage.logs.guards.leak_guards import DAY, LogWarning
from presage.task.task import Task

LEAST = 3
SHARE = 0.001
TIMES_CHANCE = 3.0
"""Rows of one instant must agree so many times as often as rows an instant apart: then it is no coincidence."""

MOST_REPEATED = 0.05
"""A share of rows that repeat an id which is more than what an export writes twice."""

ALL_TWICE = 50
"""From so many different predictions on, an even number of each cannot be chance."""


def repeated_row_warnings(connection: duckdb.DuckDBPyConnection, task: Task) -> Iterator[LogWarning]:
    """At most one warning, of rows that agree in their time and in every feature.

    Times of whole days show it only where the whole log is there twice: on the same day two rows may well agree.
    """
    features = ", ".join(feature_name(place) for place in range(len(task.instance)))
    times = f"SELECT count(*) AS c FROM kept GROUP BY hash(shown_at, {features})"
    asked = "sum(c)::BIGINT, count(*), count(*) FILTER (c % 2 = 0)"
    rows, different, even = connection.execute(f"SELECT {asked} FROM ({times})").fetchall()[0]
    more = rows - different
    wholly = different >= ALL_TWICE and even >= 0.98 * different
    if wholly or (
        more >= max(LEAST, SHARE * rows) and not task.log.group and _beyond_chance(connection, features, more)
    ):
        text = (
            f"Of {rows:,} rows {more:,} repeat the time and every feature of another one: remove them, for they count "
            "twice and may answer each other."
        )
        figures: dict[str, float | int | str] = {"rows": more, "share": round(more / rows, 4)}
        yield LogWarning("rows-twice", task.log.id or task.log.shown_at or "row", text, figures)


def repeated_id_warnings(task: Task, rows: int, repeated: int) -> Iterator[LogWarning]:
    """At most one warning, of an id that so many rows have in common that it may name something else than rows."""
    if task.log.id is not None and repeated > MOST_REPEATED * rows:
        text = (
            f"Of {rows:,} rows {repeated:,} repeat the {task.log.id} of an earlier one and are left out: if it is not "
            "the id of a row but of what rows are about, take it out of [log]; otherwise remove them."
        )
        yield LogWarning("id-repeats", task.log.id, text, {"rows": repeated, "share": round(repeated / rows, 4)})


def _beyond_chance(connection: duckdb.DuckDBPyConnection, features: str, more: int) -> bool:
    """Whether rows of one instant agree far more often than rows that are the smallest step of the clock apart."""
    coarse = connection.execute(f"SELECT bool_and(shown_at % {DAY} = 0) FROM kept").fetchall()[0][0]
    if coarse:
        return False
    instants = "SELECT DISTINCT shown_at AS t FROM kept"
    gaps = f"SELECT t - lag(t) OVER (ORDER BY t) AS gap FROM ({instants})"
    step = connection.execute(f"SELECT quantile_disc(gap, 0.01) FROM ({gaps}) WHERE gap > 0").fetchall()[0][0]
    before = f"lag(shown_at) OVER (PARTITION BY hash({features}) ORDER BY shown_at)"
    since = f"SELECT shown_at - {before} AS gap FROM kept"
    near = f"SELECT count(*) FROM ({since}) WHERE gap > 0 AND gap <= {step or 0}"
    return more > TIMES_CHANCE * int(connection.execute(near).fetchall()[0][0]) + LEAST - 1
