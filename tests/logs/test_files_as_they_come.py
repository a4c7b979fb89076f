"""A log is the same however its file is written; what a task says of its times and rows is done, and nothing else."""

import gzip
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from presage import backtest, judge_proxies
from presage.errors import DataError, PresageError, SettingError
from presage.logs import sources
from presage.logs.cleaning import Exclusions
from presage.logs.engines import DuckDBEngine, LogReading
from presage.logs.log_condition import read_condition
from presage.logs.rows import LogRows, read_log
from presage.logs.tables import connected
from presage.task.task import Task, read_task
from tests.logs.given import csv, parquet, same, task_of
from tests.logs.odd_logs import GOOD, HEADER, ROWS, STATUS, TASK, log_key, row


def read(path: Path, key: str = "", *, skip: bool = False) -> tuple[LogRows, Exclusions]:
    return read_log(read_task(TASK.replace(*log_key(key))), path, skip_bad_lines=skip)


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a.csv", lambda text: text.replace(",", ";")),
        ("a.csv", lambda text: text.replace(",", "|")),
        ("a.tsv", lambda text: text.replace(",", "\t")),
        ("a.csv", lambda text: "\ufeff" + text),
        ("a.csv", lambda text: text.replace("\n", "\r\n")),
        ("a.csv", lambda text: text.replace("\n", "\r\n", 30)),
        ("a.csv", lambda text: "\r\n\n" + text.replace("\n", "\n\n")),
        ("a.csv", lambda text: text.replace("item-2", '"item-2"')),
        ("a.csv.gz", lambda text: text.replace("\n", "\r\n", 30)),
        ("a.csv.gz", str),
        ("A.CSV", str),
    ],
)
def test_a_log_is_the_same_however_it_is_written(tmp_path: Path, name: str, change: Callable[[str], str]) -> None:
    plain, _ = read(written(tmp_path / "plain.csv", GOOD))
    odd, _ = read(written(tmp_path / name, change(GOOD)))
    same(odd, plain)


def test_skipping_bad_lines_gives_the_log_without_them(tmp_path: Path) -> None:
    bad = [5, 17, 18, 40]
    spoilt = ['"' + row(n) if n == 40 else row(n)[:20] if n % 2 else row(n) + ",," for n in bad]
    lines = [spoilt[bad.index(n)] if n in bad else row(n) for n in range(ROWS)]
    odd, left_out = read(csv(tmp_path / "odd.csv", HEADER, *lines), skip=True)
    plain, _ = read(csv(tmp_path / "plain.csv", HEADER, *(row(n) for n in range(ROWS) if n not in bad)))
    same(odd, plain)
    assert left_out.counts["lines that cannot be read"] == 4
    assert left_out.lines()[0].startswith(
        "lines that cannot be read: 4, such as line 7 has 4 columns, the first 8; line "
    )


def test_bad_lines_of_several_files_are_counted_together_and_named(tmp_path: Path) -> None:
    for place in range(2):
        lines = [row(n) if n % 30 != 3 else "x" for n in range(30 * place, 30 * place + 30)]
        csv(tmp_path / f"{place}.csv", HEADER, *lines)
    rows, left_out = read(tmp_path, skip=True)
    assert len(rows.id) == ROWS - 2
    assert left_out.lines()[0].endswith(
        ": 2, such as 0.csv: line 5 has 1 column, the first 8; 1.csv: line 5 has 1 column, the first 8"
    )


def test_the_front_door_skips_bad_lines_too(tmp_path: Path) -> None:
    path = csv(tmp_path / "log.csv", HEADER, *(row(n) for n in range(ROWS)), "x")
    for judge in (backtest, judge_proxies):
        with pytest.raises(DataError, match="line 62 has 1 column, the first 8; it is the last: was the file cut"):
            judge(path, TASK)
    assert (
        backtest(path, TASK, forecasters="marginal", skip_bad_lines=True).left_out.counts["lines that cannot be read"]
        == 1
    )
    assert judge_proxies(path, TASK, skip_bad_lines=True).left_out.counts["lines that cannot be read"] == 1


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_a_condition_gives_the_log_that_was_written_without_the_other_rows(tmp_path: Path, form: str) -> None:
    path = csv(tmp_path / "log.csv", *STATUS.splitlines())
    plain = csv(tmp_path / "plain.csv", *(one for one in STATUS.splitlines() if not one.endswith("test")))
    log: object = path
    if form == "parquet":
        log = tmp_path / "log.parquet"
        duckdb.execute(f"COPY (FROM read_csv('{path}', all_varchar=true)) TO '{log}'")
    elif form == "frame":
        import polars

        log = polars.read_csv(path, infer_schema=False)
    task = read_task(TASK.replace(*log_key("where = \"status <> 'test'\"")))
    found, left_out = read_log(task, log)
    same(found, read(plain)[0])
    assert left_out.counts["rows that log.where leaves out"] == 11


@pytest.mark.parametrize("condition", ["", "\nwhere = \"status <> 'test'\""])
def test_a_dataframe_is_read_with_a_format_of_times_like_the_file_it_came_from(tmp_path: Path, condition: str) -> None:
    import polars

    path = csv(tmp_path / "log.csv", *(one.replace("2024-", "24/") for one in STATUS.splitlines()))
    task = read_task(TASK.replace(*log_key(f'time_format = "%y/%m-%d %H:%M:%S"{condition}')))
    same(read_log(task, polars.read_csv(path, infer_schema=False))[0], read_log(task, path)[0])


def test_rows_keep_their_numbers_under_a_condition(tmp_path: Path) -> None:
    task = TASK.replace('id = "id"', "where = \"status <> 'test'\"")
    rows, _ = read_log(read_task(task), csv(tmp_path / "log.csv", *STATUS.splitlines()))
    kept = [n + 1 for n in range(ROWS) if not str(n).startswith("1")]
    assert sorted(rows.id.tolist()) == kept


def test_a_condition_is_about_the_events_and_not_about_the_moments(tmp_path: Path) -> None:
    events = [f"{n},i{n % 3},2024-03-{1 + n:02},{('live', 'test')[n % 2]}" for n in range(28)]
    csv(tmp_path / "events.csv", "n,item,at,status", *events)
    csv(tmp_path / "moments.csv", "item,shown_at", *(f"i{n % 3},2024-03-{1 + n:02}" for n in range(12)))
    (tmp_path / "task.toml").write_text(
        'version = 1\nname = "e"\n[instance]\nitem = { kind = "category" }\n[proxy]\nvalues = ["none", "some"]\n'
        'count = "event"\nwithin = "2 days"\nedges = [1]\n[outcome]\nvalues = ["no", "yes"]\ncount = "event"\n'
        'within = "6 days"\nedges = [2]\n[log]\ninstance = "item"\nat = "at"\nevery = "event"\n'
        'moments = "moments.csv"\n'
        "where = \"status = 'live'\"\n"
    )
    text = (tmp_path / "task.toml").read_text()
    rows, left_out = read_log(read_task(text, tmp_path), tmp_path / "events.csv")
    assert len(rows.id) == 12
    assert left_out.counts["rows that log.where leaves out"] == 14
    csv(tmp_path / "live.csv", "n,item,at,status", *events[::2])
    plain, _ = read_log(read_task(text.replace("where = ", "# "), tmp_path), tmp_path / "live.csv")
    same(rows, plain)


def test_while_a_condition_runs_nothing_but_the_log_can_be_read_or_written(tmp_path: Path) -> None:
    """A second wall, for the day on which the list of functions lets something through."""
    log, other = csv(tmp_path / "log.csv", *STATUS.splitlines()), csv(tmp_path / "other.csv", "a", "1")
    with connected(temp_directory=str(tmp_path / "scratch" / "spill")) as connection:
        DuckDBEngine(connection, LogReading(where="status <> 'test'", files=(log,)))
        assert connection.execute(f"SELECT count(*) FROM read_csv('{log}')").fetchall() == [(ROWS,)]
        for query in (
            f"FROM read_csv('{other}')",
            "FROM read_text('/etc/hostname')",
            f"COPY (SELECT 1) TO '{tmp_path / 'new.csv'}'",
            f"ATTACH '{tmp_path / 'new.duckdb'}'",
            "SET enable_external_access = true",
            "RESET allowed_paths",
            "INSTALL httpfs",
        ):
            with pytest.raises(duckdb.Error, match=r"disabled|locked|Cannot"):
                connection.execute(query)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "other.csv"]


def test_a_condition_is_rewritten_from_its_parse_and_keeps_its_meaning() -> None:
    conditions = [
        "a = 'x'", "NOT (a = 'x' OR b IS NULL)", "a LIKE 'x%' AND a NOT LIKE '_y_'", "a IN ('x', 'it''s') -- more",
        "b BETWEEN 1 AND 3", "CASE WHEN b > 1 THEN a = 'x' ELSE a ILIKE 'X' END", "coalesce(b, 0) % 2 = 1",
        "\"odd \"\"name\" <> a", "t > DATE '2024-01-01' + INTERVAL 2 DAY", "a IS DISTINCT FROM 'x'",
    ]  # fmt: skip
    with connected() as connection:
        connection.execute(
            "CREATE TABLE log AS SELECT ['x', 'xy', 'it''s', 'X', NULL][1 + range % 5] AS a, "
            'nullif(range % 4, 0) AS b, \'x\' AS "odd ""name", '
            "'2024-01-01'::TIMESTAMP + to_days(range::INTEGER) AS t FROM range(40)"
        )
        types = {str(one[0]): str(one[1]) for one in connection.execute("DESCRIBE log").fetchall()}
        for text in conditions:
            found = read_condition(connection, text, "log", types, "log")
            ours = connection.execute(f"SELECT count(*) FROM log WHERE {found.sql}").fetchall()
            theirs = connection.execute(f"SELECT count(*) FROM log WHERE (\n{text}\n)").fetchall()
            assert ours == theirs
            assert 0 < ours[0][0] < 40


def shown(tmp_path: Path, key: str, *times: str, kind: str = "csv") -> list[str]:
    """The moments at which predictions were shown, as they are read."""
    found = ["2024-01-01 00:00:00", *times, "2024-12-01 00:00:00"]
    lines = [f"{n},item-{n % 2},1,{one},none,{one},no,{one}" for n, one in enumerate(found)]
    path: Path = csv(tmp_path / "log.csv", HEADER, *lines)
    if kind == "parquet":
        names = ", ".join(f"{name}::TIMESTAMP AS {name}" for name in ("shown_at", "proxy_at", "outcome_at"))
        source, path = f"read_csv('{path}', all_varchar=true)", tmp_path / "log.parquet"
        parquet(path, f"SELECT * REPLACE ({names}) FROM {source}")
    rows, _ = read(path, key)
    return [str(np.datetime64(int(one), "us").astype("datetime64[s]")) for one in rows.shown_at[1:-1]]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("written_as", "meant"),
    [
        ("2024-01-15 12:00:00", "2024-01-15T11:00:00"),
        ("2024-07-15 12:00:00", "2024-07-15T10:00:00"),
        ("2024-03-31 01:59:59", "2024-03-31T00:59:59"),
        ("2024-03-31 02:30:00", "2024-03-31T01:30:00"),  # is not there: as if it were 03:30
        ("2024-03-31 03:30:00", "2024-03-31T01:30:00"),
        ("2024-10-27 01:59:59", "2024-10-26T23:59:59"),
        ("2024-10-27 02:30:00", "2024-10-27T01:30:00"),  # comes twice: the second
    ],
)
def test_times_without_a_zone_are_those_of_the_declared_place(
    tmp_path: Path, kind: str, written_as: str, meant: str
) -> None:
    assert shown(tmp_path, 'time_zone = "Europe/Berlin"', written_as, kind=kind) == [meant]
    assert shown(tmp_path, "", written_as, kind=kind) == [written_as.replace(" ", "T")]


def test_times_that_tell_their_zone_keep_it(tmp_path: Path) -> None:
    told = ["2024-03-31T02:30:00+02:00", "2024-03-31T01:00:00Z", "1711890000", "2024-03-31 15:30:00 America/New_York"]
    meant = ["2024-03-31T00:30:00", "2024-03-31T01:00:00", "2024-03-31T13:00:00", "2024-03-31T19:30:00"]
    assert shown(tmp_path, 'time_zone = "Europe/Berlin"', *told) == meant


def test_a_format_takes_the_zone_that_it_tells_or_the_declared_one(tmp_path: Path) -> None:
    formats = 'time_format = ["%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M %z", "milliseconds"]\n'
    times = ["01.07.2024 12:00", "02.07.2024 12:00 +05:00", "1720000000000"]
    found = shown(tmp_path, f'{formats}time_zone = "Europe/Berlin"', *times)
    assert found == ["2024-07-01T10:00:00", "2024-07-02T07:00:00", "2024-07-03T09:46:40"]
    with pytest.raises(
        DataError, match=r"mixes times with and without a zone: found '02.07.2024 12:00 .05:00 in shown_at"
    ):
        shown(tmp_path, formats, *times)


@pytest.mark.parametrize("unit", ["seconds", "milliseconds", "microseconds", "nanoseconds"])
def test_a_number_of_any_unit_is_the_same_moment(tmp_path: Path, unit: str) -> None:
    each = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}[unit]
    lines = [
        f"{n},item-0,1,{s * each},none,{s * each},no,{s * each}" for n, s in enumerate((0, 1700000000, 1720000000))
    ]
    rows, _ = read(csv(tmp_path / "log.csv", HEADER, *lines), f'time_format = "{unit}"')
    assert rows.shown_at.tolist() == [0, 1700000000_000000, 1720000000_000000]


@pytest.mark.parametrize(
    "key", ['time_format = "%d.%m"', "time_format = 3.5", "time_format = []", "where = 1", "time_zone = 1"]
)
def test_a_key_that_cannot_be_right_is_refused_before_the_log_is_read(key: str) -> None:
    with pytest.raises(SettingError, match=f"log.{key.split(maxsplit=1)[0]} "):
        task_of(log=key)


def test_events_may_have_all_three_keys() -> None:
    log = 'instance = "item"\nmoment = ["a"]\nwhere = "true"\ntime_format = "%Y"\ntime_zone = "UTC"'
    counted = 'values = ["no", "yes"]\ncount = "b"\nwithin = "1 day"\nedges = [1]'
    columns = task_of(proxy=counted, outcome=counted, log=log).log
    assert (columns.where, columns.time_format, columns.time_zone) == ("true", ("%Y",), "UTC")


@pytest.mark.parametrize("key", ['where = "true"', 'time_format = "%Y-%m-%d"', 'time_zone = "Europe/Berlin"'])
def test_spark_refuses_what_only_duckdb_does(tmp_path: Path, key: str) -> None:
    with pytest.raises(DataError, match=rf"the engine spark knows no log\.{key.split(maxsplit=1)[0]}"):
        read_log(read_task(TASK.replace(*log_key(key))), tmp_path, engine="spark")


@pytest.mark.parametrize(
    "error",
    [PermissionError(13, "Permission denied", "log.csv"), IsADirectoryError(21, "Is a directory"), MemoryError()],
)
def test_what_the_system_refuses_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def refuse(path: Path) -> None:
        raise error

    monkeypatch.setattr(sources, "check_file", refuse)
    with pytest.raises(PresageError, match=r"log\.csv (cannot be read|needs more memory)") as refused:
        read(written(tmp_path / "log.csv", GOOD))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["a\0.csv", "x" * 5000 + ".csv", "\udcff.csv"])
def test_a_name_that_no_file_can_have_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError) as refused:
        read(tmp_path / name)
    assert "\n" not in str(refused.value)


def test_the_task_means_its_own_words(tmp_path: Path) -> None:
    """A kind of event called None is one; another column's None is nothing."""
    task: Task = task_of(
        proxy='values = ["no", "yes"]\ncount = "None"\nwithin = "1 day"\nedges = [1]',
        outcome='values = ["no", "yes"]\ncount = "None"\nwithin = "3 days"\nedges = [2]',
        log='instance = "item"\nmoment = ["NA"]',
    )
    events = [
        "a,NA,2024-01-01",
        "a,None,2024-01-01 12:00:00",
        "None,None,2024-01-02",
        "a,n/a,2024-01-02",
        "a,x,2024-01-09",
    ]
    rows, left_out = read_log(task, csv(tmp_path / "log.csv", "item,kind,at", *events))
    assert rows.proxies[0].symbols.tolist() == [1]
    assert rows.outcome.symbols.tolist() == [0]
    assert left_out.counts["events without a valid item"] == 1
    assert left_out.counts["events without a valid kind"] == 1
