"""Logs with one row per prediction: what is read, what is left out and counted, what is refused."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from presage.errors import DataError
from presage.logs import encoding as vocabularies
from presage.logs.rows import read_log
from presage.logs.signals import NEVER_AT
from presage.spaces import EMPTY, Array, SetOf
from presage.task.features import hashed_symbol
from tests.logs.given import DAY, csv, parquet, same, table, task_of

HEAD = "item,shown_at,proxy,proxy_at,outcome,outcome_at"
START = int(np.datetime64("2020-01-01", "us").astype(np.int64))
HOUR = 3_600_000_000


def moment(hours: int | None) -> str | None:
    return None if hours is None else str(np.datetime64(START + hours * HOUR, "us"))


def random_rows(seed: int, size: int = 300) -> list[tuple[Any, ...]]:
    """Item, hour shown, then value and hour of proxy and outcome: some missing, late or without a moment."""
    draw = np.random.default_rng(seed)
    rows: list[tuple[Any, ...]] = []
    for _ in range(size):
        shown = int(draw.integers(0, 24 * 30))
        parts: list[Any] = [f"item-{draw.integers(0, 9)}", shown]
        for values, horizon in ((("none", "some"), 48), (("no", "yes"), 168)):
            there, dated = draw.random(2) < (0.8, 0.95)
            value = values[int(draw.integers(0, 2))] if there else None
            parts += [value, shown + int(draw.integers(0, horizon + 30)) if there and dated else None]
        rows.append(tuple(parts))
    return rows


def expected(
    given: tuple[int, str | None, int | None], values: list[str], horizon: int, until: int, absent: str | None
) -> tuple[int, int]:
    """The symbol and the moment of a signal, by the definition in words."""
    shown, value, known = given
    never, missed = (-1, NEVER_AT), (-1, NEVER_AT)
    if absent is not None:
        missed = (values.index(absent), START + (shown + horizon) * HOUR)
    if value is None:
        return missed if shown + horizon <= until else never
    if known is None:
        return never
    return (values.index(value), START + known * HOUR) if known <= shown + horizon else missed


@pytest.mark.parametrize("absent", [None, "no"])
@pytest.mark.parametrize("seed", range(3))
def test_a_log_is_what_the_definition_says_row_by_row(tmp_path: Path, seed: int, absent: str | None) -> None:
    given = random_rows(seed)
    written = [(i, moment(s), z, moment(za), y, moment(ya)) for i, s, z, za, y, ya in given]
    outcome = 'values = ["no", "yes"]\nhorizon = "7 days"' + (f'\nabsent = "{absent}"' if absent else "")
    rows, excluded = read_log(task_of(outcome=outcome), table(tmp_path / "log.csv", HEAD, written))
    order = sorted(range(len(given)), key=lambda row: given[row][1])
    until = max(hour for row in given for hour in (row[1], row[3], row[5]) if hour is not None)
    names = rows.vocabularies["item"].values
    assert rows.shown_at.tolist() == [START + given[row][1] * HOUR for row in order]
    assert [names[symbol] for symbol in rows.instances.symbols[:, 0]] == [given[row][0] for row in order]
    assert rows.id.tolist() == [row + 1 for row in order]
    for signal, place, values, horizon, none in (
        (rows.proxy(), 2, ["none", "some"], 48, None),
        (rows.outcome, 4, ["no", "yes"], 168, absent),
    ):
        wanted = [
            expected((given[r][1], given[r][place], given[r][place + 1]), values, horizon, until, none) for r in order
        ]
        assert list(zip(signal.symbols.tolist(), signal.known_at.tolist(), strict=True)) == wanted
    late = sum(ya is not None and ya > s + 168 for _, s, _, _, _, ya in given)
    assert excluded.counts["outcome came later than 7 days"] == late
    assert rows.outcome.symbols.dtype == np.int32
    assert rows.instances.symbols.dtype == np.int32


def test_every_form_of_a_log_gives_the_same_rows(tmp_path: Path) -> None:
    given = [(i, moment(s), z, moment(za), y, moment(ya)) for i, s, z, za, y, ya in random_rows(7)]
    log = table(tmp_path / "log.csv", HEAD, given)
    rows = read_log(task_of(), log)
    types = "{'shown_at': 'TIMESTAMP', 'proxy_at': 'TIMESTAMP', 'outcome_at': 'TIMESTAMP', 'outcome': 'VARCHAR'}"
    source = f"FROM read_csv('{log}', types={types})"
    parquet(tmp_path / "log.parquet", source)
    duckdb.execute(f"COPY ({source}) TO '{tmp_path}/log.ndjson' (FORMAT json)")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as database:
        database.execute(f"CREATE SCHEMA s; CREATE TABLE s.log AS {source}")
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    half = len(given) // 2
    table(tmp_path / "folder" / "a.csv", HEAD, given[:half])
    table(tmp_path / "folder" / "deep" / "b.csv", HEAD, given[half:])
    (tmp_path / "folder" / "_SUCCESS").write_text("")
    for other in ("log.parquet", "log.ndjson", "log.duckdb::s.log", "folder"):
        same(read_log(task_of(), f"{tmp_path}/{other}"), rows)


FEATURES = """
item = { kind = "category", missing = "unknown" }
user = { kind = "category", hashed = 50 }
tags = { kind = "set" }
words = { kind = "set", separator = "|", hashed = 20, slots = 4 }
price = { kind = "number", centre = 2, scale = 4, missing = 10 }
clicks = { kind = "count", edges = [1, 2.5] }
member = { kind = "boolean" }
at = { kind = "timestamp", column = "shown_at", parts = ["hour", "weekday", "day", "week", "month", "quarter"] }
"""
VALUED = """
SELECT * FROM (VALUES
    ('b', 7, ['y', 'x', 'y'], 'p| q', 6.0, 0, true, '2020-01-01 05:00:00'::TIMESTAMP, 1),
    (NULL, 8, NULL, '', NULL, 2, false, '2020-01-02 00:00:00'::TIMESTAMP, 2),
    ('a', 7, [], NULL, -2.0, 3, true, '2020-12-31 23:59:59'::TIMESTAMP, 2)
) AS t(item, "user", tags, words, price, clicks, member, shown_at, list)
CROSS JOIN (SELECT 'some' AS proxy, 'yes' AS outcome)
"""


def test_features_are_encoded_by_their_kinds(tmp_path: Path) -> None:
    times = ", shown_at AS proxy_at, shown_at + INTERVAL 1 DAY AS outcome_at"
    log = parquet(tmp_path / "log.parquet", f"SELECT *{times} FROM ({VALUED})")
    rows, excluded = read_log(task_of(FEATURES, log='group = "list"'), log)
    assert excluded.counts == {}
    p, q = sorted(hashed_symbol(word, 20) for word in "pq")
    users = [hashed_symbol(user, 50) for user in ("7", "8", "7")]
    assert rows.instances.symbols.tolist() == [
        [0, users[0], 0, 1, 5, 2, 0, 0, 0, 0, 0, 1, p, q, -1, -1],
        [1, users[1], 1, 0, 0, 3, 1, 0, 0, 0, -1, -1, -1, -1, -1, -1],
        [2, users[2], 2, 1, 23, 3, 30, 52, 11, 3, -1, -1, -1, -1, -1, -1],
    ]
    assert rows.instances.dense.tolist() == [[1.0], [2.0], [-1.0]]
    assert rows.features.sets == (SetOf(2, 2), SetOf(20, 4))
    assert rows.vocabularies["item"].values == ("b", "unknown", "a")
    assert rows.vocabularies["tags"].values == ("x", "y")
    assert rows.group is not None
    assert rows.group.tolist() == [0, 1, 1]
    task_of(FEATURES).spaces(rows.vocabularies).encode(rows.instances)


def test_sets_that_are_all_empty_have_one_empty_slot(tmp_path: Path) -> None:
    log = csv(tmp_path / "log.csv", HEAD + ",tags", "a,2020-01-01,some,2020-01-02,yes,2020-01-08,")
    rows, _ = read_log(task_of('item = { kind = "category" }\ntags = { kind = "set" }'), log)
    assert rows.instances.symbols.tolist() == [[0, EMPTY]]


def test_symbols_of_a_prefix_do_not_depend_on_the_rest(tmp_path: Path) -> None:
    given = [(i, moment(s), "some", moment(s), "yes", moment(s + 1)) for i, s, *_ in random_rows(1)]
    given.sort(key=lambda row: str(row[1]))
    whole, _ = read_log(task_of(), table(tmp_path / "whole.csv", HEAD, given))
    until = sum(str(row[1]) < str(given[200][1]) for row in given)  # no instant is cut in two
    part, _ = read_log(task_of(), table(tmp_path / "part.csv", HEAD, given[:until]))
    np.testing.assert_array_equal(part.instances.symbols, whole.instances.symbols[:until])


def test_ids_order_rows_of_an_instant_and_repeated_ones_are_counted(tmp_path: Path) -> None:
    lines = [f"{n},item-{n},2020-01-0{d},some,2020-01-09,yes,2020-01-10" for n, d in ((10, 3), (9, 3), (2, 4), (9, 5))]
    proxy, outcome = (f'values = ["{a}", "{b}"]\nhorizon = "7 days"' for a, b in (("none", "some"), ("no", "yes")))
    rows, excluded = read_log(
        task_of(log='id = "n"', proxy=proxy, outcome=outcome), csv(tmp_path / "l.csv", f"n,{HEAD}", *lines)
    )
    assert rows.id.tolist() == [9, 10, 2]
    assert excluded.lines() == ["rows that repeat the n of an earlier one: 1, such as row 4"]
    named, _ = read_log(
        task_of(log='id = "n"', proxy=proxy, outcome=outcome),
        csv(tmp_path / "m.csv", f"n,{HEAD}", *(f"x{line}" for line in lines)),
    )
    assert named.id.tolist() == ["x10", "x9", "x2"]


def test_what_is_not_known_by_the_end_of_the_log_is_not_taken_for_absent(tmp_path: Path) -> None:
    lines = ["a,2020-01-01,some,2020-01-01,,", "a,2020-01-05,some,2020-01-05,,", "a,2020-01-11,some,2020-01-11,,"]
    outcome = 'values = ["no", "yes"]\nhorizon = "7 days"\nabsent = "no"'
    log = csv(tmp_path / "log.csv", HEAD, *lines)
    rows, excluded = read_log(task_of(outcome=outcome), log)
    assert rows.outcome.symbols.tolist() == [0, -1, -1]
    assert excluded.counts == {"outcome not yet known at the end of the log": 2}
    rows, _ = read_log(task_of(outcome=outcome, log="until = 2020-01-12"), log)
    assert rows.outcome.symbols.tolist() == [0, 0, -1]
    assert (rows.outcome.known_at[:2] - rows.shown_at[:2]).tolist() == [7 * DAY, 7 * DAY]


GOOD = "a,2020-01-01,some,2020-01-02,yes,2020-01-08"
FLAWS = 'item = { kind = "category" }\nprice = { kind = "number" }'


def test_rows_that_cannot_be_right_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = [
        f"{GOOD},1",
        f"{GOOD},nan",
        f"{GOOD},",
        f"{GOOD},cheap",
        "a,yesterday,some,2020-01-02,yes,2020-01-08,1",
        ",2020-01-01,some,2020-01-02,yes,2020-01-08,1",
        "a,2020-01-01,some,2020-01-02,yes,2019-12-31,1",
        "a,2020-01-01,some,2019-01-02,yes,2020-01-08,1",
        "a,2020-01-01,some,,yes,2020-01-08,1",
        "a,2020-01-01,,2020-01-02,yes,2020-01-08,1",
    ]
    rows, excluded = read_log(task_of(FLAWS), csv(tmp_path / "log.csv", f"{HEAD},price", *lines))
    assert len(rows.id) == 3
    assert excluded.counts == {
        "rows without a valid shown_at": 1,
        "rows without a valid item": 1,
        "rows without a valid price": 3,
        "rows whose proxy was known before the prediction": 1,
        "rows whose outcome was known before the prediction": 1,
        "proxy did not come within 2 days": 1,
        "proxy has a value but no moment at which it became known": 1,
    }
    assert "rows without a valid price: 3, such as row 2" in excluded.lines()


@pytest.mark.parametrize(
    ("name", "text", "changes", "words"),
    [
        ("l.csv", f"item,shown_at\n{GOOD[:12]}\n", {}, "l.csv lacks the columns proxy, proxy_at, outcome, "
         "outcome_at: .*say in the task which columns they are: proxy.column, proxy.known_at"),
        ("l.csv", f"{HEAD}\n", {}, "l.csv holds no rows"),
        ("l.csv", "", {}, "l.csv is empty"),
        ("l.txt", "a", {}, "the kind of this file is unknown"),
        ("l.ndjson", '{"item": [1]}', {}, "l.ndjson lacks the columns"),
        ("l.ndjson", '{"item": {"a": 1}, "shown_at": 1, "proxy": 1, "proxy_at": 1, "outcome": 1, "outcome_at": 1}', {},
         "column item of l.ndjson has the wrong type: found 'STRUCT.*; make it words, .* or change instance.item"),
        ("l.ndjson", '{"item": 1, "shown_at": true, "proxy": 1, "proxy_at": 1, "outcome": 1, "outcome_at": 1}', {},
         "column shown_at of l.ndjson has the wrong type: found 'BOOLEAN'; make it a time .* or change log.shown_at"),
        ("l.csv", f"{HEAD}\n{GOOD.replace('yes', 'maybe')}\n{GOOD}\n", {},
         "column outcome of l.csv holds values outside outcome.values: found 'maybe'; 1 row in all: add"),
        ("l.csv", f"{HEAD}\n{GOOD}\n{GOOD.replace('2020-01-01', '2020-01-01 00:00:00+02')}\n", {},
         "l.csv mixes times with and without a zone: found '.*'; give every time a zone, or none"),
        ("l.csv", f"{HEAD}\n{GOOD.replace('2020-01-08', '2020-01-08T00:00:00Z')}\n", {}, "mixes times with and"),
        ("l.csv", f"{HEAD}\n{GOOD.replace('2020-01-01', 'never')}\n", {}, "most of column shown_at of l.csv"),
        ("l.csv", f"{HEAD}\n{GOOD[1:]}\n", {}, "every row of l.csv had to be left out: found .*valid item"),
        ("l.csv", f"{HEAD}\n{GOOD.replace('yes', '')}\n", {},
         "no outcome in l.csv ever becomes known: found 'outcome did not come within 7 days: 1'; check its columns"),
        ("l.csv", f"{HEAD}\n{GOOD}\n", {"outcome": 'values = ["no", "yes"]\nhorizon = "8 days"'},
         "the horizon of outcome is longer than l.csv: found '8 days in a log of 7 days'"),
        ("l.csv", f"{HEAD}\n{GOOD}\n", {"instance": 'item = { kind = "category", values = ["b"] }'},
         "column item of l.csv holds a value not declared: found 'a'; add it to instance.item.values"),
        ("l.csv", f"{HEAD}\n{GOOD}\n", {"instance": 'item = { kind = "set", values = ["b"] }'}, "value not declared"),
        ("l.csv", f"{HEAD}\n{GOOD.replace('a', 'a|b', 1)}\n",
         {"instance": 'item = { kind = "set", slots = 1, separator = "|" }'},
         "larger than its slots: found '2 values in 1 slots'; give instance.item slots = 2"),
        ("l.csv", f"{HEAD}\n{GOOD}\n1,2\n", {}, "l.csv cannot be read as CSV"),
        ("l.parquet", "PAR1", {}, "l.parquet cannot be read as Parquet"),
        ("l.duckdb", "x", {}, "may hold many tables: .*name one: l.duckdb::TABLE"),
    ],
)  # fmt: skip
def test_a_bad_log_is_refused_in_one_line(
    tmp_path: Path, name: str, text: str, changes: dict[str, str], words: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=words) as refused:
        read_log(task_of(**changes), tmp_path / name)
    assert "\n" not in str(refused.value)


def test_logs_that_are_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.duckdb").write_text("nothing")
    (tmp_path / "mixed").mkdir()
    csv(tmp_path / "mixed" / "a.csv", HEAD)
    csv(tmp_path / "mixed" / "a.tsv", HEAD)
    (tmp_path / "empty").mkdir()
    with duckdb.connect(str(tmp_path / "good.duckdb")):
        pass
    for log, words in (
        ("none.csv", "none.csv is not there"),
        ("none.duckdb::t", "none.duckdb is not there"),
        ("broken.duckdb::t", "broken.duckdb cannot be read as DuckDB"),
        ("good.duckdb::t", "good.duckdb::t cannot be read as DuckDB"),
        ("mixed", r"holds files of several kinds: found \['.csv', '.tsv'\]"),
        ("empty", "the folder empty holds no log"),
    ):
        with pytest.raises(DataError, match=words) as refused:
            read_log(task_of(), f"{tmp_path}/{log}")
        assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="engine is unknown: found 'pandas'; choose one of duckdb, spark"):
        read_log(task_of(), tmp_path, engine="pandas")


def test_too_many_categories_must_be_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabularies, "LARGEST", 1000)
    times = "'2020-01-01'::DATE + (range % 30)::INTEGER AS shown_at"
    known = "shown_at AS proxy_at, 'some' AS proxy, shown_at + 1 AS outcome_at, 'yes' AS outcome"
    log = parquet(tmp_path / "log.parquet", f"SELECT range AS item, {times}, {known} FROM range(2000)")
    with pytest.raises(DataError, match="too many categories to tell apart: found '2,000 of at most 1,000'; hash them"):
        read_log(task_of(), log)
    rows, _ = read_log(task_of('item = { kind = "category", hashed = 64 }'), log)
    counts: Array = np.bincount(rows.instances.symbols[:, 0], minlength=64)
    assert counts.min() > 0


def test_a_zone_far_down_in_ndjson_is_noticed(tmp_path: Path) -> None:
    line = (
        '{"item": 1, "shown_at": "2020-01-%s", "proxy": "some", "proxy_at": "2020-01-09T00:00:00", "outcome": "yes", '
    )
    line += '"outcome_at": "2020-01-09T00:00:00"}'
    lines = [line % "05T00:00:00"] * 30_000 + [line % "05T00:00:00+02:00"]
    with pytest.raises(DataError, match="mixes times with and without a zone"):
        read_log(task_of(), csv(tmp_path / "log.ndjson", *lines))
