"""The promises of the repository itself: public names, import contracts, and what is not in it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import presage
import presage.extend
import presage.metrics
import presage.worlds

ROOT = Path(__file__).parent.parent
CONTRACT = (
    "Spaces Delays Episode Learner direct_table factored_table residual_table direct_network factored_network "
    "residual_network mixture play play_trials check_forecaster Client load_task backtest judge_proxies simulate serve"
)


def test_public_names_are_there_and_documented() -> None:
    assert set(CONTRACT.split()) <= set(presage.__all__)
    for package in (presage, presage.extend, presage.metrics, presage.worlds):
        assert package.__all__ == sorted(package.__all__) == dir(package), package.__name__
        for name in package.__all__:
            assert getattr(package, name).__doc__, name


def test_no_public_name_is_hidden_by_a_module_of_the_same_name() -> None:
    code = (
        "import importlib, pkgutil, types, presage, presage.extend, presage.metrics, presage.worlds\n"
        "for found in pkgutil.walk_packages(presage.__path__, 'presage.'):\n"
        "    if found.name != 'presage.logs.spark': importlib.import_module(found.name)\n"
        "for package in (presage, presage.extend, presage.metrics, presage.worlds):\n"
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
