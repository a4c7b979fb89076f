"""How late signals become known, counted from a log and said in words, and delays that make no sense."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.logs.guards.signal_delays import SignalDelays
from presage.logs.rows import LogRows, read_log
from tests.logs.given import DAY, table, task_of
from tests.logs.test_rows import HEAD, moment, random_rows

HOURS = 3_600_000_000


def read(path: Path, rows: list[tuple[Any, ...]], **changes: str) -> LogRows:
    written = [(i, moment(s), z, moment(za), y, moment(ya)) for i, s, z, za, y, ya in rows]
    return read_log(task_of(**changes), table(path / "log.csv", HEAD, written))[0]


@pytest.mark.parametrize("absent", [False, True])
def test_delays_are_those_that_the_rows_tell(tmp_path: Path, absent: bool) -> None:
    outcome = 'values = ["no", "yes"]\nhorizon = "7 days"' + ('\nabsent = "no"' if absent else "")
    given = random_rows(4)
    proxy, found = read(tmp_path, given, outcome=outcome).delays
    until = max(hour for row in given for hour in (row[1], row[3], row[5]) if hour is not None)
    came = [ya - s for _, s, _, _, y, ya in given if y and ya is not None and ya - s <= 168]
    late = sum(y is not None and ya is not None and ya - s > 168 for _, s, _, _, y, ya in given)
    undated = sum(y is not None and ya is None for *_, y, ya in given)
    still_open = sum(y is None and s + 168 > until for _, s, _, _, y, _ in given)
    silent = sum(y is None and s + 168 <= until for _, s, _, _, y, _ in given)
    assert (found.rows, found.known, found.open) == (len(given), len(came), still_open)
    assert found.at_once == came.count(0)
    assert (found.absent, found.censored) == ((silent + late, undated) if absent else (0, silent + late + undated))
    assert [one / HOURS for one in found.quartiles] == np.quantile(
        came, [0.25, 0.5, 0.75], method="inverted_cdf"
    ).tolist()
    assert sum((found.known, found.absent, found.open, found.censored)) == found.rows
    assert proxy.name == "proxy"


def test_delays_that_are_all_the_same_are_said_once() -> None:
    assert SignalDelays("proxy", 10, 10, 0, 0, 0, 0, (DAY, DAY, DAY)).words() == "known after 1 day"
    words = SignalDelays("proxy", 2000, 1, 1, 0, 1999, 0, (0, 0, 0)).words()
    assert words == "known after 0 seconds; 0.05 % known at once, 99.9 % not yet known at the end of the log"


def rows_with(proxy: int, outcome: int, at_once: int = 0) -> list[tuple[Any, ...]]:
    """Two hundred rows in which proxy and outcome come after so many hours; of some, the outcome comes at once."""
    return [
        (f"i{n % 7}", 3 * n + 1, ("none", "some")[n % 3 % 2], 3 * n + 1 + proxy, ("no", "yes")[n % 5 % 2],
         3 * n + 1 + (0 if n < at_once else outcome))
        for n in range(200)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("proxy", "outcome", "at_once", "kinds"),
    [
        (20, 30, 0, []),
        (20, 30, 10, []),
        (20, 30, 11, ["known-at-once"]),
        (0, 30, 0, ["known-at-once"]),
        (30, 30, 0, ["proxy-after-the-outcome"]),
        (30, 20, 0, ["proxy-after-the-outcome"]),
    ],
)
def test_delays_that_make_no_sense_are_warned_of(
    tmp_path: Path, proxy: int, outcome: int, at_once: int, kinds: list[str]
) -> None:
    assert [one.kind for one in read(tmp_path, rows_with(proxy, outcome, at_once)).warnings] == kinds


def test_known_on_the_day_of_the_prediction_is_at_once_only_where_times_are_finer(tmp_path: Path) -> None:
    days = [(i, s // 24 * 24, z, s // 24 * 24 + 24, y, s // 24 * 24 + 48 * (n % 3 > 0))
            for n, (i, s, z, _, y, _) in enumerate(rows_with(20, 30))]  # fmt: skip
    assert read(tmp_path, days).warnings == ()
    finer = [(i, s + 1, z, za + 1, y, ya + 1) for i, s, z, za, y, ya in days]
    assert [one.kind for one in read(tmp_path, finer).warnings] == ["known-at-once"]


@pytest.mark.parametrize(("horizon", "kinds"), [("6 days", []), ("7 days", ["proxy-horizon"])])
def test_a_proxy_that_may_take_as_long_as_the_outcome_is_warned_of(
    tmp_path: Path, horizon: str, kinds: list[str]
) -> None:
    proxy = f'values = ["none", "some"]\nhorizon = "{horizon}"'
    assert [one.kind for one in read(tmp_path, rows_with(20, 30), proxy=proxy).warnings] == kinds


SUCCESS = 'values = ["no", "yes"]\nhappened_at = "outcome_at"\nhorizon = "7 days"'


def planned(beyond: int) -> list[tuple[Any, ...]]:
    """Successes an hour to six days after their rows; of those later than the last row only a part `1/beyond`."""
    draw = np.random.default_rng(6)
    last = 1200
    rows: list[tuple[Any, ...]] = []
    for n in range(1200):
        at = n + 1
        came = at + int(draw.integers(1, 144)) if draw.random() < 0.5 else None
        came = None if came and came > last and draw.integers(0, beyond) else came
        rows.append((f"i{n % 7}", at, "none", at + 1, "no", came))
    rows.append(("i1", 1, "some", 2, "no", last + 2000))
    return rows


@pytest.mark.parametrize(("beyond", "warned"), [(1, False), (10, True)])
def test_times_that_were_planned_when_the_log_ended_are_warned_of(tmp_path: Path, beyond: int, warned: bool) -> None:
    rows = planned(beyond)
    found = read(tmp_path, rows, outcome=SUCCESS)
    kinds = [one.kind for one in found.warnings]
    assert kinds == ["times-ahead"] * warned
    if warned:
        assert 'write [log] until = "' in found.warnings[0].text
        until = f'until = "{found.warnings[0].text.partition(chr(34))[2].partition(chr(34))[0]}"'
        mended = read(tmp_path, rows, outcome=SUCCESS, log=until)
        assert mended.warnings == ()
        assert (mended.outcome.symbols >= 0).sum() < (found.outcome.symbols >= 0).sum()


def test_a_time_that_only_one_value_has_is_a_time_of_success(tmp_path: Path) -> None:
    rows = [(i, s, z, za, y, ya if y == "yes" else None) for i, s, z, za, y, ya in rows_with(5, 50)]
    (warning,) = read(tmp_path, rows).warnings
    assert (warning.kind, warning.column, warning.evidence["value"]) == ("one-value-known", "outcome", "yes")
    assert 'write happened_at = "outcome_at" instead of column and known_at' in warning.text
    mended = 'values = ["no", "yes"]\nhappened_at = "outcome_at"\nhorizon = "7 days"'
    assert read(tmp_path, rows, outcome=mended).warnings == ()
    mostly = [(i, s, z, za, y, None if n % 3 else ya) for n, (i, s, z, za, y, ya) in enumerate(rows_with(5, 50))]
    assert [one.kind for one in read(tmp_path, mostly).warnings] == ["mostly-undated"]


@pytest.mark.parametrize(("different", "warned"), [(150, True), (199, False)])
def test_an_id_that_many_rows_share_is_warned_of(tmp_path: Path, different: int, warned: bool) -> None:
    rows = [(n % different, *row[1:]) for n, row in enumerate(rows_with(5, 50))]
    found = read(tmp_path, rows, log='id = "item"')
    assert [one.kind for one in found.warnings if one.kind == "id-repeats"] == ["id-repeats"] * warned
