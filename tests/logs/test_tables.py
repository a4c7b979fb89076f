"""Tables out of files and into them: what is read is what was written, and what is wrong is said in one line."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

from presage.dataframes import Columns
from presage.errors import DataError
from presage.logs.columns import KEY, NUMBER, TEXT, TIME, WHOLE, ColumnKind
from presage.logs.tables import connected, read_table
from tests.logs.places import parquet_bytes

KINDS = {"item": TEXT, "at": TIME, "count": WHOLE, "share": NUMBER}


def columns() -> Columns:
    return {
        "item": np.array(["one", 'it\'s "two"', "trois, é"], object),
        "at": np.array(["2020-01-01T00:00:00", "2020-06-01T12:30:00", "1969-12-31T23:59:59"], "datetime64[us]"),
        "count": np.array([0, -3, 2**40]),
        "share": np.array([0.1, 1e-300, 2.0]),
    }


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_columns_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "odd 'name' [x] *.parquet"
    path.write_bytes(parquet_bytes(columns()))
    back = read_table(path, KINDS)
    for name, column in columns().items():
        np.testing.assert_array_equal(back[name], column)
        assert back[name].dtype == column.dtype


def test_a_path_is_never_a_pattern_for_other_files(tmp_path: Path) -> None:
    for name in ("[ab].parquet", "a.parquet"):
        (tmp_path / name).write_bytes(parquet_bytes({"item": np.array([name], object)}))
    assert list(read_table(tmp_path / "[ab].parquet", {"item": TEXT})["item"]) == ["[ab].parquet"]


def test_the_same_columns_give_the_same_bytes() -> None:
    big = {"n": np.arange(300_000), "text": np.array([f"{n % 1000}" for n in range(300_000)])}
    assert parquet_bytes(big) == parquet_bytes(big)
    assert parquet_bytes(columns()) == parquet_bytes(columns())


def test_times_are_written_with_their_zone_and_empty_columns_with_their_type(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(parquet_bytes({"item": np.array([], object), "at": np.array([], "datetime64[s]")}))
    types = [row[1] for row in duckdb.execute(f"DESCRIBE FROM '{path}'").fetchall()]
    assert types == ["VARCHAR", "TIMESTAMP WITH TIME ZONE"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", 'item,at,count\n007,2020-01-01 02:00:00+02,3\n"a, b",1577836800,4.0\n'),
        ("t.tsv", "item\tat\tcount\n007\t2020-01-01 00:00:00 UTC\t3\na, b\t2020-01-01\t4\n"),
        (
            "t.ndjson",
            '{"item": "007", "at": "2020-01-01", "count": 3}\n{"count": 4, "item": "a, b", "at": "2020-01-01"}\n',
        ),
        ("t.jsonl", '{"item": "007", "at": 1577836800, "count": 3}\n{"item": "a, b", "at": 1577836800, "count": 4}\n'),
    ],
)
def test_text_files_mean_the_same(tmp_path: Path, name: str, text: str) -> None:
    table = read_table(written(tmp_path / name, text), {"item": KEY, "at": TIME, "count": WHOLE})
    assert list(table["item"]) == ["007", "a, b"]
    assert list(table["count"]) == [3, 4]
    assert list(table["at"].astype("datetime64[s]").astype(int)) == [1577836800, 1577836800]


@pytest.mark.parametrize(
    ("name", "text", "kinds", "words"),
    [
        ("none.csv", None, {"a": TEXT}, "none.csv is not there"),
        ("t.csv", "", {"a": TEXT}, "t.csv is empty"),
        ("t.csv", "a,b\n", {"a": TEXT}, "t.csv holds no rows"),
        ("t.csv", "a;b\n1;2\n", {"a": TEXT, "c": TEXT}, r"lacks the columns c: found \['a', 'b'\]"),
        ("t.csv", "a,b\n1,2\n3\n4,5,6\n", {"a": TEXT}, "t.csv cannot be read as CSV"),
        ("t.ndjson", '{"a": 1}\nnothing\n', {"a": WHOLE}, "t.ndjson cannot be read as NDJSON"),
        ("t.ndjson", '{"a": [1]}\n', {"a": WHOLE}, r"column a of t.ndjson has the wrong type: found 'BIGINT\[\]'"),
        ("t.parquet", "PAR1 not at all", {"a": TEXT}, "t.parquet cannot be read as Parquet"),
        ("t.txt", "a\n1\n", {"a": TEXT}, "the kind of this file is unknown"),
        ("t.csv", "a,b\n1,x\n,x\n", {"a": TEXT}, "row 2 of t.csv has no valid a: found None"),
        ("t.csv", "a\n1\n2.5\n", {"a": WHOLE}, "row 2 of t.csv has no valid a: found '2.5'"),
        ("t.csv", "a\n1\nnan\n", {"a": NUMBER}, "row 2 of t.csv has no valid a: found 'nan'"),
        ("t.csv", "a\n2020-01-01\nyesterday\n", {"a": TIME}, "row 2 of t.csv has no valid a: found 'yesterday'"),
        ("t.csv", "a\n2020-01-01\ninfinity\n", {"a": TIME}, "row 2 .* found 'infinity'"),
        ("t.csv", "a\n1577836800\n1577836800000\n", {"a": TIME}, "row 2 .* found '1577836800000'; .* seconds since"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path, name: str, text: str | None, kinds: dict[str, ColumnKind], words: str
) -> None:
    if text is not None:
        written(tmp_path / name, text)
    with pytest.raises(DataError, match=words) as refused:
        read_table(tmp_path / name, kinds)
    assert "\n" not in str(refused.value)


def test_a_broken_row_far_down_is_not_skipped(tmp_path: Path) -> None:
    lines = [f"{row},x" for row in range(60_000)]
    lines[50_000] = "50000"
    with pytest.raises(DataError, match=r"t\.csv cannot be read as CSV: found 'line 50,002 has 1 column, the first 2'"):
        read_table(written(tmp_path / "t.csv", "\n".join(["a,b", *lines])), {"a": WHOLE})


def test_what_duckdb_makes_of_an_interrupt_is_an_interrupt_again() -> None:
    with pytest.raises(KeyboardInterrupt), connected():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="another"), connected():
        raise RuntimeError("another")


@pytest.mark.parametrize(
    ("column", "kind", "found"),
    [
        (np.array([1.5]), TIME, "DOUBLE"),
        (np.array([True]), TIME, "BOOLEAN"),
        (np.array([1]), TEXT, "BIGINT"),
        (np.array(["2020-01-01"], "datetime64[s]"), WHOLE, "TIMESTAMP WITH TIME ZONE"),
    ],
)
def test_a_column_of_the_wrong_type_is_refused(tmp_path: Path, column: Columns, kind: ColumnKind, found: str) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(parquet_bytes({"a": column}))
    with pytest.raises(DataError, match=f"column a of t.parquet has the wrong type: found '{found}'"):
        read_table(path, {"a": kind})
