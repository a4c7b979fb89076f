"""When a signal counts as known, by its time, at its horizon or as it happens; and logs that have no times."""

import pytest

from presage.errors import SettingError
from presage.task.columns import PredictionColumns
from presage.task.signals import HappenedAt, Labelled
from presage.task.spans import ROW, in_words, row_at, span
from presage.task.task import Task, read_task

HEAD = 'version = 1\nname = "invoices"\n[instance]\ncustomer = { kind = "category" }\n'
PROXY = '[proxy]\nvalues = ["no", "yes"]\nhorizon = "2 days"\n'
OUTCOME = '[outcome]\nvalues = ["open", "paid"]\nhorizon = "30 days"\n'


def task_with(outcome: str = "", proxy: str = "", log: str = "") -> Task:
    return read_task(f"{HEAD}{PROXY}{proxy}\n{OUTCOME}{outcome}\n[log]\n{log}\n")


def test_a_value_known_at_its_horizon_needs_no_column_of_times() -> None:
    task = task_with('known = "at horizon"')
    assert task.outcome.source == Labelled("outcome", None)
    assert task.outcome.columns == {"column": "outcome"}
    assert task.proxy().source == Labelled("proxy", "proxy_at")


@pytest.mark.parametrize(("known", "as_it_happens"), [("", False), ("at horizon", False), ("as it happens", True)])
def test_a_time_of_success_is_a_signal_of_two_values(known: str, as_it_happens: bool) -> None:
    task = task_with('happened_at = "paid_at"' + (f'\nknown = "{known}"' if known else ""))
    assert task.outcome.source == HappenedAt("paid_at", as_it_happens)
    assert (task.outcome.absent, task.outcome.absent_symbol) == ("open", 0)
    assert task.outcome.columns == {"happened_at": "paid_at"}


def test_a_log_in_the_order_of_its_rows_has_horizons_in_rows() -> None:
    text = f'{HEAD}{PROXY}{OUTCOME}[log]\norder = "rows"\nid = "number"'
    task = read_task(text.replace("2 days", "5 rows").replace("30 days", "1 row"))
    assert task.in_rows
    assert task.log == PredictionColumns(None, "number", None, None)
    assert [signal.source for signal in task.signals] == [Labelled("proxy", None), Labelled("outcome", None)]
    assert [signal.horizon.microseconds for signal in task.signals] == [5 * ROW, ROW]
    assert not task_with().in_rows


def test_rows_are_told_in_words() -> None:
    assert [in_words(n * ROW, rows=True) for n in (1, 12_000)] == ["1 row", "12,000 rows"]
    assert row_at(12_000 * ROW) == "row 12,000"
    assert span("horizon", "12000 rows").microseconds == 12_000 * ROW


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (
            'known = "later"',
            """outcome.known is unknown: found 'later'; choose one of "at horizon", "as it happens\"""",
        ),
        ("known = 3", 'outcome.known must be words: found 3; give it in quotes, such as "a name"'),
        (
            'known = "at horizon"\nknown_at = "day"',
            "outcome.known_at contradicts known = \"at horizon\": found 'day'; leave one of the two out",
        ),
        (
            'known = "as it happens"',
            "outcome.known needs happened_at: found 'as it happens'; name the column of times in known_at, or write "
            'known = "at horizon"',
        ),
        (
            'known = "at horizon"\nhappend_at = "a"',
            "outcome.happend_at is not a key: found 'happend_at'; did you mean happened_at?",
        ),
        *(
            (
                f'happened_at = "paid_at"\n{key} = {value}',
                f"outcome.{key} contradicts happened_at: found {found}; leave {key} out: a time of success says all of "
                "it, and without one the value is the first",
            )
            for key, value, found in (
                ("column", '"paid"', "'paid'"),
                ("known_at", '"paid_at"', "'paid_at'"),
                ("absent", '"open"', "'open'"),
                ("edges", "[1]", "[1]"),
            )
        ),
        ("happened_at = true", 'outcome.happened_at must be words: found True; give it in quotes, such as "a name"'),
    ],
)
def test_a_contradiction_about_when_it_is_known_is_refused(outcome: str, error: str) -> None:
    with pytest.raises(SettingError) as refused:
        task_with(outcome)
    assert str(refused.value) == error


def test_a_time_of_success_has_two_values() -> None:
    text = f'{HEAD}{PROXY}{OUTCOME}happened_at = "paid_at"'
    for values in ('["open", "late", "paid"]', '["paid"]'):
        with pytest.raises(SettingError, match=r"outcome\.values must be (two|at least two): found"):
            read_task(text.replace('["open", "paid"]', values))


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            'order = "rows"',
            'order = "time"',
            "log.order must be \"rows\": found 'time'; leave it out if the log has times",
        ),
        ('order = "rows"', "order = true", 'log.order must be "rows": found True; leave it out if the log has times'),
        (
            'order = "rows"',
            'order = "rows"\nshown_at = "day"',
            "log.shown_at contradicts order = \"rows\": found 'day'; leave it out: such a log has no times",
        ),
        (
            'order = "rows"',
            'order = "rows"\nuntil = "2024-01-01"',
            "log.until contradicts order = \"rows\": found '2024-01-01'; leave it out: such a log has no times",
        ),
        (
            'order = "rows"',
            "",
            "proxy.horizon counts rows, but the log has times: found '2 rows'; write a span of time, "
            'such as "7 days", or order = "rows" in [log]',
        ),
        (
            '"2 rows"',
            '"2 days"',
            "proxy.horizon is a span of time, but the log has only the order of its rows: found "
            "'2 days'; write a number of rows, such as \"500 rows\"",
        ),
        (
            '"2 rows"',
            '"2.5 rows"',
            "proxy.horizon must be a whole number of rows: found '2.5 rows'; write it like \"500 rows\"",
        ),
        (
            '"2 rows"',
            '"0 rows"',
            "proxy.horizon must be a span of time: found '0 rows'; write a number and a unit, such "
            'as "7 days" or "2 hours" (seconds, minutes, hours, days, weeks)',
        ),
        ('horizon = "2 rows"', "", "proxy.horizon is missing: found ['values']; give it, such as \"500 rows\""),
        (
            'horizon = "2 rows"',
            'horizon = "2 rows"\nknown_at = "day"',
            'proxy.known_at contradicts log.order = "rows": '
            "found 'day'; leave it out: each value counts as known at its horizon",
        ),
        (
            'horizon = "2 rows"',
            'horizon = "2 rows"\nhappened_at = "day"',
            "proxy.happened_at contradicts log.order = "
            "\"rows\": found 'day'; give the value in a column, or leave order out of [log]",
        ),
    ],
)
def test_times_in_a_log_of_rows_and_rows_in_a_log_of_times_are_refused(old: str, new: str, error: str) -> None:
    text = f'{HEAD}{PROXY}{OUTCOME}[log]\norder = "rows"'.replace("2 days", "2 rows").replace("30 days", "30 rows")
    assert old in text
    with pytest.raises(SettingError) as refused:
        read_task(text.replace(old, new, 1))
    assert str(refused.value) == error


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (
            '[log]\norder = "rows"\n',
            "proxy.count contradicts log.order = \"rows\": found 'open'; leave order out of [log]: events have times",
        ),
        (
            "[log]\n",
            "proxy.within counts rows, but the log has times: found '5 rows'; write a span of time, such as \"7 days\"",
        ),
    ],
)
def test_raw_events_have_times_and_no_rows(log: str, error: str) -> None:
    counted = 'values = ["no", "yes"]\ncount = "open"\nedges = [1]\nwithin = "5 rows"\n'
    text = f'{HEAD}[proxy]\n{counted}[outcome]\n{counted}{log}subject = "user"\nmoment = ["mail"]\n'
    with pytest.raises(SettingError) as refused:
        read_task(text)
    assert str(refused.value) == error
    assert not read_task(text.replace("5 rows", "5 days").replace('order = "rows"', "")).in_rows


@pytest.mark.parametrize(("key", "columns"), [("column", 'column = "paid"'), ("happened_at", 'happened_at = "paid"')])
def test_a_feature_that_reads_the_signal_is_refused_however_it_is_declared(key: str, columns: str) -> None:
    text = f'{HEAD}paid = {{ kind = "category" }}\n{PROXY}{OUTCOME}known = "at horizon"\n{columns}'
    with pytest.raises(SettingError, match=f"instance.paid reads outcome.{key}, not known at the prediction"):
        read_task(text)
