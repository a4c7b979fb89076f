"""Signals defined on raw events, against a plain count of the same events."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pytest

from presage.errors import DataError
from presage.logs.rows import LogRows, read_log
from presage.logs.signals import NEVER_AT
from presage.task.task import Task, read_task
from tests.logs.given import csv, table
from tests.logs.places import real_data

ROOT = Path(__file__).parents[2]
HEAD = "number,item,user,kind,at"
MINUTE = 60_000_000
START = int(np.datetime64("2020-01-01", "us").astype(np.int64))
TASK = """
version = 1
name = "events"
[instance]
item = { kind = "category" }
[proxy.soon]
values = ["deleted", "zero", "one", "many"]
count = "engage"
within = "20 minutes"
edges = [1, 2]
unless = "delete"
[proxy.first]
values = ["delete", "engage", "nothing"]
first = ["delete", "engage"]
within = "30 minutes"
absent = "nothing"
[proxy.plain]
values = ["share", "engage"]
first = ["share", "engage"]
within = "30 minutes"
[outcome]
values = ["few", "enough"]
count = ["engage", "share"]
within = "60 minutes"
edges = [3]
[log]
subject = "user"
instance = "item"
moment = ["acquire"]
LOG
"""


class Event(NamedTuple):
    number: int
    item: str
    user: str
    kind: str
    minute: int


def task(log: str = "") -> Task:
    return read_task(TASK.replace("LOG", log))


def events(seed: int, size: int = 600) -> list[Event]:
    """Events of few users and items at few different minutes, so that many fall into one instant."""
    draw = np.random.default_rng(seed)
    kinds = draw.choice(["acquire", "engage", "delete", "share", "view"], size, p=[0.3, 0.4, 0.1, 0.15, 0.05])
    return [
        Event(n, f"i{draw.integers(0, 3)}", f"u{draw.integers(0, 4)}", str(kinds[n]), int(draw.integers(0, 300)))
        for n in range(size)
    ]


def written(path: Path, given: list[Event]) -> Path:
    return table(path, HEAD, [(*e[:4], np.datetime64(START + e.minute * MINUTE, "us")) for e in given])


def counted(given: list[Event], one: Event, kinds: set[str], within: int) -> int:
    return sum(
        e.kind in kinds and (e.item, e.user) == (one.item, one.user) and one.minute < e.minute <= one.minute + within
        for e in given
    )


def first(given: list[Event], one: Event, kinds: list[str], within: int) -> tuple[int, int] | None:
    """The place of the kind that comes first, and its minute; in one instant the kind named first wins."""
    after = [(e.minute, kinds.index(e.kind)) for e in given if e.kind in kinds and counted([e], one, {e.kind}, within)]
    return min(after)[::-1] if after else None


def check(rows: LogRows, given: list[Event], moments: list[Event], until: int) -> None:
    """Every row against plain counts."""
    moments = sorted(moments, key=lambda e: (e.minute, e.number))
    assert rows.shown_at.tolist() == [START + e.minute * MINUTE for e in moments]
    for row, one in enumerate(moments):
        wanted = {}
        deleted, engaged = counted(given, one, {"delete"}, 20), counted(given, one, {"engage"}, 20)
        wanted["soon"] = (0 if deleted else 1 + min(engaged, 2), one.minute + 20) if one.minute + 20 <= until else None
        wanted["first"] = first(given, one, ["delete", "engage"], 30) or (
            (2, one.minute + 30) if one.minute + 30 <= until else None
        )
        wanted["plain"] = first(given, one, ["share", "engage"], 30)
        enough = counted(given, one, {"engage", "share"}, 60) >= 3
        wanted["outcome"] = (int(enough), one.minute + 60) if one.minute + 60 <= until else None
        for signal in (*rows.proxies, rows.outcome):
            symbol, minute = wanted[signal.name] or (-1, None)
            assert signal.symbols[row] == symbol
            assert signal.known_at[row] == (NEVER_AT if minute is None else START + minute * MINUTE)


@pytest.mark.parametrize("seed", range(3))
def test_signals_on_events_are_what_a_plain_count_gives(tmp_path: Path, seed: int) -> None:
    given = events(seed)
    rows, excluded = read_log(task('id = "number"'), written(tmp_path / "log.csv", given))
    moments = [e for e in given if e.kind == "acquire"]
    until = max(e.minute for e in given)
    check(rows, given, moments, until)
    assert excluded.counts["events of kinds that the task does not name"] == sum(e.kind == "view" for e in given)
    assert excluded.counts["outcome not yet known at the end of the log"] == sum(e.minute + 60 > until for e in moments)


def test_only_the_first_moment_counts_where_the_task_says_once(tmp_path: Path) -> None:
    given = events(5)
    rows, _ = read_log(task("once = true"), written(tmp_path / "log.csv", given))
    firsts: dict[tuple[str, str], Event] = {}
    for e in sorted((e for e in given if e.kind == "acquire"), key=lambda e: (e.minute, e.number)):
        firsts.setdefault((e.item, e.user), e)
    check(rows, given, list(firsts.values()), max(e.minute for e in given))


def test_an_event_that_comes_twice_counts_once(tmp_path: Path) -> None:
    given = events(6, 200)
    rows, excluded = read_log(task('id = "number"'), written(tmp_path / "log.csv", [*given, *given[:50]]))
    check(rows, given, [e for e in given if e.kind == "acquire"], max(e.minute for e in given))
    assert excluded.counts["events that repeat the number of an earlier one"] == 50


def test_moments_may_come_from_a_log_of_their_own(tmp_path: Path) -> None:
    given = events(8)
    log = 'moments = "moments.csv"\nuntil = 2020-01-01T04:00:00Z'
    text = TASK.replace('moment = ["acquire"]', "").replace("LOG", log)
    moments = [Event(n, f"i{n % 4}", f"u{n % 3}", "", 7 * n % 280) for n in range(60)]
    shown = [(e.item, e.user, np.datetime64(START + e.minute * MINUTE, "us")) for e in moments]
    table(tmp_path / "moments.csv", "item,user,shown_at", shown)
    rows, _ = read_log(read_task(text, tmp_path), written(tmp_path / "log.csv", given))
    check(rows, given, moments, 240)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ["1,i0,u0,view,2020-01-01", "2,i0,u0,view,2020-01-03"],
            "log.moment names a kind of events that log.csv never holds: found 'acquire'; correct it; the log "
            "holds view",
        ),
        (
            ["1,i0,u0,acquire,2020-01-01"],
            "the horizon of outcome is longer than log.csv: found '60 minutes in a log",
        ),
        (["1,i0,u0,acquire,never"], "most of column at of log.csv cannot be read as times: found 'never'"),
    ],
)
def test_events_that_tell_nothing_are_refused(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_log(task(), csv(tmp_path / "log.csv", HEAD, *lines))


def test_events_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    lines = [
        "1,i0,u0,acquire,2020-01-01",
        "2,i0,u0,engage,2020-01-01 00:05:00",
        "3,,u0,engage,2020-01-01 00:06:00",
        "4,i0,u0,engage,soon",
        "5,i0,u0,,2020-01-02",
        "6,,u1,acquire,2020-01-01",
        "7,i0,u0,view,2020-01-03",
        "8,,u0,share,2020-01-03",
        "9,,u0,delete,2020-01-03",
    ]
    rows, excluded = read_log(task(), csv(tmp_path / "log.csv", HEAD, *lines))
    assert rows.proxy("soon").symbols.tolist() == [2]
    assert excluded.counts == {
        "events without a valid at": 1,
        "events without a valid item": 4,
        "events without a valid kind": 1,
        "events of kinds that the task does not name": 1,
        "rows without a valid item": 1,
    }


COMMITS = (ROOT / "examples" / "commits.toml").read_text().replace("moments.parquet", "moments.csv")


def test_the_labels_of_real_repositories_are_rebuilt_exactly(tmp_path: Path) -> None:
    commits = real_data("github") / "commits.parquet"
    found = duckdb.execute(f"SELECT repo, epoch(committed_at)::BIGINT FROM '{commits}'").fetchall()
    history: dict[str, list[datetime]] = {}
    for repo, second in found:
        history.setdefault(repo, []).append(datetime.fromtimestamp(second, UTC))
    draw = np.random.default_rng(0)
    names = sorted(history)
    sample: list[tuple[str, datetime]] = []
    for n in range(500):
        repo = names[int(draw.integers(len(names)))]
        times = history[repo]
        # Half of them at the very second of a commit, or exactly a horizon before one: the edges of the windows.
        at = times[int(draw.integers(len(times)))] - timedelta(days=(0, 7, 21)[n % 3])
        sample.append((repo, at if n % 2 else at + timedelta(seconds=int(draw.integers(-86_400, 86_400)))))
    table(tmp_path / "moments.csv", "repo,shown_at", [(repo, at.isoformat()) for repo, at in sample])
    rows, _ = read_log(read_task(COMMITS, tmp_path), commits)
    last = max(max(times) for times in history.values())
    order = sorted(range(500), key=lambda n: (sample[n][1], n))
    assert rows.id.tolist() == [n + 1 for n in order]
    for row, n in enumerate(order):
        repo, at = sample[n]
        for signal, days in ((rows.proxy(), 7), (rows.outcome, 21)):
            count = sum(at < time <= at + timedelta(days=days) for time in history[repo])
            label = min(count, 2) if days == 7 else int(count >= 3)
            assert signal.symbols[row] == (label if at + timedelta(days=days) <= last else -1)


def test_kinds_of_events_may_be_numbers(tmp_path: Path) -> None:
    text = COMMITS.replace('every    = "commit"', "moment = [0]").replace('moments  = "moments.csv"', "")
    text = text.replace('"commit"', "[1]").replace("committed_at", "at")
    lines: list[Any] = [("a", 0, "2020-01-01"), ("a", 1, "2020-01-02"), ("a", 1, "2020-01-05"), ("b", 0, "2020-02-01")]
    log = table(tmp_path / "log.csv", "repo,kind,at", lines)
    rows, _ = read_log(read_task(text), log)
    assert rows.proxy().symbols.tolist() == [2, -1]
    assert rows.outcome.symbols.tolist() == [0, -1]
