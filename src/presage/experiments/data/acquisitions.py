"""What became of every acquisition in a log of events: counted by DuckDB, item by item."""

from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

from presage.errors import DataError
from presage.logs.columns import KEY, TEXT, TIME
from presage.logs.tables import connected, load_table
from presage.spaces import Array
from presage.worlds.marketplace import DAYS

KINDS = ("acquire", "engage", "delete")
PROXY_DAYS, OUTCOME_DAYS = 2, 7

# A user may get an item again: only the first time counts. An item cannot be deleted before it is acquired, so
# a deletion in the same instant comes after it; an engagement in the same instant is the acquisition itself.
FOLLOWED = """
CREATE TABLE followed AS
WITH acquired AS (
    SELECT item, "user", min("at") AS acquired_at FROM events WHERE kind = 'acquire' GROUP BY ALL
)
SELECT
    item, acquired_at,
    min("at") FILTER (kind = 'delete' AND "at" >= acquired_at) - acquired_at AS kept_for,
    count(*) FILTER (kind = 'engage' AND "at" > acquired_at AND "at" <= acquired_at + to_days($proxy)) AS early,
    count(*) FILTER (kind = 'engage' AND "at" > acquired_at AND "at" <= acquired_at + to_days($outcome)) AS late
FROM acquired JOIN events USING (item, "user")
GROUP BY item, "user", acquired_at
"""

# As positions in ENGAGEMENTS: deleted, zero, one, many.
OUTCOMES = """
CREATE TABLE outcomes AS
SELECT item,
    CASE WHEN kept_for <= to_days($proxy) THEN 0 ELSE 1 + least(early, 2) END AS z,
    CASE WHEN kept_for <= to_days($outcome) THEN 0 ELSE 1 + least(late, 2) END AS y,
    count(*) AS n
FROM followed
WHERE acquired_at + to_days($outcome) <= (SELECT max("at") FROM events)
GROUP BY ALL
"""

KEPT = "CREATE TABLE kept AS SELECT item FROM outcomes GROUP BY item HAVING sum(n) >= $least"

LAUNCH = """
WITH launched AS (
    SELECT item, min(acquired_at) AS launched_at FROM followed SEMI JOIN kept USING (item) GROUP BY item
    HAVING launched_at::DATE > (SELECT min("at")::DATE FROM events)
       AND launched_at + to_days($days) <= (SELECT max("at") FROM events)
)
SELECT item, epoch_us(acquired_at - launched_at) // 86400000000 AS age, count(*) AS n
FROM followed JOIN launched USING (item)
WHERE acquired_at < launched_at + to_days($days)
GROUP BY ALL
"""

DAILY = """
CREATE TABLE daily AS
SELECT item, acquired_at::DATE - (SELECT min("at")::DATE FROM events) AS day, count(*) AS n
FROM followed SEMI JOIN kept USING (item)
GROUP BY ALL
"""

CALENDAR = "SELECT item, day - $start AS day, n FROM daily WHERE day >= $start AND day < $start + $days"

STRAYS = """
SELECT count(*)
FROM (FROM events WHERE kind <> 'acquire') ANTI JOIN (FROM events WHERE kind = 'acquire') USING (item, "user")
"""


class Acquisitions(NamedTuple):
    """First acquisitions by a user of the I items with enough of them, counted."""

    items: list[str]  # [I] names, ascending
    outcomes: Array  # int64 [I, 4, 4]: by proxy and outcome, where the log goes on until the outcome is known
    launch: Array  # int64 [I, 21]: by whole days since the first one; zeros where the log does not show those 21 days
    calendar: Array  # int64 [I, 21]: by day, on the 21 days with most of them, the latest if several
    few: list[str]  # items with too few of known outcome
    unknown: int  # acquisitions, of any item, whose outcome lies beyond the end of the log
    repeated: int  # acquisitions that were not the user's first of the item
    strays: int  # engagements and deletions by users who never acquired the item


def count_acquisitions(log: Path, least: int) -> Acquisitions:
    """What became of the acquisitions in a log with columns item, user, kind (acquire, engage, delete) and at."""
    with connected() as connection:
        load_table(connection, "events", log, {"item": KEY, "user": KEY, "kind": TEXT, "at": TIME})
        _check_kinds(connection, log)
        days = _number(connection, 'SELECT max("at")::DATE - min("at")::DATE + 1 FROM events')
        if days < DAYS:
            raise DataError(f"{log.name} is too short", f"{days} days", f"give a log of at least {DAYS} days")
        spans = {"proxy": PROXY_DAYS, "outcome": OUTCOME_DAYS}
        connection.execute(FOLLOWED, spans)
        connection.execute(OUTCOMES, spans)
        connection.execute(KEPT, {"least": least})
        connection.execute(DAILY)
        items = _names(connection, "SELECT item FROM kept ORDER BY item")
        first = _number(connection, "SELECT count(*) FROM followed")
        start = {"start": _busiest(connection, days), "days": DAYS}
        return Acquisitions(
            items=items,
            outcomes=_counts(connection.execute("FROM outcomes SEMI JOIN kept USING (item)"), items, (4, 4)),
            launch=_counts(connection.execute(LAUNCH, {"days": DAYS}), items, (DAYS,)),
            calendar=_counts(connection.execute(CALENDAR, start), items, (DAYS,)),
            few=_names(connection, "SELECT DISTINCT item FROM followed ANTI JOIN kept USING (item) ORDER BY item"),
            unknown=first - _number(connection, "SELECT coalesce(sum(n), 0) FROM outcomes"),
            repeated=_number(connection, "SELECT count(*) FROM events WHERE kind = 'acquire'") - first,
            strays=_number(connection, STRAYS),
        )


def _check_kinds(connection: duckdb.DuckDBPyConnection, log: Path) -> None:
    allowed = ", ".join(f"'{kind}'" for kind in KINDS)
    other = connection.execute(f"SELECT rowid, kind FROM events WHERE kind NOT IN ({allowed}) ORDER BY rowid LIMIT 1")
    for row, kind in other.fetchall():
        remedy = f"give it as one of {', '.join(KINDS)}"
        raise DataError(f"row {row + 1:,} of {log.name} has an unknown kind", kind, remedy)


def _busiest(connection: duckdb.DuckDBPyConnection, days: int) -> int:
    """The first of the 21 days with most acquisitions, the latest if several."""
    totals = np.zeros(days, np.int64)
    for day, count in connection.execute("SELECT day, sum(n) FROM daily GROUP BY day").fetchall():
        totals[day] = count
    sums = np.convolve(totals, np.ones(DAYS, np.int64), "valid")
    return len(sums) - 1 - int(np.argmax(sums[::-1]))


def _counts(rows: duckdb.DuckDBPyConnection, items: list[str], shape: tuple[int, ...]) -> Array:
    """The last column of a result as an array [I, *shape], placed by the columns before it."""
    item, *places, values = rows.fetchnumpy().values()
    index = {name: position for position, name in enumerate(items)}
    counts = np.zeros((len(items), *shape), np.int64)
    at = (np.array([index[name] for name in item], np.int64), *(place.astype(np.int64) for place in places))
    counts[at] = values
    return counts


def _names(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    return [str(name) for (name,) in connection.execute(query).fetchall()]


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(connection.execute(query).fetchall()[0][0])
