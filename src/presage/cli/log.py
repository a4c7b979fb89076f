"""`presage log`: verify, replay or export the log of a service, or import a history into a new one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from presage.cli.output import console, json_option, progress_bar, show_result, skip_option, tell_exclusions
from presage.errors import DataError, OutputError
from presage.files import check_folder
from presage.joining.join import Horizons
from presage.journal.sqlite import FILE, SqliteLog
from presage.journal.verify import verify_log
from presage.logs.rows import read_log
from presage.service.export import export_log
from presage.service.features import check_servable, feature_encoder
from presage.service.folders import TASK, folder_forecaster, horizons_of, task_digest
from presage.task.task import Task, load_task

PATH = click.Path(path_type=Path)
data_option = click.option("--data", "folder", type=PATH, required=True, help="The data folder of a service.")


class LogFolder(NamedTuple):
    """The log of a data folder, with its task."""

    task: Task
    horizons: Horizons
    store: SqliteLog


@click.group(epilog="Example: presage log verify --data shop-data")
def log() -> None:
    """Check, replay, export or import the log of a stopped service."""


@log.command(epilog="Example: presage log verify --data shop-data")
@data_option
@json_option
def verify(folder: Path, as_json: bool) -> None:
    """Check the whole log: every entry against the chain of hashes, and everything derived from them."""
    with _opened(folder) as kept, console.status("checking every entry"):
        found = verify_log(kept.store, kept.horizons)
    bins = found.counters.bins._asdict()
    if as_json:
        entries = {"entries": found.head.seq, "ids": found.ids, "chain": found.head.chain.hex(), "bins": bins}
        click.echo(json.dumps(entries))
        return
    show_result(f"The log is intact: {found.head.seq:,} entries, {found.ids:,} ids, chain {found.head.chain.hex()}.")
    show_result("Bins: " + ", ".join(f"{name} {count:,}" for name, count in bins.items()) + ".")


@log.command(epilog="Example: presage log replay --data shop-data")
@data_option
@json_option
def replay(folder: Path, as_json: bool) -> int:
    """Compute the state from the whole log, and compare it with the snapshots.

    Exits with 1 if a snapshot with this machine's fingerprint is different.
    """
    from presage.service.learner.snapshots import fold_log  # noqa: PLC0415 compiled loops take a second to load

    with _opened(folder) as kept, progress_bar("log: entries folded", kept.store.head.seq) as progress:
        found = fold_log(folder_forecaster(folder), kept.store, kept.horizons, folder / "snapshots", progress)
    if as_json:
        click.echo(json.dumps(found._asdict()))
    else:
        before = f"{found.predictions:,} predictions before it"
        show_result(f"State {found.state} at position {found.position:,}, {before}.")
        for position, same in found.snapshots.items():
            show_result(f"Snapshot at {int(position):,}: {'the same' if same else 'DIFFERENT'}.")
    return 0 if all(found.snapshots.values()) else 1


@log.command(epilog="Example: presage log export --data shop-data --out shop.parquet")
@data_option
@click.option("--out", type=PATH, required=True, help="The Parquet file to write.")
@json_option
def export(folder: Path, out: Path, as_json: bool) -> None:
    """Write all predictions and their feedback to a Parquet file.

    Each row has the log position of the model that predicted it. `presage backtest FILE --task ... --as-served`
    predicts each row from what lay before that position, and so reproduces the losses of the served predictions.
    """
    if out.suffix != ".parquet":
        raise OutputError("an exported log must be a Parquet file", str(out), "name it NAME.parquet")
    check_folder(out.parent).mkdir(parents=True, exist_ok=True)
    with _opened(folder) as kept, progress_bar("log: entries read", kept.store.head.seq) as progress:
        found = export_log(kept.task, kept.store, kept.horizons, out, progress)
    if as_json:
        click.echo(json.dumps(found._asdict()))
    console.print(
        f"{found.rows:,} predictions, {found.scored:,} with an outcome, mean log loss {found.loss:.4f}: {out}"
    )


@log.command("import", epilog="Example: presage log import log.parquet --task shop.toml --data shop-data")
@click.argument("source", metavar="LOG")
@click.option("--task", "task_file", type=PATH, required=True, help="The task file of the log.")
@click.option("--data", "folder", type=PATH, required=True, help="The data folder to make.")
@click.option("--bulk", type=click.IntRange(min=1), default=1000, show_default=True, help="Events per batch.")
@skip_option
@json_option
def import_(source: str, task_file: Path, folder: Path, bulk: int, *, skip_bad_lines: bool, as_json: bool) -> None:
    """Make the data folder that a service would have after a log.

    LOG and its task file are those of `presage backtest`. Rows are predicted and feedback is learned in order of time;
    entries keep the times of the log.
    """
    from presage.service import history  # noqa: PLC0415 compiled loops

    task = load_task(task_file)
    history.check_new(folder)
    check_servable(task)  # a task that cannot be served is refused before the log is read
    feature_encoder(task)
    with console.status("reading the log"):
        rows, left_out = read_log(task, source, raw=True, skip_bad_lines=skip_bad_lines)
    tell_exclusions(left_out)
    start = int(rows.shown_at[0])
    with history.new_service(task_file, folder, start) as service:
        with progress_bar("log: predictions and feedback", history.count(task, rows)) as progress:
            history.live_through(service, history.happened(task, rows), bulk, progress)
        state, position = service.digest()
        entries = service.describe()["log"]["position"]
    if as_json:
        click.echo(json.dumps({"entries": entries, "state": state, "position": position}))
    console.print(f"{entries:,} entries, state {state} at position {position:,}.")
    console.print(f"Serve it: presage serve --task {task_file} --data {folder}", markup=False, soft_wrap=True)


@contextmanager
def _opened(folder: Path) -> Iterator[LogFolder]:
    if not (folder / FILE).exists():
        raise DataError("there is no log in the data folder", str(folder), "give the folder that `presage serve` made")
    task = load_task(folder / TASK)
    store = SqliteLog(folder, task_digest(folder))
    try:
        yield LogFolder(task, horizons_of(task), store)
    finally:
        store.close()
