"""Simulated logs: what is written is what the world dealt, with the truth beside it, and its task fits."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pytest

from presage.errors import DataError, OutputError, SettingError
from presage.logs.rows import LogRows, read_log
from presage.progress import Progress, Step
from presage.simulation import market_log as marketplace
from presage.simulation import shop_log as shop
from presage.simulation import tables as dealt
from presage.simulation.simulate import WORLDS, WorldSettings, simulate
from presage.spaces import Array
from presage.task.task import load_task
from presage.worlds.marketplace import MarketplaceSettings
from presage.worlds.repositories import RepositorySettings
from presage.worlds.shop import ShopSettings
from tests.logs.given import DAY, same

SHOP = ShopSettings(days=40, purchases=50, outcome_days=10)
SMALL: dict[str, WorldSettings] = {
    "shop": SHOP,
    "repositories": RepositorySettings(repositories=30, years=1),
    "marketplace": MarketplaceSettings(items=40),
}


def read(log: Path) -> LogRows:
    rows, excluded = read_log(load_task(log.with_suffix(".toml")), log)
    assert excluded.counts == {}
    return rows


def column(log: Path, name: str) -> Array:
    return duckdb.execute(f"SELECT \"{name}\" FROM '{log}' ORDER BY shown_at, id").fetchnumpy()[name]


def test_the_log_of_one_shop_is_the_shop(tmp_path: Path) -> None:
    log = simulate(SHOP, tmp_path / "shop.parquet", seed=4).log
    rows, dealt_shop = read(log), SHOP.deal(1, 4)
    np.testing.assert_array_equal(rows.proxy().symbols, dealt_shop.episode.z[0])
    np.testing.assert_array_equal(rows.outcome.symbols, dealt_shop.episode.y[0])
    assert set(np.unique(rows.proxy().known_at - rows.shown_at)) == {DAY}
    assert set(np.unique(rows.outcome.known_at - rows.shown_at)) == {10 * DAY}
    titles = dealt_shop.episode.x.symbols[0, :, 0]
    names = np.array(rows.vocabularies["title"].values)[rows.instances.symbols[:, 0]]
    assert [f"title-{title:03}" for title in titles] == names.tolist()
    finished = column(log, "truth_finished")
    loss = -np.log(np.where(rows.outcome.symbols == 1, finished, 1 - finished))
    np.testing.assert_allclose(loss, dealt_shop.true_loss[0])


@pytest.mark.parametrize("world", WORLDS)
def test_every_form_holds_the_same_log_and_the_task_fits(tmp_path: Path, world: str) -> None:
    done = [simulate(SMALL[world], tmp_path / name, rows=2000, seed=1) for name in ("a.parquet", "b.csv")]
    assert [one.rows for one in done] == [2000, 2000]
    rows = [read(one.log) for one in done]
    same(*rows)
    assert len(rows[0].id) == 2000
    assert (np.diff(rows[0].shown_at) >= 0).all()
    assert len(set(rows[0].outcome.symbols.tolist())) == len(load_task(done[0].task).outcome.values)


@pytest.mark.parametrize("world", WORLDS)
def test_the_same_seed_writes_the_same_bytes_and_another_does_not(tmp_path: Path, world: str) -> None:
    logs = [simulate(SMALL[world], tmp_path / f"{n}.parquet", rows=500, seed=n // 2).log for n in (0, 1, 2)]
    first, second, other = (log.read_bytes() for log in logs)
    assert first == second
    assert first != other


@pytest.mark.parametrize("drift", [False, True])
@pytest.mark.parametrize(("world", "values"), [("shop", ("finished",)), ("marketplace", ("zero", "many"))])
def test_the_truth_is_what_comes_out_on_average(
    tmp_path: Path, world: str, values: tuple[str, ...], drift: bool
) -> None:
    """In either half, and among what is likely as among what is not: so after a drift, too."""
    log = simulate(SMALL[world], tmp_path / "log.parquet", rows=20_000, drift=drift).log
    outcomes = column(log, "outcome").astype(str)
    for value in values:
        for half in (slice(10_000), slice(10_000, None)):
            truth = column(log, f"truth_{value}")[half]
            for weight in (np.ones(10_000), truth - truth.mean()):
                error = np.sqrt((truth * (1 - truth) * weight**2).sum())
                assert abs((((outcomes[half] == value) - truth) * weight).sum()) < 4 * error


def test_repositories_are_labelled_by_their_commits(tmp_path: Path) -> None:
    world = RepositorySettings(repositories=30, years=1)
    rows, history = read(simulate(world, tmp_path / "r.parquet", rows=300).log), world.deal(0)
    names = rows.vocabularies["repository"].values
    for row in range(300):
        where = history.repositories.index(names[rows.instances.symbols[row, 0]])
        at, shown = history.at[history.repository == where], rows.shown_at[row] // 1_000_000
        soon, later, before = (
            ((at > shown + low * 86_400) & (at <= shown + high * 86_400)).sum()
            for low, high in ((0, 7), (0, 21), (-7, 0))
        )
        assert rows.proxy().symbols[row] == min(soon, 2)
        assert rows.outcome.symbols[row] == (later >= 3)
        assert rows.instances.symbols[row, 1] == np.digitize(before, [1, 2, 4, 8])


@pytest.mark.parametrize("world", WORLDS)
def test_drift_changes_the_second_half_only(tmp_path: Path, world: str) -> None:
    plain, drifting = (
        read(simulate(SMALL[world], tmp_path / f"{drift}.parquet", rows=3000, drift=drift).log)
        for drift in (False, True)
    )
    np.testing.assert_array_equal(plain.shown_at, drifting.shown_at)
    same_outcome = plain.outcome.symbols == drifting.outcome.symbols
    middle = plain.shown_at[0] + (plain.shown_at[-1] - plain.shown_at[0]) * 0.45
    late = plain.shown_at > plain.shown_at[0] + (plain.shown_at[-1] - plain.shown_at[0]) * 0.55
    assert same_outcome[plain.shown_at < middle].all()
    assert same_outcome[late].mean() < 0.95


def test_flaws_are_there_in_their_shares_and_noticed(tmp_path: Path) -> None:
    done = simulate(SHOP, tmp_path / "shop.csv", missing=0.2, duplicates=0.1)
    rows, excluded = read_log(load_task(done.task), done.log)
    assert len(rows.id) == 2000
    assert excluded.counts["rows that repeat the id of an earlier one"] == done.repeated
    assert 140 < done.repeated < 260
    assert 300 < excluded.counts["outcome did not come within 10 days"] < 500
    gone = [count for reason, count in excluded.counts.items() if reason.startswith("outcome")]
    assert (rows.outcome.symbols == -1).sum() == sum(gone)
    untimed = duckdb.execute(f"FROM '{done.log}' SELECT count(*) WHERE (outcome IS NULL) <> (outcome_at IS NULL)")
    assert untimed.fetchall() == [(0,)], "what is missing has no time either"


def telling(step: Step) -> Progress:
    """Progress of which each step is told."""

    @contextmanager
    def progress(what: str, steps: int | None) -> Iterator[Step]:
        yield step

    return progress


def test_large_logs_are_dealt_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (dealt, shop, marketplace):
        monkeypatch.setattr(module, "CHUNK", 300)
    told: list[int] = []
    several = simulate(SHOP, tmp_path / "s.parquet", rows=1000, progress=telling(told.append))
    assert sum(told) == 1000
    assert len(told) == 4
    rows = read(several.log)
    assert len({name.partition("/")[0] for name in rows.vocabularies["genre"].values}) == 4
    assert sorted(rows.id.tolist()) == list(range(1000))
    assert len(np.unique(rows.shown_at)) == 1000, "each shop has purchases at times of its own"
    told.clear()
    simulate(SMALL["marketplace"], tmp_path / "m.parquet", rows=9000, progress=telling(told.append))
    assert sum(told) == 9000
    assert max(told) <= 300


def test_what_cannot_be_written_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the kind of this file is unknown: .*name it \.parquet or \.csv"):
        simulate(SHOP, tmp_path / "shop.txt")
    with pytest.raises(SettingError, match="missing must be a share"):
        simulate(SHOP, tmp_path / "shop.csv", missing=2)
    with pytest.raises(SettingError, match="rows must be a whole number"):
        simulate(SHOP, tmp_path / "shop.csv", rows=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="this file cannot be written"):
        simulate(SHOP, tmp_path / "file" / "shop.csv")

    def full(rows: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left"):
        simulate(SHOP, tmp_path / "shop.csv", progress=telling(full))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
