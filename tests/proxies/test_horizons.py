"""Proxies on raw events at other horizons: the same signal, rebuilt from the events by whoever reads the log."""

from pathlib import Path

import pytest

from presage.errors import SettingError
from presage.logs.rows import read_log
from presage.proxies.candidates import with_horizons
from presage.proxies.report import candidate_count, judge_log, log_predictions
from presage.task.spans import Span, span
from presage.task.task import Task, read_task
from tests.logs.given import csv
from tests.logs.test_events import MINUTE, START, counted, events, first, task, written


def spans(*words: str) -> list[Span]:
    return [span("horizon", one) for one in words]


def test_every_horizon_is_what_a_plain_count_of_the_same_events_gives(tmp_path: Path) -> None:
    given = events(11)
    wide = with_horizons(task('id = "number"'), spans("5 minutes", "40 minutes"))
    rows, _ = read_log(wide, written(tmp_path / "log.csv", given))
    moments = sorted((e for e in given if e.kind == "acquire"), key=lambda e: (e.minute, e.number))
    until = max(e.minute for e in given)
    for within in (5, 40):
        soon, which = rows.proxy(f"soon within {within} minutes"), rows.proxy(f"first within {within} minutes")
        for row, one in enumerate(moments):
            over = one.minute + within
            bucket = 1 + min(counted(given, one, {"engage"}, within), 2)
            bucket = 0 if counted(given, one, {"delete"}, within) else bucket
            assert soon.symbols[row] == (bucket if over <= until else -1)
            if over <= until:
                assert soon.known_at[row] == START + over * MINUTE
            symbol, minute = first(given, one, ["delete", "engage"], within) or (
                (2, over) if over <= until else (-1, 0)
            )
            assert which.symbols[row] == symbol
            if symbol >= 0:
                assert which.known_at[row] == START + minute * MINUTE


def test_what_does_not_settle_by_a_horizon_has_no_variants() -> None:
    names = [proxy.name for proxy in with_horizons(task(), spans("5 minutes")).proxies]
    assert names == ["soon", "first", "plain", "soon within 5 minutes", "first within 5 minutes"]


DAYS = """
version = 1
name = "events"
[instance]
item = { kind = "category" }
[proxy.PROXY]
values = ["none", "some"]
count = "click"
within = "WITHIN"
edges = [1]
MORE
[outcome]
values = ["none", "some"]
count = "buy"
within = "OUTCOME"
edges = [1]
[log]
instance = "item"
moment = ["show"]
"""


def days(within: str, outcome: str, more: str = "") -> Task:
    text = DAYS.replace("WITHIN", within).replace("OUTCOME", outcome)
    return read_task(text.replace("PROXY", "clicks").replace("MORE", more))


@pytest.mark.parametrize(
    ("outcome", "usual"),
    [
        ("21 days", ["1 day", "2 days", "3 days", "14 days"]),  # 7 days is declared
        ("7 days", ["12 hours", "1 day", "2 days", "3 days"]),
        ("90 days", ["3 days", "14 days", "30 days"]),
        ("1 hour", []),
    ],
)
def test_the_usual_horizons_are_shorter_than_the_outcomes_and_not_too_short(outcome: str, usual: list[str]) -> None:
    within = "7 days" if outcome != "1 hour" else "10 minutes"
    found = with_horizons(days(within, outcome)).proxies
    assert [proxy.name for proxy in found] == ["clicks", *(f"clicks within {one}" for one in usual)]
    assert all(proxy.horizon.microseconds < span("", outcome).microseconds for proxy in found[1:])


def test_a_horizon_that_is_declared_already_is_not_judged_twice() -> None:
    other = '[proxy.soon]\nvalues = ["none", "some"]\ncount = "click"\nwithin = "24 hours"\nedges = [1]'
    found = with_horizons(days("7 days", "21 days", other), spans("1 day", "7 days", "2 days")).proxies
    assert [proxy.name for proxy in found] == ["clicks", "soon", "clicks within 2 days"]
    assert with_horizons(days("7 days", "21 days"), ()) == days("7 days", "21 days")


def test_horizons_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingError, match="shorter than the outcome's of 21 days: found '21 days'"):
        with_horizons(days("7 days", "21 days"), spans("1 day", "21 days"))
    labelled = read_task(
        'version = 1\nname = "labels"\n[instance]\nitem = { kind = "category" }\n'
        '[proxy]\nvalues = ["a", "b"]\nhorizon = "1 day"\n[outcome]\nvalues = ["a", "b"]\nhorizon = "7 days"'
    )
    assert with_horizons(labelled) == labelled
    with pytest.raises(SettingError, match=r"no proxy of this task has other horizons: .*: found 'proxy'"):
        with_horizons(labelled, spans("1 day"))


def test_every_candidate_is_announced_and_judged(tmp_path: Path) -> None:
    wide = with_horizons(task('id = "number"'), spans("5 minutes"))
    rows, _ = read_log(wide, written(tmp_path / "log.csv", events(3, 3000)))
    told: list[str] = []
    cards = judge_log(wide, rows, cuts=True, progress=told.append)
    # soon has 4 symbols and 6 cuts, first has 3 and 2, plain has 2 and none; two of them at two horizons.
    assert len(cards) == len(told) == candidate_count(wide, cuts=True) == 2 * 7 + 2 * 3 + 1
    assert len({card.name for card in cards}) == len(cards)
    assert candidate_count(wide, cuts=False) == 5


def test_groups_that_a_task_backs_off_through_are_pooled_over_from_coarse_to_fine(tmp_path: Path) -> None:
    instance = 'item = { kind = "category" }\nshop = { kind = "category" }\nhour = { kind = "count", edges = [12] }'
    text = (
        f'version = 1\nname = "groups"\n[instance]\n{instance}\n[proxy]\nvalues = ["a", "b"]\nhorizon = "1 day"\n'
        '[outcome]\nvalues = ["a", "b"]\nhorizon = "7 days"\n'
        '[forecaster]\nback_off = [["shop"], ["shop", "hour"]]'
    )
    lines = [
        f"i{n},s{n % 2},{n % 24},2020-01-{n % 20 + 1:02},a,2020-01-{n % 20 + 2:02},b,2020-01-{n % 20 + 3:02}"
        for n in range(60)
    ]
    head = "item,shop,hour,shown_at,proxy,proxy_at,outcome,outcome_at"
    grouped = read_task(text)
    rows, _ = read_log(grouped, csv(tmp_path / "log.csv", head, *lines))
    log = log_predictions(grouped, rows)
    shop, hour = rows.instances.symbols[:, 1:3].T
    assert log.cohort is not None
    (finer,) = log.finer
    pairs = set(zip(shop.tolist(), hour.tolist(), finer.tolist(), strict=True))
    assert len(pairs) == len(set(finer.tolist())) == 4
    assert (log.cohort == shop).all()
    assert [len(set(level.tolist())) for level in log.levels] == [1, 2, 4]


def test_a_task_without_symbols_cannot_be_judged_by_instances(tmp_path: Path) -> None:
    text = (
        'version = 1\nname = "numbers"\n[instance]\nprice = { kind = "number" }\n'
        '[proxy]\nvalues = ["a", "b"]\nhorizon = "1 day"\n[outcome]\nvalues = ["a", "b"]\nhorizon = "7 days"'
    )
    head, line = "price,shown_at,proxy,proxy_at,outcome,outcome_at", "1,2020-01-01,a,2020-01-01,b,2020-01-08"
    rows, _ = read_log(read_task(text), csv(tmp_path / "log.csv", head, line))
    with pytest.raises(SettingError, match="the task has no symbols for them: found 'price'; declare what identifies"):
        log_predictions(read_task(text), rows)
