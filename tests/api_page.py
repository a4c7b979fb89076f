"""The page of the Python API, made from docstrings: `python -m tests.api_page` writes it."""

import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
HEAD = """# Python API

`import presage` gives the names of the first part; the other parts are modules of their own. Everything else in
Presage may change at any time. This page is made from the docstrings.
"""
FURTHER = ("presage.rivals", "presage.metrics", "presage.worlds", "presage.extend")
ARGUMENT = re.compile(r"^    (\*{0,2}\w+): ")


def api_page() -> str:
    """The whole page: the front door in full, and a line for each further public name."""
    front = importlib.import_module("presage")
    parts = [HEAD, "## presage\n", *(_full(name, getattr(front, name)) for name in front.__all__)]
    return "\n".join([*parts, *(_table(importlib.import_module(name)) for name in FURTHER)])


def _full(name: str, public: Any) -> str:
    """A name with its signature, its docstring, and the members of a class."""
    members = _members(public) if inspect.isclass(public) else []
    listed = ["| member | gives |", "|---|---|", *members, ""] if members else []
    return "\n".join([f"### `{name}`\n", f"```text\n{name}{_signature(public)}\n```\n", *_prose(public), *listed])


def _table(module: types.ModuleType) -> str:
    rows = [f"| `{name}` | {_cell(_summary(getattr(module, name)))} |" for name in module.__all__]
    return "\n".join([f"## {module.__name__}\n", f"{module.__doc__}\n", "| name | gives |", "|---|---|", *rows, ""])


def _members(public: type) -> list[str]:
    """The public methods and properties that a class documents, as rows of a table."""
    rows = []
    for name, member in vars(public).items():
        plain = getattr(member, "__func__", member)
        documented = inspect.isfunction(plain) or isinstance(plain, property)
        if not name.startswith("_") and documented and plain.__doc__:
            call = "" if isinstance(plain, property) else _signature(plain)
            rows.append(f"| `{name}{call}` | {_cell(_summary(plain))} |")
    return rows


def _signature(public: Any) -> str:
    """The names and defaults of the arguments, without types and `self`; nothing for an error."""
    if inspect.isclass(public) and issubclass(public, Exception):
        return ""
    given = inspect.signature(public).parameters.values()
    kept = [_bare(one) for one in given if one.name not in ("self", "cls")]
    return str(inspect.Signature(kept))


def _bare(parameter: inspect.Parameter) -> inspect.Parameter:
    default = parameter.default
    named = callable(default) and default is not inspect.Parameter.empty
    return parameter.replace(annotation=inspect.Parameter.empty, default=_Named(default.__name__) if named else default)


class _Named:
    """A default that shows as its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def _summary(public: Any) -> str:
    """The first paragraph of a docstring."""
    if public is Any:  # what stands for the arrays of NumPy and JAX alike
        return "An array of NumPy or JAX."
    text = inspect.getdoc(public) or ""
    return " ".join(text.split("\n\n")[0].split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _prose(public: Any) -> Iterator[str]:
    """A docstring as Markdown: arguments as a list, examples and indented lines as blocks."""
    for part in (inspect.getdoc(public) or "").split("\n\n"):
        lines = part.splitlines()
        if lines[0].startswith(">>>"):
            yield f"```pycon\n{part}\n```\n"
        elif lines[0] == "Args:":
            yield "\n".join(_arguments(lines[1:])) + "\n"
        elif lines[0].startswith("    "):
            yield f"```text\n{textwrap.dedent(part)}\n```\n"
        else:
            yield part + "\n"


def _arguments(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield ARGUMENT.sub(r"- `\1`: ", line) if ARGUMENT.match(line) else f"  {line.strip()}"


if __name__ == "__main__":
    PAGE.write_text(api_page())
