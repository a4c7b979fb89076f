"""Logs with a known truth, for trying things out: written chunk by chunk, with a task file beside them."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb

from presage import settings as ranges
from presage.errors import DataError, OutputError
from presage.progress import Progress, silent
from presage.simulation.market_log import deal_marketplace
from presage.simulation.repository_log import deal_repositories
from presage.simulation.shop_log import deal_shop
from presage.simulation.tables import FORMATS, Flaws, SimulatedTable, task_text, write_log, written_here
from presage.worlds.marketplace import MarketplaceSettings
from presage.worlds.repositories import RepositorySettings
from presage.worlds.shop import ShopSettings

WorldSettings = ShopSettings | RepositorySettings | MarketplaceSettings
WORLDS: dict[str, type[WorldSettings]] = {
    "shop": ShopSettings,
    "repositories": RepositorySettings,
    "marketplace": MarketplaceSettings,
}


class Simulated(NamedTuple):
    """A log that was written: its file, its task file, and how many predictions it holds and repeats."""

    log: Path
    task: Path
    rows: int
    repeated: int


def simulate(
    world: str | WorldSettings,
    out: str | Path,
    *,
    rows: int | None = None,
    seed: int = 0,
    drift: bool = False,
    missing: float = 0.0,
    duplicates: float = 0.0,
    progress: Progress = silent,
) -> Simulated:
    """The log of a world, written to `out` (.parquet or .csv) with a task file of the same name beside it.

    Args:
        world: "shop", "repositories" or "marketplace", or the settings of one.
        out: Where the log goes; only files that were simulated are replaced.
        rows: How many predictions; as many as the world has by default if left out.
        seed: The same seed writes the same bytes.
        drift: Whether the world changes halfway.
        missing: The share of the feedback that is left out.
        duplicates: The share of the rows that is written twice.
        progress: Shows how far it is.
    """
    flaws = Flaws(ranges.share("missing", missing), ranges.share("duplicates", duplicates))
    if isinstance(world, str):
        world = WORLDS[ranges.one_of("world", world, tuple(WORLDS))]()
    out = Path(out)
    if out.suffix not in FORMATS:
        raise DataError("the kind of this file is unknown", str(out), f"name it {' or '.join(FORMATS)}")
    task = out.with_suffix(".toml")
    there = [path.name for path in (out, task) if path.exists()]
    if there and not written_here(task, out.name):
        raise OutputError("a file that was not simulated is there already", ", ".join(there), "choose another name")
    dealt = _dealt(world, None if rows is None else ranges.whole("rows", rows), seed, drift)
    with _aside(out) as folder:
        with progress("rows dealt", dealt.rows) as step:
            repeated = write_log(dealt, folder / out.name, flaws, seed, step)
        (folder / task.name).write_text(task_text(dealt, out.name), "utf-8")
        for path in (out, task):
            (folder / path.name).replace(path)
    return Simulated(out, task, dealt.rows, repeated)


def _dealt(world: WorldSettings, rows: int | None, seed: int, drift: bool) -> SimulatedTable:
    if isinstance(world, ShopSettings):
        return deal_shop(world, rows, seed, drift)
    if isinstance(world, RepositorySettings):
        return deal_repositories(world, rows, seed, drift)
    return deal_marketplace(world, rows, seed, drift)


@contextmanager
def _aside(out: Path) -> Iterator[Path]:
    """A folder beside `out` for what is not finished, removed in the end."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=out.parent))
    except OSError as error:
        raise OutputError("this file cannot be written", str(out), f"choose another ({error.strerror})") from error
    try:
        yield folder
    except (OSError, duckdb.IOException) as error:
        why = str(error).splitlines()[0]
        remedy = f"free some space or choose another file ({why})"
        raise OutputError("the log could not be written", str(out), remedy) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
