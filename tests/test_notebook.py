"""The example notebook runs, shows what is stored in it, and is short."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.notebook import PATH, run, text_of

NOTEBOOK: dict[str, Any] = json.loads(PATH.read_text("utf-8"))
CODE = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
MOST_LINES = 10


@pytest.mark.long
def test_every_cell_of_the_notebook_gives_the_output_stored_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert text_of(run(NOTEBOOK)) == PATH.read_text("utf-8"), "run python -m tests.notebook"


def test_it_takes_at_most_ten_lines_from_a_dataframe_to_scores() -> None:
    statements = [statement for code in CODE for statement in ast.parse(code).body]
    assert 5 < len(statements) <= MOST_LINES


def test_the_notebook_is_of_the_form_that_jupyter_reads() -> None:
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])
    for cell in NOTEBOOK["cells"]:
        extra = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | extra


def test_a_cell_shows_what_it_prints_and_the_value_of_its_last_line() -> None:
    cell = {"cell_type": "code", "source": ["x = 2\n", "print(x)\n", "x + 1"]}
    printed, value = run({"cells": [{"cell_type": "markdown"}, cell]})["cells"][1]["outputs"]
    assert printed["text"] == ["2\n"]
    assert value["data"] == {"text/plain": ["3"]}
