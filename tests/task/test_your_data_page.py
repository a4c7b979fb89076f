"""The page on your own data: each task file reads the rows above it, and they are known as the page says."""

import re
from pathlib import Path

import pytest

from presage.logs.rows import read_log
from presage.spaces import Array
from presage.task.task import load_task

PAGE = (Path(__file__).parents[2] / "docs" / "your-data.md").read_text("utf-8")
CASES = re.findall(r"^```csv\n(.*?)^```\n+```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

KNOWN = {  # the proxy and the outcome of each row, -1 where it is not known
    "trials paid for within 30 days": ([1, 0, 0, 1], [1, 0, 0, -1]),
    "tickets opened again within 14 days": ([0, 2, 1, -1], [1, 0, 0, -1]),
    "subscriptions cancelled within 30 days": ([0, 2, 1, 1], [0, 1, 0, -1]),
    "items bought": ([1, 1, 0, 1, -1], [0, 1, -1, -1, -1]),
}


def listed(symbols: Array) -> list[int]:
    return [int(symbol) for symbol in symbols]


@pytest.mark.parametrize(("rows", "task"), CASES, ids=range(len(CASES)))
def test_a_task_file_on_the_page_reads_the_rows_above_it(rows: str, task: str, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(rows, "utf-8")
    found, _ = read_log(load_task(task), log)
    known = (listed(found.proxy().symbols), listed(found.outcome.symbols))
    assert known == KNOWN[load_task(task).name]


def test_every_case_on_the_page_is_read() -> None:
    assert len(CASES) == len(KNOWN) == PAGE.count("```toml")
