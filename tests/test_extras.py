"""What runs without the extras, and the one line that names the extra of what does not."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from presage.errors import MissingExtraError
from presage.extras import EXTRAS, require

ROOT = Path(__file__).parent.parent
ABSENT = {module for extra in EXTRAS.values() for module in extra.modules} | {"jaxlib", "scipy", "uvloop"}
SHOP = ["--set", "days=40", "--set", "purchases=40", "--set", "outcome_days=15"]


def without(*modules: str, script: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """How a script ends in a process where these modules are not installed."""
    switched_off = f"import sys; sys.modules.update(dict.fromkeys({modules!r})); "
    command = [sys.executable, "-c", switched_off + script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def command_without(modules: set[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """How `presage` ends where these modules are not installed."""
    return without(*modules, script="from presage.cli import main; main()", arguments=arguments)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log made without the extras, with its task file beside it."""
    log = tmp_path_factory.mktemp("shop") / "shop.csv"
    made = command_without(ABSENT, "data", "simulate", "shop", "--out", str(log), "--rows", "600")
    assert made.returncode == 0, made.stderr
    return log


def test_help_and_tasks_need_no_extra(shop: Path, tmp_path: Path) -> None:
    done = command_without(ABSENT, "--help")
    assert done.returncode == 0, done.stderr
    first = str(tmp_path / "first.toml")
    for arguments in (("init", str(shop), "--out", first), ("check", str(shop.with_suffix(".toml")))):
        done = command_without(ABSENT, "task", *arguments)
        assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_the_demo_needs_no_extra(tmp_path: Path) -> None:
    done = command_without(ABSENT, "demo", "--out", str(tmp_path), *SHOP)
    assert done.returncode == 0, done.stderr
    assert "vegaEmbed" in (tmp_path / "demo.html").read_text()


@pytest.mark.long
@pytest.mark.parametrize("command", ["backtest", "proxies"])
def test_a_log_is_judged_without_any_extra(command: str, shop: Path, tmp_path: Path) -> None:
    task = str(shop.with_suffix(".toml"))
    done = command_without(ABSENT, command, str(shop), "--task", task, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert {"backtest": "report.html", "proxies": "proxies.json"}[command] in {path.name for path in tmp_path.iterdir()}


@pytest.mark.long
def test_the_front_door_judges_a_log_without_any_extra(shop: Path) -> None:
    log, task = str(shop), str(shop.with_suffix(".toml"))
    script = f"import presage; result = presage.backtest({log!r}, {task!r}); result._repr_html_(); print(result.best)"
    done = without(*ABSENT, script=f"{script}; print(presage.judge_proxies({log!r}, {task!r}))")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("jax", ("backtest", "LOG", "--task", "TASK", "--forecasters", "direct-network"), "networks"),
        ("jax", ("reproduce", "synthetic"), "paper"),
        ("joblib", ("tune", "github"), "paper"),
        ("apsw", ("log", "verify", "--data", "DATA"), "service"),
        ("apsw", ("serve", "--task", "TASK", "--data", "DATA"), "service"),
        ("lightgbm", ("backtest", "LOG", "--task", "TASK", "--rivals", "vw,lightgbm"), "rivals"),
        ("river", ("backtest", "LOG", "--task", "TASK", "--rivals", "river"), "rivals"),
        ("starlette", ("serve", "--task", "TASK", "--data", "DATA"), "service"),
    ],
)
def test_a_command_names_the_extra_it_misses(missing: str, arguments: tuple[str, ...], extra: str, shop: Path) -> None:
    places = {"LOG": str(shop), "TASK": str(shop.with_suffix(".toml")), "DATA": str(shop.parent / "data")}
    done = command_without({missing}, *(places.get(word, word) for word in arguments))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("presage: ")
    assert line.endswith(f": found no module named {missing}; run pip install 'presage[{extra}]'")


UNLISTED_JAX = """
import importlib.metadata
real = importlib.metadata.version
def version(name):
    if name.startswith("jax"):
        raise importlib.metadata.PackageNotFoundError(name)
    return real(name)
importlib.metadata.version = version
from presage.cli import main
main()
"""


@pytest.mark.long
@pytest.mark.parametrize(("kind", "code"), [("mixture", 0), ("residual-network", 2)])
def test_a_service_of_tables_does_without_jax(kind: str, code: int, tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "tests" / "fixtures" / "0.1.0" / kind, tmp_path / kind)
    arguments = ("log", "replay", "--data", str(folder))
    done = without("jax", "jaxlib", "scipy", script="pass\n" + UNLISTED_JAX, arguments=arguments)
    assert done.returncode == code, done.stderr
    assert ("found no module named jax; run pip install 'presage[networks]'" in done.stderr) == bool(code)


@pytest.mark.parametrize(
    ("missing", "name", "extra"),
    [
        ("jax", "direct_network", "networks"),
        ("jax", "check_forecaster", "networks"),
        ("httpx", "Client", "service"),
        ("apsw", "serve", "service"),
    ],
)
def test_a_public_name_says_which_extra_it_misses(missing: str, name: str, extra: str) -> None:
    script = f"pass\nimport presage\ntry: presage.{name}\nexcept ImportError as error: print(error)"
    done = without(missing, script=script)
    assert done.stdout.endswith(f": found no module named {missing}; run pip install 'presage[{extra}]'\n"), done.stderr


def test_any_other_missing_module_is_told_as_python_tells_it() -> None:
    done = without("numba", script="from presage.extras import extras_named\nwith extras_named():\n    import numba")
    assert "ModuleNotFoundError" in done.stderr
    assert "pip install" not in done.stderr


def test_a_missing_extra_is_also_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError) as caught:
        require("networks")
    assert isinstance(caught.value, MissingExtraError)


def test_extras_bring_the_modules_they_are_said_to() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["optional-dependencies"]
    packages = importlib.metadata.packages_distributions()
    for name, extra in EXTRAS.items():
        brought = _distributions(name, declared)
        assert {packages[module][0].replace("_", "-") for module in extra.modules} <= brought, name
    assert not _distributions("all", declared) & {_name(each) for each in project["dependencies"]}


def _distributions(extra: str, declared: dict[str, list[str]]) -> set[str]:
    """The packages of an extra, and of the extras it holds; uvicorn's standard ones have httptools."""
    found: set[str] = set()
    for each in declared[extra]:
        if each.startswith("presage["):
            found |= {name for held in each[8:-1].split(",") for name in _distributions(held, declared)}
        else:
            found |= {_name(each)} | ({"httptools"} if each.startswith("uvicorn[standard]") else set())
    return found


def _name(requirement: str) -> str:
    (name,) = re.findall(r"^[\w-]+", requirement)
    return str(name)
