"""`presage fit`, `presage predict` and `presage serve --model`, as they are typed."""

import csv
import io
import json
from pathlib import Path

import duckdb
import numpy as np
import pytest

import presage as package
from presage.errors import DataError, OutputError, SettingError
from presage.fitting.warm_start import import_model
from tests.cli.typed import Done, Presage
from tests.fitting.logs import HASHED, TASK, deal, known_by, write


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log, its task, and rows to score."""
    dealt = deal(150)
    write(tmp_path / "log.csv", dealt)
    write(tmp_path / "first.csv", known_by(dealt, dealt[80]["shown_at"]))
    write(tmp_path / "rows.csv", [dealt[0], dealt[1] | {"item": "never"}])
    (tmp_path / "task.toml").write_text(TASK)
    (tmp_path / "served.toml").write_text(HASHED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(done: Done, home: Path, before: list[Path]) -> str:
    """The one line in which a command ended that wrote nothing."""
    assert (done.code, done.out) == (2, "")
    assert sorted(home.rglob("*")) == before
    (line,) = done.err.strip().splitlines()
    return line


def test_scores_go_to_a_file_or_to_stdout_and_say_what_the_function_says(home: Path, presage: Presage) -> None:
    expected = package.fit("log.csv", "task.toml").predict("rows.csv")
    learnt = ("--log", "log.csv", "--task", "task.toml")
    printed = presage("predict", "rows.csv", *learnt)
    assert printed.code == 0, printed.err
    assert "item: 1 rows hold a value that the log never showed" in printed.err
    read = list(csv.DictReader(io.StringIO(printed.out)))
    assert [row["id"] for row in read] == ["o0", "o1"]
    for name in ("scores.csv", "scores.parquet"):
        assert presage("predict", "rows.csv", *learnt, "--out", f"made/{name}", "--save", "model").out == ""
        found = duckdb.connect().execute(f"FROM 'made/{name}'").fetchnumpy()
        assert list(found) == ["id", "kept", "returned"]
        assert np.allclose(found["returned"], expected["returned"], atol=1e-9)
    assert presage("predict", "rows.csv", "--model", "model").out == printed.out


def test_a_model_goes_on_with_the_log_as_it_grows(home: Path, presage: Presage) -> None:
    done = presage("fit", "first.csv", "--task", "task.toml", "--out", "model", "--json")
    assert json.loads(done.out)["logs"] == [str(home / "first.csv")]
    done = presage("fit", "log.csv", "--model", "model", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["digest"] == package.fit("log.csv", "task.toml").digest
    done = presage("predict", "rows.csv", "--model", "model", "--nowcast")
    assert done.code == 0


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("predict rows.csv", "give either --log LOG and --task FILE, or --model FOLDER"),
        ("predict rows.csv --log log.csv", "give --task FILE"),
        ("predict rows.csv --model m --forecaster marginal", "--model brings its own --forecaster"),
        ("predict rows.csv --model nowhere", "there is no saved state: found 'nowhere'"),
        ("predict rows.csv --log log.csv --task task.toml --out scores.txt", "name it .parquet or .csv"),
        ("predict rows.csv --log log.csv --task task.toml --until 1999-01-01 --out s.csv", "before the first row"),
        ("predict none.csv --log log.csv --task task.toml --out s.csv --save m", "none.csv is not there"),
        ("predict rows.csv --log log.csv --task task.toml --save .", "was not made by presage"),
        ("fit log.csv --task task.toml", "give --out FOLDER"),
        ("fit log.csv --task task.toml --out .", "was not made by presage"),
        ("fit log.csv --task task.toml --out m --forecaster mixtur", "did you mean mixture"),
        ("serve --task served.toml --data . --model nowhere", "the data folder is not empty"),
        ("serve --task served.toml --data new --model nowhere", "there is no saved state"),
        ("serve --task task.toml --data new --model nowhere", "a service needs to know how many values"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(
    typed: str, line: str, home: Path, presage: Presage
) -> None:
    before = sorted(home.rglob("*"))
    assert line in refused(presage(*typed.split()), home, before)


@pytest.mark.long
def test_a_service_begins_with_the_log_of_a_model(home: Path, presage: Presage) -> None:
    """The same state as importing the log, which the log alone gives again."""
    model = package.fit("log.csv", "served.toml")
    model.save("model")
    made = import_model(Path("model"), Path("served.toml"), Path("data"))
    imported = json.loads(presage("log", "import", "log.csv", "--task", "served.toml", "--data", "other", "--json").out)
    assert made._asdict() == imported
    assert presage("log", "verify", "--data", "data").code == 0
    folded = json.loads(presage("log", "replay", "--data", "data", "--json").out)
    assert folded["state"] == made.state
    assert folded["snapshots"] == {str(made.position): True}


@pytest.mark.long
def test_a_service_begins_with_what_was_known_by_then(home: Path) -> None:
    until = deal(150)[80]["shown_at"]
    package.fit("log.csv", "served.toml", until=until * 10**6).save("model")
    made = import_model(Path("model"), Path("served.toml"), Path("data"))
    package.fit("first.csv", "served.toml").save("first")
    assert made == import_model(Path("first"), Path("served.toml"), Path("other"))


@pytest.mark.long
def test_a_model_that_a_service_cannot_begin_with_is_refused(home: Path) -> None:
    model, task, data = Path("model"), Path("served.toml"), Path("data")

    def begin(error: type[Exception], match: str) -> None:
        with pytest.raises(error, match=match):
            import_model(model, task, data)
        assert not data.exists()

    package.fit("log.csv", "served.toml", forecaster="marginal").save(model)
    begin(SettingError, r"the task serves forecaster mixture.*presage log import LOG --task")
    package.fit("log.csv", HASHED.replace("5 hours", "4 hours")).save(model)
    begin(SettingError, "another task")
    fitted = package.fit("first.csv", "served.toml")
    fitted.update("log.csv")
    fitted.save(model)
    begin(SettingError, "does not name one log")
    fitted = package.fit("log.csv", "served.toml", until=deal(150)[80]["shown_at"] * 10**6)
    fitted.update("log.csv")
    fitted.save(model)
    write(Path("log.csv"), deal(150)[1:])
    begin(DataError, "the log is not what the model has learnt")
    data.mkdir()
    (data / "thesis.txt").write_text("")
    with pytest.raises(OutputError, match="not empty"):
        import_model(model, task, data)
