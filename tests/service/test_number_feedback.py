"""A service of a task that cuts numbers takes a number as feedback; one that needs a log or rows is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from presage.errors import SettingError
from presage.logs.rows import read_log
from presage.service.features import check_servable
from presage.service.history import refold_folder, sent
from presage.service.http.problems import RefusalError
from presage.service.http.requests import Reader
from presage.service.http.schemas import request_schemas
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.task.exported_log import as_served
from presage.task.task import load_task, read_task
from tests.cli.typed import Presage
from tests.logs.given import table

TASK = """version = 1
name = "orders"
[instance]
shop = { kind = "category", hashed = 8 }
[proxy]
values = ["unseen", "seen"]
happened_at = "seen_at"
horizon = "1 day"
[outcome]
column = "spent"
edges = [10, 20]
horizon = "5 days"
known = "at horizon"
absent = "below 10"
[log]
id = "id"
[forecaster]
kind = "residual-table"
"""


def value_of(task: str, kind: str, value: Any) -> str:
    """The value that a body with a number or a label stands for."""
    reader = Reader(read_task(task), Limits())
    (one,), listed = reader.feedback(kind, json.dumps({"id": "a", "value": value}).encode())
    (same,), _ = reader.feedback(kind, json.dumps([{"id": "a", "value": value}]).encode())
    assert not listed
    assert one == same == reader.event(json.dumps({"kind": kind, "id": "a", "value": value}).encode())
    return one.value


@pytest.mark.parametrize(
    ("value", "label"),
    [(-3, "below 10"), (9.999, "below 10"), (10, "10 to 20"), (20.0, "20 or more"), (10**30, "20 or more"),
     ("10 to 20", "10 to 20")],
)  # fmt: skip
def test_a_number_is_the_value_between_its_edges(value: Any, label: str) -> None:
    assert value_of(TASK, "outcome", value) == label


@pytest.mark.parametrize(
    ("task", "kind", "value", "what", "remedy"),
    [
        (TASK, "outcome", "12", "not a value of the task's outcome",
         "give a number, or one of below 10, 10 to 20, 20 or more"),
        (TASK, "proxy", 1, "not a value of the task's proxy", "give one of unseen, seen"),
        (TASK, "outcome", True, "expected int | float | str, got bool", "send what /openapi.json describes"),
        (TASK, "outcome", None, "expected int | float | str, got null", "send what /openapi.json describes"),
        (TASK.replace("edges = [10, 20]", 'values = ["below 10", "a"]'), "outcome", 12, "expected str, got int",
         "send what /openapi.json describes"),
    ],
)  # fmt: skip
def test_feedback_that_is_neither_is_refused(task: str, kind: str, value: Any, what: str, remedy: str) -> None:
    with pytest.raises(RefusalError) as refused:
        value_of(task, kind, value)
    assert (refused.value.what, refused.value.remedy, refused.value.where) == (what, remedy, "$.value")


def test_the_schema_of_a_cut_signal_has_its_labels_and_numbers() -> None:
    schemas = request_schemas(read_task(TASK), Limits())
    label, number = schemas["Outcome"]["properties"]["value"]["anyOf"]
    assert label == {"type": "string", "enum": ["below 10", "10 to 20", "20 or more"]}
    assert number["type"] == "number"
    assert schemas["Proxy"]["properties"]["value"] == {"type": "string", "enum": ["unseen", "seen"]}


ROWS_TASK = """version = 1
name = "orders"
[instance]
shop = { kind = "category", hashed = 8 }
[proxy]
values = ["no", "yes"]
horizon = "1 row"
[outcome]
values = ["no", "yes"]
horizon = "5 rows"
[log]
order = "rows"
"""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            TASK.replace("[10, 20]", '"quantiles:3"').replace('absent = "below 10"', ""),
            "a service needs outcome.edges as numbers: found 'quantiles:3'; write the numbers that `presage task check "
            "FILE --log LOG` prints",
        ),
        (
            ROWS_TASK,
            "a service needs times, and the task has only the order of rows: found 'rows'; give [log] a column of "
            "times, and the horizons as spans of time",
        ),
    ],
)
def test_a_task_that_a_service_cannot_serve_is_refused_and_nothing_is_made(
    text: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.toml").write_text(text)
    for words in (("serve",), ("log", "import", "log.csv")):
        done = Presage(monkeypatch, capsys)(*words, "--task", "task.toml", "--data", "data")
        assert (done.code, done.out, done.err) == (2, "", f"presage: {error}\n")
    with pytest.raises(SettingError):
        open_service(Path("task.toml"), Path("data"), Limits(clock="events"), lambda: 0)
    assert [path.name for path in tmp_path.iterdir()] == ["task.toml"]
    check_servable(read_task(TASK))


@pytest.mark.long
def test_a_log_of_numbers_and_successes_is_imported_exported_and_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    presage = Presage(monkeypatch, capsys)
    task_file, data, file = tmp_path / "orders.toml", tmp_path / "data", tmp_path / "log.parquet"
    task_file.write_text(TASK)
    days = [f"2020-01-{1 + n // 12:02} {n % 12:02}:00:00" for n in range(240)]
    seen = [day.replace(":00:00", ":30:00") if n % 3 == 0 else "" for n, day in enumerate(days)]
    spent = ["" if n % 10 == 9 else n % 7 * 4 + 10 * (n % 3 == 0) for n in range(240)]
    rows = [(n, f"shop-{n % 5}", days[n], seen[n], spent[n]) for n in range(240)]
    log = table(tmp_path / "log.csv", "id,shop,shown_at,seen_at,spent", rows)
    done = presage("log", "import", log, "--task", task_file, "--data", data, "--json")
    assert done.code == 0, done.err
    exported = presage("log", "export", "--data", data, "--out", file, "--json")
    assert exported.code == 0, exported.err
    served, _ = read_log(as_served(load_task(task_file)), file)
    given, _ = read_log(load_task(task_file), log)
    ripe = given.outcome.known_at < given.shown_at[-1]  # a service marks as absent only once its clock is past it
    assert served.outcome.symbols[ripe].tolist() == given.outcome.symbols[ripe].tolist()
    assert set(served.outcome.symbols[ripe].tolist()) == {0, 1, 2}
    known = given.proxy().known_at < given.shown_at[-1]
    assert served.proxy().symbols[known].tolist() == given.proxy().symbols[known].tolist()
    assert given.proxy().symbols[known].sum() > 70
    kinds = ("--forecasters", "residual-table", "--json")
    found = presage("backtest", file, "--task", task_file, "--as-served", *kinds)
    assert found.code == 0, found.err
    loss = json.loads(found.out)["forecasters"]["residual-table"]["log_loss"]
    assert loss == pytest.approx(json.loads(exported.out)["loss"], abs=1e-6)
    before = sent(data)
    task_file.write_text(TASK.replace('known = "at horizon"', 'known_at = "spent_at"'))
    aside = refold_folder(task_file, data, lambda _: None)
    assert sent(data) == sent(aside) == before
