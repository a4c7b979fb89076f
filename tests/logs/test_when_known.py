"""Values known at their horizon, times of success, and logs without times: what is read of them, row by row."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.errors import DataError
from presage.logs.rows import read_log
from presage.logs.signals import NEVER_AT
from presage.task.spans import ROW
from tests.logs.given import DAY, csv, parquet, table, task_of

START = int(np.datetime64("2020-01-01", "us").astype(np.int64))
HOUR = DAY // 24
HORIZON = 7 * 24
WAIT = 'values = ["no", "yes"]\nhorizon = "7 days"\n'
OPEN = 'values = ["none", "some"]\nhorizon = "2 days"\nknown = "at horizon"'


def moment(hours: int | None) -> str | None:
    return None if hours is None else str(np.datetime64(START + hours * HOUR, "us"))


def drawn(seed: int, size: int = 300) -> list[tuple[int, str | None, str | None, int | None]]:
    """The hour shown, a proxy, an outcome and the hour of a success: too early, in time, late, or none."""
    draw = np.random.default_rng(seed)
    rows: list[tuple[int, str | None, str | None, int | None]] = []
    for _ in range(size):
        shown = int(draw.integers(0, 24 * 30))
        proxy = [None, "none", "some"][int(draw.integers(0, 3))]
        outcome = [None, "no", "yes"][int(draw.integers(0, 3))]
        success = shown + int(draw.integers(-20, 2 * HORIZON)) if draw.random() < 0.6 else None
        rows.append((shown, proxy, outcome, success))
    return rows


def written(path: Path, rows: list[tuple[int, str | None, str | None, int | None]]) -> Path:
    told = [("a", moment(shown), proxy, outcome, moment(success)) for shown, proxy, outcome, success in rows]
    return table(path, "item,shown_at,proxy,outcome,paid_at", told)


def settled(signal: Any) -> list[tuple[int, int]]:
    return list(zip(signal.symbols.tolist(), signal.known_at.tolist(), strict=True))


@pytest.mark.parametrize("absent", [None, "no"])
@pytest.mark.parametrize("seed", range(3))
def test_a_value_is_known_at_its_horizon_and_open_where_the_log_ends_before(
    tmp_path: Path, seed: int, absent: str | None
) -> None:
    given = sorted(drawn(seed), key=lambda row: row[0])
    outcome = WAIT + 'known = "at horizon"' + (f'\nabsent = "{absent}"' if absent else "")
    rows, excluded = read_log(task_of(proxy=OPEN, outcome=outcome), written(tmp_path / "log.csv", given))
    end = given[-1][0]

    def wanted(shown: int, value: str | None, values: list[str], horizon: int, none: str | None) -> tuple[int, int]:
        value = value or none
        ripe = value is not None and shown + horizon <= end
        return (values.index(str(value)), START + (shown + horizon) * HOUR) if ripe else (-1, NEVER_AT)

    assert settled(rows.outcome) == [wanted(row[0], row[2], ["no", "yes"], HORIZON, absent) for row in given]
    assert settled(rows.proxy()) == [wanted(row[0], row[1], ["none", "some"], 48, None) for row in given]
    late = sum(row[0] + HORIZON > end for row in given)
    assert excluded.counts["outcome not yet known at the end of the log"] == late > 0


@pytest.mark.parametrize("known", ["at horizon", "as it happens"])
@pytest.mark.parametrize("seed", range(3))
def test_a_success_is_the_second_value_and_nothing_in_time_the_first(tmp_path: Path, seed: int, known: str) -> None:
    given = sorted(drawn(seed), key=lambda row: row[0])
    outcome = WAIT + f'happened_at = "paid_at"\nknown = "{known}"'
    rows, excluded = read_log(task_of(proxy=OPEN, outcome=outcome), written(tmp_path / "log.csv", given))
    end = max(hour for shown, _, _, paid in given for hour in (shown, paid) if hour is not None)
    kept = [row for row in given if row[3] is None or row[3] >= row[0]]

    def wanted(shown: int, paid: int | None) -> tuple[int, int]:
        at = shown + HORIZON
        if paid is not None and paid <= at:
            at = paid if known == "as it happens" else at
            return (1, START + at * HOUR) if at <= end else (-1, NEVER_AT)
        return (0, START + at * HOUR) if at <= end else (-1, NEVER_AT)

    assert settled(rows.outcome) == [wanted(row[0], row[3]) for row in kept]
    assert excluded.counts["rows whose outcome was known before the prediction"] == len(given) - len(kept) > 0
    reason = "outcome came later than 7 days"
    assert excluded.counts[reason] == sum(row[3] is not None and row[3] > row[0] + HORIZON for row in kept) > 0
    assert f"taken as no: {reason}: {excluded.counts[reason]}" in excluded.told()


def test_as_it_happens_differs_in_the_moment_of_successes_only(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", drawn(5))
    at, happens = (
        read_log(
            task_of(proxy=OPEN, outcome=f'{WAIT}happened_at = "paid_at"\nknown = "{known}"', log="until = 2020-02-02"),
            log,
        )[0].outcome
        for known in ("at horizon", "as it happens")
    )
    both = (at.symbols >= 0) & (happens.symbols >= 0)
    np.testing.assert_array_equal(at.symbols[both], happens.symbols[both])
    sooner = happens.known_at[both] < at.known_at[both]
    np.testing.assert_array_equal(sooner, (at.symbols[both] == 1) & (happens.known_at[both] != at.known_at[both]))
    assert sooner.sum() > 10
    assert set(happens.symbols[(at.symbols < 0) & (happens.symbols >= 0)].tolist()) == {1}


def test_until_says_that_the_values_of_the_last_rows_are_final(tmp_path: Path) -> None:
    log = csv(
        tmp_path / "log.csv", "item,shown_at,proxy,outcome", *(f"a,2020-01-{d:02},some,yes" for d in range(1, 21))
    )
    outcome = WAIT + 'known = "at horizon"'
    rows, _ = read_log(task_of(proxy=OPEN, outcome=outcome), log)
    assert (rows.outcome.symbols >= 0).sum() == 13
    rows, _ = read_log(task_of(proxy=OPEN, outcome=outcome, log="until = 2020-02-01"), log)
    assert (rows.outcome.symbols >= 0).all()


IN_ROWS = {
    "proxy": 'values = ["none", "some"]\nhorizon = "20 rows"',
    "outcome": 'values = ["no", "yes"]\nhorizon = "70 rows"',
    "log": 'order = "rows"',
}


def test_a_log_of_rows_is_that_of_one_row_per_second_with_values_known_at_the_horizon(tmp_path: Path) -> None:
    given = [row[1:3] for row in drawn(1)]
    in_rows = table(tmp_path / "rows.csv", "item,proxy,outcome", [("a", *row) for row in given])
    seconds = [("a", n + 1, z, n + 21, y, n + 71) for n, (z, y) in enumerate(given)]
    in_time = table(tmp_path / "time.csv", "item,shown_at,proxy,proxy_at,outcome,outcome_at", seconds)
    rows, excluded = read_log(task_of(**IN_ROWS), in_rows)
    timed, _ = read_log(
        task_of(
            proxy=IN_ROWS["proxy"].replace("rows", "seconds"),
            outcome=IN_ROWS["outcome"].replace("rows", "seconds"),
            log="until = 1970-01-01T00:05:00",
        ),
        in_time,
    )
    assert rows.shown_at.tolist() == timed.shown_at.tolist() == [n * ROW for n in range(1, 301)]
    assert rows.id.tolist() == list(range(1, 301))
    for ours, theirs in ((rows.proxy(), timed.proxy()), (rows.outcome, timed.outcome)):
        ripe = theirs.known_at <= 300 * ROW  # what lies beyond the log's end is not yet known
        np.testing.assert_array_equal(ours.symbols, np.where(ripe, theirs.symbols, -1))
        np.testing.assert_array_equal(ours.known_at, np.where(ripe, theirs.known_at, NEVER_AT))
    assert excluded.counts["outcome not yet known at the end of the log"] == 70


def test_rows_keep_their_numbers_where_some_are_left_out_or_repeated(tmp_path: Path) -> None:
    lines = [f"{n % 8},{'' if n == 3 else 'a'},some,yes" for n in range(10)]
    task = task_of(
        proxy='values = ["none", "some"]\nhorizon = "1 row"',
        outcome='values = ["no", "yes"]\nhorizon = "2 rows"',
        log='order = "rows"\nid = "n"',
    )
    rows, excluded = read_log(task, csv(tmp_path / "log.csv", "n,item,proxy,outcome", *lines))
    assert rows.id.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert (rows.shown_at // ROW).tolist() == [1, 2, 3, 5, 6, 7, 8]
    assert set(rows.outcome.known_at - rows.shown_at) == {2 * ROW}
    assert excluded.counts == {"rows without a valid item": 1, "rows that repeat the n of an earlier one": 2}


def test_a_folder_of_files_has_the_order_of_their_names(tmp_path: Path) -> None:
    lines = [f"item-{n},some,yes" for n in range(100)]
    (tmp_path / "log").mkdir()
    for name, part in (("b.csv", lines[40:]), ("a.csv", lines[:40])):
        csv(tmp_path / "log" / name, "item,proxy,outcome", *part)
    rows, _ = read_log(task_of(**IN_ROWS), tmp_path / "log")
    assert rows.vocabularies["item"].values == tuple(f"item-{n}" for n in range(100))


GOOD = "a,2020-01-01,some,2020-01-02,yes,2020-01-08"
HEAD = "item,shown_at,proxy,proxy_at,outcome,outcome_at"


@pytest.mark.parametrize(
    ("lines", "changes", "error"),
    [
        (
            ["item,shown_at,proxy,proxy_at,outcome", GOOD[:32]],
            {},
            "log.csv lacks the columns outcome_at: found ['item', 'shown_at', 'proxy', 'proxy_at', 'outcome']; rename "
            "or add them, or say in the task which columns they are: outcome.known_at; a value known when its horizon "
            'has passed needs known = "at horizon" instead of known_at',
        ),
        (
            [HEAD, GOOD, GOOD.replace("2020-01-08", "none"), GOOD.replace("2020-01-08", "n.a.")],
            {"outcome": WAIT + 'happened_at = "outcome_at"'},
            "column outcome_at of log.csv holds what is no time: found 'n.a.'; 2 rows in all: write a time where it "
            "happened, and nothing where it did not",
        ),
        (
            [HEAD, GOOD, GOOD.replace("2020-01-08", "1577836800000")],
            {"outcome": WAIT + 'happened_at = "outcome_at"'},
            "column outcome_at of log.csv holds what is no time: found '1577836800000'; 1 row in all: write a time "
            "where it happened, and nothing where it did not",
        ),
        (
            ["item,proxy,outcome", *["a,some,yes"] * 70],
            IN_ROWS,
            "the horizon of outcome is not shorter than log.csv: found '70 rows in a log of 70 rows'; give a longer "
            "log or a shorter horizon",
        ),
        (
            [HEAD, GOOD, "a,2020-01-05,some,2020-01-06,yes,2020-01-08"],
            {"outcome": WAIT + 'known = "at horizon"'},
            "the horizon of outcome is longer than log.csv: found '7 days in a log of 5 days'; give a longer log or a "
            "shorter horizon",
        ),
    ],
)
def test_a_log_that_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, lines: list[str], changes: dict[str, str], error: str
) -> None:
    with pytest.raises(DataError) as refused:
        read_log(task_of(**changes), csv(tmp_path / "log.csv", *lines))
    assert str(refused.value) == error


def test_spark_is_refused_for_a_log_of_rows(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="Spark does not keep the order of the rows: found 'spark'; use the engine duck"
    ):
        read_log(task_of(**IN_ROWS), tmp_path / "none.csv", engine="spark")


@pytest.mark.parametrize(("no", "yes"), [("No", "Yes"), ("0", "1"), ("false", "true")])
def test_a_flag_where_times_of_success_belong_is_refused_with_the_lines_to_write(
    tmp_path: Path, no: str, yes: str
) -> None:
    outcome = 'values = ["no", "yes"]\nhorizon = "7 days"\nhappened_at = "outcome"'
    rows = [(f"i{n % 3}", f"2020-01-{n + 1:02}", "none", f"2020-01-{n + 1:02}", (no, yes)[n % 2]) for n in range(20)]
    log = table(tmp_path / "log.csv", "item,shown_at,proxy,proxy_at,outcome", rows)
    words = r'says whether it happened and not when: .* in \[outcome\] write column = "outcome" .* known = "at horizon"'
    with pytest.raises(DataError, match=words):
        read_log(task_of(outcome=outcome), log)
    typed = parquet(tmp_path / "log.parquet", f"SELECT * REPLACE (shown_at::TIMESTAMP AS shown_at) FROM '{log}'")
    with pytest.raises(DataError, match=r'in \[outcome\] write column = "outcome"'):
        read_log(task_of(outcome=outcome), typed)


def test_a_row_without_a_feature_is_left_out_with_a_word_on_what_keeps_it(tmp_path: Path) -> None:
    days = [f"2020-01-{n + 1:02}" for n in range(20)]
    rows = [("i1" if n else None, day, "none", day, "no", day) for n, day in enumerate(days)]
    log = table(tmp_path / "log.csv", "item,shown_at,proxy,proxy_at,outcome,outcome_at", rows)
    _, excluded = read_log(task_of(), log)
    (told,) = (line for line in excluded.told() if "valid item" in line)
    remedy = "to keep them, declare instance.item.missing"
    assert told == f"left out: rows without a valid item: 1, such as row 1 ({remedy})"
    assert excluded.counts["rows without a valid item"] == 1
