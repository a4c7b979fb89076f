"""The promises of the repository itself: public names, import contracts, and what is not in it."""

import re
import shutil
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

import presage
import presage.extend
import presage.metrics
import presage.rivals
import presage.worlds
from benchmarks.structure import read_modules, report
from benchmarks.walk import Steps

ROOT = Path(__file__).parent.parent
CONTRACT = (
    "Spaces Delays Episode Learner direct_table factored_table residual_table direct_network factored_network "
    "residual_network mixture play play_trials check_forecaster Client load_task backtest judge_proxies simulate serve"
)


def test_public_names_are_there_and_documented() -> None:
    assert set(CONTRACT.split()) <= set(presage.__all__)
    for package in (presage, presage.extend, presage.metrics, presage.rivals, presage.worlds):
        assert package.__all__ == sorted(package.__all__) == dir(package), package.__name__
        for name in package.__all__:
            assert getattr(package, name).__doc__, name


def test_no_public_name_is_hidden_by_a_module_of_the_same_name() -> None:
    code = (
        "import importlib, pkgutil, types, presage, presage.extend, presage.metrics\n"
        "import presage.rivals, presage.worlds\n"
        "for found in pkgutil.walk_packages(presage.__path__, 'presage.'):\n"
        "    if found.name != 'presage.logs.spark': importlib.import_module(found.name)\n"
        "for package in (presage, presage.extend, presage.metrics, presage.rivals, presage.worlds):\n"
        "    for name in package.__all__: assert not isinstance(getattr(package, name), types.ModuleType), name\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    environment = {"PYTHONPATH": str(root / "src"), "PATH": "", "COLUMNS": "200"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("timeline/episode.py", "import presage.drivers.live", "Imports point one way"),
        ("forecasters/back_off.py", "import time", "The pure packages"),
    ],
)
def test_import_contracts_are_kept_and_can_be_broken(tmp_path: Path, module: str, line: str, broken: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src" / "presage", tmp_path / "src" / "presage")
    assert lint_imports(tmp_path).returncode == 0
    path = tmp_path / "src" / "presage" / module
    path.write_text(f"{path.read_text()}\n{line}\n")
    result = lint_imports(tmp_path)
    assert result.returncode != 0
    assert any(broken in text and "BROKEN" in text for text in result.stdout.splitlines())


def test_saving_states_needs_no_pickle() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        assert "pickle" not in path.read_text().replace("no pickle", ""), path


def test_the_layers_that_contributors_read_are_those_that_are_enforced() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    assert "\n".join(contract["layers"]) in (ROOT / "CONTRIBUTING.md").read_text()


def test_modules_importers_and_repeated_names_are_counted(tmp_path: Path) -> None:
    package = tmp_path / "src" / "presage"
    for name, text in {
        "first/shape.py": "class Square:\n    pass\n",
        "second/shape.py": "from presage.first import shape\n\n\nclass Square:\n    pass\n",
        "second/colour.py": "from presage.first.shape import Square\nimport presage.second.shape\n",
        "second/__init__.py": "import presage.second.colour\n",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    figures = dict(line.rsplit(None, 1) for line in report(tmp_path).splitlines())
    assert figures == {
        "modules": "3",
        "median lines": "2",
        "share under 50 lines": "100%",
        "modules with exactly one importer": "1",  # second.shape; first.shape has two, and packages do not count
        "modules that share a basename": "2",
        "class names in two or more modules": "1",
    }


def test_a_walk_names_modules_when_they_are_first_called_and_nothing_below_what_it_leaves_out(tmp_path: Path) -> None:
    source = tmp_path / "src"
    names: dict[str, Any] = {}
    for module, text in {
        "reader": "def read(): return inner()\ndef inner(): return 1",
        "joining.join": "def join(): return read() + read()",
        "settings": "def check(): return join()",
        "task.task": "def load_task(): return keep()",
        "files": "def keep(): return 1",
        "journal.log": "def write(): return load_task() + keep() + check()",
    }.items():
        path = source / "presage" / f"{module.replace('.', '/')}.py"
        exec(compile(text, path, "exec"), names)
    steps, before = Steps(source), sys.getprofile()
    try:
        steps.start()
        names["read"]()
        steps.on = True
        names["load_task"]()
        assert not steps.modules
        names["write"]()
        steps.on = False
        names["load_task"]()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    assert list(steps.modules) == ["journal.log", "files", "joining.join", "reader"]


def test_walks_that_contributors_read_name_modules_that_are_there_and_count_them() -> None:
    text, modules = (ROOT / "CONTRIBUTING.md").read_text(), {module.name for module in read_modules(ROOT)}
    walks = re.findall(r"^now.*?, (\d+) modules.*?```text\n(.*?)```", text, re.MULTILINE | re.DOTALL)
    assert len(walks) == 5
    for count, walk in walks:
        named = [name.strip() for name in walk.split("→")]
        assert len(named) == int(count)
        assert [name for name in named if f"presage.{name}" not in modules] == []
