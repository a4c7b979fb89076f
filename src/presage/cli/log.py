"""`presage log`: verify, back up, replay, export or rewrite the log of a service, or import a history."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from presage.cli.output import (
    console,
    json_option,
    progress_bar,
    show_progress,
    show_result,
    skip_option,
    tell_exclusions,
)
from presage.errors import OutputError
from presage.files import check_folder
from presage.joining.join import Horizons
from presage.journal.sqlite import SqliteLog
from presage.journal.verify import verify_chain, verify_log
from presage.logs.rows import read_log
from presage.service.copies import backup_folder, readable_log, rewrite_folder
from presage.service.export import export_log
from presage.service.features import check_servable, feature_encoder
from presage.service.folders import TASK, check_new, folder_forecaster, horizons_of
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
    """Check, back up, replay, export, rewrite or import the log of a service."""


@log.command(epilog="Example: presage log verify --data shop-data")
@data_option
@click.option("--chain-only", is_flag=True, help="Check the chain of hashes only: no entry is missing or altered.")
@json_option
def verify(folder: Path, *, chain_only: bool, as_json: bool) -> None:
    """Check the whole log: every entry against the chain of hashes, and everything derived from them.

    Of a running service, a copy of the log is checked.
    """
    if chain_only:
        with (
            readable_log(folder, show_progress, only_chain=True) as store,
            progress_bar("log: entries checked", store.head.seq) as progress,
        ):
            head = verify_chain(store, progress)
        if as_json:
            click.echo(json.dumps({"entries": head.seq, "chain": head.chain.hex()}))
        else:
            show_result(f"The chain is intact: {head.seq:,} entries, chain {head.chain.hex()}.")
        return
    with _opened(folder) as kept, progress_bar("log: entries checked", kept.store.head.seq) as progress:
        found = verify_log(kept.store, kept.horizons, progress)
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


@log.command(epilog="Example: presage log backup --data shop-data --out shop-data-copy")
@data_option
@click.option("--out", type=PATH, required=True, help="The folder to make.")
@json_option
def backup(folder: Path, out: Path, as_json: bool) -> None:
    """Copy a data folder, also while a service is using it, and check the copy's chain of hashes.

    The copy holds everything that was acknowledged before, and is a data folder that can be served. It has no
    snapshots: what was learnt is folded from the log.
    """
    head = backup_folder(folder, out, show_progress)
    if as_json:
        click.echo(json.dumps({"entries": head.seq, "chain": head.chain.hex()}))
        return
    show_result(f"Wrote {out}: {head.seq:,} entries, chain {head.chain.hex()}.")


@log.command(epilog="Example: presage log rewrite --data shop-data --out mended --until 120000")
@data_option
@click.option("--out", type=PATH, required=True, help="The folder to make.")
@click.option("--until", type=click.IntRange(min=1), help="Leave out all entries after this position.")
@click.option(
    "--exclude", "excluded", multiple=True, metavar="ID", help="Leave out all entries of this id (repeatable)."
)
@json_option
def rewrite(folder: Path, out: Path, until: int | None, excluded: tuple[str, ...], *, as_json: bool) -> None:
    """Make a data folder without what poisoned its log, in the newest format of the log.

    Without --until and --exclude everything is taken over: so a log of an older format becomes one of the newest. The
    first entry names the old log by its length and hash. Answers stay as they were served, though the model that gave
    them may have learnt what is left out; the service folds its state from the new log. Positions change.
    """
    head, left_out = rewrite_folder(folder, out, until, set(excluded), show_progress)
    if as_json:
        click.echo(json.dumps({"entries": head.seq, "chain": head.chain.hex(), "left_out": left_out}))
        return
    show_result(f"Wrote {out}: {head.seq:,} entries, {left_out:,} left out, chain {head.chain.hex()}.")


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
    check_new(folder)
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
    with readable_log(folder, show_progress) as store:
        task = load_task(folder / TASK)
        yield LogFolder(task, horizons_of(task), store)
