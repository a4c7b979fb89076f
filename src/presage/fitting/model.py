"""A model that has learnt a log: it scores rows, goes on learning, and saves itself; no service is needed."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from presage.backtesting.backtest import groups_of
from presage.dataframes import Columns, Table, as_csv
from presage.errors import OutputError, SettingError
from presage.files import check_folder, make_folder, write_file
from presage.fitting.fitted_log import FittedLog, ModelChoice, carry_on, with_unseen
from presage.fitting.learning import nowcast_rows, predict_rows
from presage.fitting.model_files import check_model_folder, pack_model, unpack_model, write_model
from presage.forecasters.catalogue import check_names
from presage.logs.cleaning import left_out
from presage.logs.cuts import found_cuts, resolve_cuts
from presage.logs.encoding import LearntVocabularies
from presage.logs.feature_rows import FeatureRows, read_features
from presage.logs.guards.leak_guards import LogWarning
from presage.logs.rows import read_log
from presage.logs.tables import parquet_files
from presage.progress import Progress, silent
from presage.spaces import Array
from presage.task.spans import ROW
from presage.task.task import Task, load_task


class ScoredRows(Table):
    """A row for each row that was asked about: its id, and the probability of each value of the outcome."""

    def __init__(self, columns: Columns, unseen: Mapping[str, int]) -> None:
        super().__init__(columns)
        self.unseen = unseen
        """By feature, how many rows hold a value that the log never showed; they are predicted like new instances."""

    def csv(self) -> bytes:
        """The table as CSV."""
        return as_csv(dict(self))

    def save(self, path: str | Path) -> Path:
        """The file that now holds the table, .parquet or .csv; it is written whole or not at all."""
        path = check_scores_file(Path(path))
        data = self.csv() if path.suffix == ".csv" else parquet_files({path.stem: dict(self)})[f"{path.stem}.parquet"]
        make_folder(path.parent)
        try:
            write_file(path, data)
        except OSError as error:
            remedy = f"free some space or choose another file ({error.strerror})"
            raise OutputError("the scores could not be written", str(path), remedy) from error
        return path


def check_scores_file(path: Path) -> Path:
    """The file; refused at once if scores cannot be written there."""
    if path.suffix not in (".parquet", ".csv"):
        raise OutputError("the kind of this file is unknown", str(path), "name it .parquet or .csv")
    if path.is_dir():
        raise OutputError("scores are written to a file", str(path), "this is a folder: choose another name")
    check_folder(path.parent)
    return path


class ModelUpdate(NamedTuple):
    """What a log added to a model."""

    rows: int  # new predictions
    feedback: int  # proxies and outcomes of earlier ones
    skipped: int  # rows that were settled or never taken, and repeated ids


class Model:
    """A forecaster that has learnt everything known by the end of a log; made by `presage.fit`.

    `predict` and `nowcast` change nothing. `update` goes on learning: afterwards the model is the one that
    `presage.fit` makes of both logs.
    """

    def __init__(self, task: Task, choice: ModelChoice, fitted: FittedLog, logs: tuple[str, ...] = ()) -> None:
        self.task = task
        self.choice = choice
        self.logs = logs
        """The logs it has learnt, in order: paths, or "dataframe"."""
        self.left_out = left_out({})
        """What was left out of the log that was learnt last, or stayed unknown."""
        self.warnings: tuple[LogWarning, ...] = ()
        """What to look at in that log before believing a score."""
        self._fitted = fitted

    @property
    def rows(self) -> int:
        """How many predictions it has learnt from or waits for."""
        return self._fitted.rows

    @property
    def open(self) -> int:
        """How many rows are kept because feedback of theirs may still come."""
        return len(self._fitted.open.id)

    @property
    def until(self) -> datetime | int:
        """When all that it has learnt was known; in a log without times, at which row."""
        until = self._fitted.until
        return until // ROW if self.task.in_rows else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=until)

    @property
    def digest(self) -> str:
        """A hash of all that later learning depends on: equal models learn and predict the same."""
        return self._fitted.digest

    def predict(self, rows: Any) -> ScoredRows:
        """The probabilities of the outcomes of rows, in their order.

        Args:
            rows: A file or folder of Parquet, CSV or NDJSON, FILE.duckdb::TABLE, or a dataframe. Only features are
                needed, under the names they have in the log; an id is taken over if there is one.
        """
        found = read_features(self.task, rows, self._fitted.vocabularies)
        return self._scored(found, self._predicted(found))

    def nowcast(self, rows: Any) -> ScoredRows:
        """The same for rows whose proxies are known: in the proxy's column, under its name in the log.

        A row without a proxy gets its plain prediction.
        """
        proxy = self.task.proxy(self.choice.proxy)
        found = read_features(self.task, rows, self._fitted.vocabularies, proxy)
        said, known = self._predicted(found), np.flatnonzero(found.proxies >= 0)
        if len(known):
            x = with_unseen(self.task, self._fitted.forecaster, found.instances)
            x = type(x)(x.symbols[known], x.dense[known])
            parameters = self._fitted.learnt.parameters
            said[known] = nowcast_rows(self._fitted.forecaster, parameters, x, found.proxies[known])
        return self._scored(found, said)

    def update(
        self, log: Any, *, until: Any = None, engine: str = "duckdb", skip_bad_lines: bool = False
    ) -> ModelUpdate:
        """What a log added: later rows, and later feedback on earlier rows.

        The log may be the one that was learnt, grown longer, or only what is new in it. A row shown up to `Model.until`
        is looked up by its id among the open rows. If it is there, feedback of it that is not known yet is learnt as of
        the time it became known (as of the last row learnt, if that was before). Otherwise it is skipped: it is
        settled, or was never taken. A row shown later is new. Nothing is learnt twice, and on any error the model is
        what it was.

        Args:
            log: As in `presage.fit`.
            until: As in `presage.fit`; not before `Model.until`.
            engine: "duckdb" or "spark".
            skip_bad_lines: As in `presage.fit`.
        """
        before, limit = self._fitted, as_moment(until, self.task.in_rows)
        earlier = LearntVocabularies(before.vocabularies, before.until)
        rows, excluded = read_log(self.task, log, engine=engine, skip_bad_lines=skip_bad_lines, earlier=earlier)
        self._fitted, later = carry_on(self.task, self.choice, before, rows, limit)
        self.logs += (log_name(log),)
        self.left_out, self.warnings = excluded, rows.warnings
        return ModelUpdate(len(later.new.id), later.feedback, later.skipped)

    def save(self, folder: str | Path) -> Path:
        """The folder that now holds the model; it is replaced whole or, on any failure, not at all.

        The folder must be new, empty, or one that presage wrote.
        """
        path = check_model_folder(Path(folder))
        return write_model(path, pack_model(self.task, self.choice, self._fitted, self.logs))

    def _predicted(self, found: FeatureRows) -> Array:
        fitted = self._fitted
        x = with_unseen(self.task, fitted.forecaster, found.instances)
        return predict_rows(fitted.forecaster, fitted.learnt.parameters, x)

    def _scored(self, found: FeatureRows, said: Array) -> ScoredRows:
        columns = {} if found.id is None else {"id": found.id}
        chances = np.exp(said)
        for place, value in enumerate(self.task.outcome.values):
            columns[f"{value}_" if value in columns else value] = chances[:, place]
        return ScoredRows(columns, found.unseen)

    def as_json(self) -> dict[str, Any]:
        """What it is and what it has learnt, as JSON values."""
        return {
            "task": self.task.name,
            **self.choice._asdict(),
            "rows": self.rows,
            "open": self.open,
            "until": self.until if isinstance(self.until, int) else self.until.isoformat(),
            "edges": found_cuts(self.task),
            "logs": list(self.logs),
            "digest": self.digest,
        }

    def __repr__(self) -> str:
        until = f"row {self.until:,}" if isinstance(self.until, int) else f"{self.until:%Y-%m-%d %H:%M}"
        return f"Model({self.task.name}: {self.choice.forecaster}, {self.rows:,} rows until {until})"


def fit(
    log: Any,
    task: str | Path | Task,
    *,
    forecaster: str = "mixture",
    proxy: str | None = None,
    until: Any = None,
    engine: str = "duckdb",
    skip_bad_lines: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> Model:
    """A model that has learnt everything known by the end of a log, as a backtest would have by then.

    Args:
        log: A file or folder of Parquet, CSV or NDJSON, FILE.duckdb::TABLE, or a dataframe.
        task: The task, or its file or text.
        forecaster: Which to fit; those of a backtest.
        proxy: Which of the task's proxies to use; the first if left out.
        until: A time, such as "2024-06-30", a datetime or microseconds since 1970, in UTC unless it says otherwise:
            rows shown later, and feedback that became known later, are not used.
        engine: "duckdb" or "spark".
        skip_bad_lines: Whether lines of CSV or NDJSON that cannot be read are left out and counted.
        seed: Seed for all random draws.
        progress: Shows how far it is.
    """
    task = task if isinstance(task, Task) else load_task(task)
    choice = ModelChoice(forecaster, task.proxy(proxy).name, seed)
    check_names((forecaster,), groups_of(task))
    limit = as_moment(until, task.in_rows)
    with progress("reading the log", None):
        task = resolve_cuts(task, log, engine=engine, skip_bad_lines=skip_bad_lines)
        rows, excluded = read_log(task, log, engine=engine, skip_bad_lines=skip_bad_lines)
    with progress("learning the log", None):
        fitted, _ = carry_on(task, choice, None, rows, limit)
    model = Model(task, choice, fitted, (log_name(log),))
    model.left_out, model.warnings = excluded, rows.warnings
    return model


def load_model(folder: str | Path) -> Model:
    """The model that was saved in a folder."""
    return Model(*unpack_model(Path(folder)))


def log_name(log: Any) -> str:
    """What a model calls a log that it has learnt."""
    if not isinstance(log, str | Path):
        return "dataframe"
    return str(log) if "::" in str(log) else str(Path(log).resolve())


def as_moment(until: Any, in_rows: bool = False) -> int | None:
    """A time in microseconds since 1970 UTC, or what stands for a row there; None for none."""
    if until is None or (isinstance(until, int) and not isinstance(until, bool) and not in_rows):
        return until
    if in_rows:
        if not str(until).isdecimal():
            raise SettingError("until must be the number of a row", until, "the log has no times: give it like 5000")
        return int(until) * ROW
    try:
        if isinstance(until, np.datetime64):
            return int(until.astype("datetime64[us]").astype(np.int64))
        moment = until if isinstance(until, datetime) else datetime.fromisoformat(until)
        moment = moment.replace(tzinfo=moment.tzinfo or UTC)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    except (TypeError, ValueError) as error:
        raise SettingError("until must be a time", until, 'give it like "2024-06-30 12:00"') from error
