"""The shape of the code in a tree: how many modules, how long, how often imported, and which names occur twice.

`python -m benchmarks structure [FOLDER]` prints them. It reads the source without importing it, so any version can be
measured.
"""

import ast
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median
from typing import NamedTuple

SHORT = 50
"""A module below this many lines is short."""


class Module(NamedTuple):
    """A module as its source tells it."""

    name: str
    basename: str
    lines: int
    classes: frozenset[str]
    imports: frozenset[str]


def read_modules(root: Path) -> list[Module]:
    """The modules of `src/presage` under `root`, and not the `__init__.py` of its packages."""
    source = root / "src"
    paths = [path for path in sorted(source.glob("presage/**/*.py")) if path.name != "__init__.py"]
    names = {_name(path, source): path for path in paths}
    return [_module(name, path, set(names)) for name, path in names.items()]


def repeated_classes(modules: list[Module]) -> dict[str, list[str]]:
    """The modules of each class name that at least two of them define."""
    homes = defaultdict(list)
    for module in modules:
        for name in module.classes:
            homes[name].append(module.name)
    return {name: sorted(places) for name, places in sorted(homes.items()) if len(places) > 1}


def repeated_basenames(modules: list[Module]) -> dict[str, list[str]]:
    """The modules of each last part of a name that at least two of them end with."""
    homes = defaultdict(list)
    for module in modules:
        homes[module.basename].append(module.name)
    return {name: sorted(places) for name, places in sorted(homes.items()) if len(places) > 1}


def report(root: Path) -> str:
    """The figures of a tree, one per line."""
    modules = read_modules(root)
    importers = Counter(name for module in modules for name in module.imports)
    lines = [module.lines for module in modules]
    basenames, classes = repeated_basenames(modules), repeated_classes(modules)
    rows = {
        "modules": len(modules),
        "median lines": f"{median(lines):.0f}",
        f"share under {SHORT} lines": f"{sum(length < SHORT for length in lines) / len(lines):.0%}",
        "modules with exactly one importer": sum(importers[module.name] == 1 for module in modules),
        "modules that share a basename": sum(len(places) for places in basenames.values()),
        "class names in two or more modules": len(classes),
    }
    return "\n".join(f"{name}\t{value}" for name, value in rows.items()).expandtabs(40)


def _module(name: str, path: Path, known: set[str]) -> Module:
    text = path.read_text()
    tree = ast.parse(text)
    classes = frozenset(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    imports = frozenset(found for node in ast.walk(tree) for found in _imported(node, known)) - {name}
    return Module(name, path.stem, len(text.splitlines()), classes, imports)


def _name(path: Path, source: Path) -> str:
    return ".".join(path.relative_to(source).with_suffix("").parts)


def _imported(node: ast.AST, known: set[str]) -> set[str]:
    """The modules that a statement imports: `from a import b` is a.b if that is a module, and otherwise a."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & known
    if isinstance(node, ast.ImportFrom) and node.module:
        inner = {f"{node.module}.{alias.name}" for alias in node.names}
        return {found if found in known else node.module for found in inner} & known
    return set()
