"""Runs a notebook without Jupyter: each code cell in turn, in one namespace, with what it would show below it.

`python -m tests.notebook` writes the outputs into examples/own_log.ipynb.
"""

import ast
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

PATH = Path(__file__).parent.parent / "examples" / "own_log.ipynb"


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs that its code gives now."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count = 0

    def with_outputs(cell: dict[str, Any]) -> dict[str, Any]:
        nonlocal count
        if cell["cell_type"] != "code":
            return cell
        count += 1
        return cell | {"execution_count": count, "outputs": _outputs("".join(cell["source"]), namespace, count)}

    return notebook | {"cells": [with_outputs(cell) for cell in notebook["cells"]]}


def _outputs(code: str, namespace: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line if that is an expression."""
    tree, said, value = ast.parse(code), io.StringIO(), None
    last = tree.body[-1]
    with contextlib.redirect_stdout(said):
        exec(compile(ast.Module(tree.body[:-1], []), f"cell {count}", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), namespace)
        else:
            exec(compile(ast.Module([last], []), f"cell {count}", "exec"), namespace)
    outputs: list[dict[str, Any]] = []
    if said.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(said.getvalue())})
    if value is not None:
        html = getattr(value, "_repr_html_", None)
        data = {"text/html": _lines(html())} if html else {"text/plain": _lines(repr(value))}
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def text_of(notebook: dict[str, Any]) -> str:
    """A notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the outputs into the notebook."""
    notebook = json.loads(PATH.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        PATH.write_text(text_of(run(notebook)), "utf-8")


if __name__ == "__main__":
    main()
