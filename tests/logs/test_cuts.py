"""Columns of numbers that are cut into values: by edges, or by quantiles of the first rows of the log."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.errors import DataError, SettingError
from presage.logs.cuts import cut_lines, found_cuts, quantile_edges, resolve_cuts
from presage.logs.rows import read_log
from presage.spaces import Array
from presage.task.task import Task
from tests.logs.given import csv, parquet, same, table, task_of

HEAD = "item,proxy,outcome"
ROWS = 3000


def cut_task(outcome: str, horizon: str = "5 rows", **changes: str) -> Task:
    """A task on rows without times whose outcome is a number."""
    parts = {
        "proxy": 'values = ["none", "some"]\nhorizon = "2 rows"',
        "outcome": f'horizon = "{horizon}"\n{outcome}',
        "log": 'order = "rows"',
    }
    return task_of(**parts | changes)


def numbers(seed: int = 0, size: int = ROWS) -> Array:
    """Numbers of which some are missing, many 0, and later ones larger."""
    draw = np.random.default_rng(seed)
    found = np.where(draw.random(size) < 0.3, 0.0, np.round(draw.gamma(2, 3, size) + np.arange(size) / size, 2))
    return np.where(draw.random(size) < 0.1, np.nan, found)


def written(path: Path, found: Array) -> Path:
    return table(path, HEAD, [("a", "some", "" if np.isnan(one) else f"{one:g}") for one in found])


def test_a_number_is_cut_by_edges_as_numpy_cuts_it(tmp_path: Path) -> None:
    found, edges = numbers(), [0.5, 4, 4.01, 9.875]
    rows, excluded = read_log(cut_task(f"edges = {edges}"), written(tmp_path / "log.csv", found))
    wanted = np.where(np.isnan(found), -1, np.searchsorted(edges, found, side="right"))
    np.testing.assert_array_equal(rows.outcome.symbols[:-5], wanted[:-5])
    assert set(rows.outcome.symbols[-5:]) == {-1}
    assert excluded.counts["outcome did not come within 5 rows"] == np.isnan(found[:-5]).sum()


def test_a_number_equal_to_an_edge_reaches_it_to_the_last_digit(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    edges = np.unique(draw.normal(size=50) * 10.0 ** draw.integers(-9, 9, 50))
    found = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), np.zeros(6)])
    log = table(tmp_path / "log.csv", HEAD, [("a", "some", repr(float(one))) for one in found])
    rows, _ = read_log(cut_task(f"edges = {[float(edge) for edge in edges]}"), log)
    np.testing.assert_array_equal(rows.outcome.symbols[:-5], np.searchsorted(edges, found, side="right")[:-5])


def test_not_a_number_and_infinity_are_no_value(tmp_path: Path) -> None:
    words = ["1", "7", "nan", "NaN", "inf", "-inf", "Infinity", "", " 7 ", "1e2", *["1"] * 5]
    log = csv(tmp_path / "log.csv", HEAD, *(f"a,some,{word}" for word in words))
    rows, _ = read_log(cut_task("edges = [5]"), log)
    assert rows.outcome.symbols[:10].tolist() == [0, 1, -1, -1, -1, -1, -1, -1, 1, 1]
    typed = parquet(
        tmp_path / "log.parquet",
        "SELECT 'a' AS item, 'some' AS proxy, unnest(['1', '7', 'nan', 'nan', 'inf', '-inf', 'inf', NULL, "
        "'7', '100', '1', '1', '1', '1', '1']::DOUBLE[]) AS outcome",
    )
    same(read_log(cut_task("edges = [5]"), typed), read_log(cut_task("edges = [5]"), log))


def test_labels_of_a_cut_column_are_those_of_the_same_column_cut_beforehand(tmp_path: Path) -> None:
    found = numbers()
    rows, _ = read_log(
        cut_task('edges = [2, 6]\nvalues = ["low", "middle", "high"]'), written(tmp_path / "n.csv", found)
    )
    names = np.array(["low", "middle", "high"])[np.searchsorted([2, 6], found, side="right").clip(0, 2)]
    labels = [("a", "some", "" if np.isnan(one) else name) for one, name in zip(found, names, strict=True)]
    named, _ = read_log(cut_task('values = ["low", "middle", "high"]'), table(tmp_path / "w.csv", HEAD, labels))
    same(rows, named)


@pytest.mark.parametrize("parts", [2, 3, 4, 5, 7, 10, 20])
@pytest.mark.parametrize("seed", range(3))
def test_quantiles_are_those_of_the_first_rows_and_no_part_of_these_is_empty(
    tmp_path: Path, seed: int, parts: int
) -> None:
    found = numbers(seed)
    log = written(tmp_path / "log.csv", found)
    task = cut_task(f'edges = "quantiles:{parts}"')
    resolved = resolve_cuts(task, log)
    first = found[~np.isnan(found)][:1000]
    assert resolved.outcome.cuts is not None
    edges = np.array(resolved.outcome.cuts.edges)
    np.testing.assert_array_equal(edges, quantile_edges(np.sort(first), parts))
    counts = np.bincount(np.searchsorted(edges, first, side="right"), minlength=len(edges) + 1)
    assert (counts > 0).all()
    assert len(resolved.outcome.values) == len(edges) + 1
    rows, _ = read_log(resolved, log)
    assert rows.outcome.symbols.max() == len(edges)


def test_numbers_that_all_differ_are_cut_into_parts_equally_full() -> None:
    for parts in range(2, 21):
        edges = quantile_edges(np.sort(np.random.default_rng(parts).random(1000)), parts)
        ordered = np.random.default_rng(parts).random(1000)
        counts = np.bincount(np.searchsorted(edges, ordered, side="right"))
        assert counts.min() >= 1000 // parts
        assert counts.max() <= -(-1000 // parts)


def test_later_rows_do_not_move_the_quantiles_and_rows_are_taken_by_time(tmp_path: Path) -> None:
    found = numbers(4, 12_000)
    found[1200:] *= 1000
    known = np.flatnonzero(~np.isnan(found))
    task = cut_task('edges = "quantiles:4"')
    edges = resolve_cuts(task, written(tmp_path / "log.csv", found)).outcome.cuts
    share = -(-len(known) // 10)
    assert share > 1000
    assert edges is not None
    assert edges.edges == quantile_edges(np.sort(found[known[:share]]), 4)
    assert edges.told == f"quartiles of the first {share:,} rows"
    times = np.random.default_rng(0).permutation(len(found))
    shuffled = [("a", n + 1, "some", found[n]) for n in times.tolist()]
    timed = task_of(
        proxy='values = ["none", "some"]\nhorizon = "2 seconds"\nknown = "at horizon"',
        outcome='edges = "quantiles:4"\nhorizon = "5 seconds"\nknown = "at horizon"',
    )
    log = table(tmp_path / "timed.csv", "item,shown_at,proxy,outcome", shuffled)
    assert resolve_cuts(timed, log).outcome.cuts == edges


def test_what_was_found_is_told_and_kept(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", np.tile([0.0, 0.0, 0.0, 1.0, 1.0, 2.5, 2.5, 2.5], 25))
    resolved = resolve_cuts(cut_task('edges = "quantiles:4"'), log)
    told = "quartiles of the first 200 rows; 1 of 3 edges would have been the same as another"
    values = ["below 1", "1 to 2.5", "2.5 or more"]
    assert found_cuts(resolved) == {"outcome": {"edges": [1, 2.5], "values": values, "from": told}}
    assert cut_lines(found_cuts(resolved)) == [f"outcome.edges = [1, 2.5] ({told})"]
    assert resolve_cuts(resolved, tmp_path / "not read again") is resolved
    plain = cut_task("edges = [1, 2.5]")
    assert resolve_cuts(plain, tmp_path / "not read") is plain
    assert found_cuts(plain) == {}
    same(read_log(resolved, log), read_log(plain, log))


@pytest.mark.parametrize(
    ("outcome", "cells", "kind", "error"),
    [
        (
            "edges = [1]",
            ["1", "2", "cheap", "1 5"],
            DataError,
            "column outcome of log.csv holds what is no number: found '1 5'; 20 rows in all: correct the log, or leave "
            "the value empty",
        ),
        (
            'edges = "quantiles:4"',
            ["cheap"],
            DataError,
            "column outcome of log.csv holds no number to cut: found 0; name another column",
        ),
        (
            'edges = "quantiles:4"',
            ["3"],
            DataError,
            "column outcome of log.csv cannot be cut: the numbers of its first rows are all the same: found 3.0; give "
            "outcome.edges as numbers, such as [1, 5]",
        ),
        (
            'edges = "quantiles:4"\nvalues = ["a", "b", "c", "d"]',
            ["0", "0", "0", "1"],
            SettingError,
            "outcome.values must be 2: quartiles of the first 40 rows; 2 of 3 edges would have been the same as "
            "another: found ['a', 'b', 'c', 'd']; leave values out, or give edges as numbers",
        ),
        (
            'values = ["no", "yes"]',
            ["0.5", "0.75"],
            DataError,
            "column outcome of log.csv holds values outside outcome.values: found '0.5'; 40 rows in all: this column "
            'is numeric: cut it with edges, such as outcome.edges = "quantiles:4"',
        ),
        (
            'values = ["1", "2"]',
            [str(n) for n in range(1, 25)],
            DataError,
            "column outcome of log.csv holds values outside outcome.values: found '10'; 36 rows in all: this column is "
            'numeric: cut it with edges, such as outcome.edges = "quantiles:4"',
        ),
        (
            'values = ["1", "2"]',
            ["1", "2", "3"],
            DataError,
            "column outcome of log.csv holds values outside outcome.values: found '3'; 13 rows in all: add to it what "
            "is missing, or correct the log",
        ),
        (
            'values = ["no", "yes"]',
            ["0.5", "0.75", "none"],
            DataError,
            "column outcome of log.csv holds values outside outcome.values: found '0.5'; 40 rows in all: add to it "
            "what is missing, or correct the log",
        ),
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_cut_and_labels_that_are_numbers_are_refused_in_one_line(
    tmp_path: Path, outcome: str, cells: list[str], kind: type[Exception], error: str
) -> None:
    lines = [f'a,some,"{cells[n % len(cells)]}"' for n in range(40)]
    log: Any = csv(tmp_path / "log.csv", HEAD, *lines)
    with pytest.raises(kind) as refused:
        read_log(resolve_cuts(cut_task(outcome), log), log)
    assert str(refused.value) == error


def test_a_task_with_quantiles_is_not_read_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"outcome\.edges are not numbers yet"):
        read_log(cut_task('edges = "quantiles:4"'), tmp_path / "none.csv")


def test_the_column_of_numbers_must_hold_numbers(tmp_path: Path) -> None:
    log = parquet(tmp_path / "log.parquet", "SELECT 'a' AS item, 'some' AS proxy, true AS outcome FROM range(40)")
    for edges in ("[1]", '"quantiles:2"'):
        with pytest.raises(DataError, match=r"column outcome of log\.parquet has the wrong type: found 'BOOLEAN'"):
            read_log(resolve_cuts(cut_task(f"edges = {edges}"), log), log)
