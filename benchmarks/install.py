"""What an installation weighs, and what runs in it: the wheel in empty environments outside the repository.

Needs pip and its packages; so it runs only when it is named.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.blocks import Tell, spread
from benchmarks.figures import Figure, Target, short

ROOT = Path(__file__).parent.parent
EXTRAS = ("networks", "service", "paper", "all")
MEGABYTE = 2**20
"""As `du -m` counts."""

TABLES = """
import presage
result = presage.backtest("shop.csv", "shop.toml")
print(result, presage.judge_proxies("shop.csv", "shop.toml"))
"""
COMMANDS = (
    ("--help",),
    ("demo", "--out", "demo"),
    ("data", "simulate", "shop", "--out", "shop.csv", "--rows", "5000"),
    ("task", "init", "shop.csv", "--out", "first.toml"),
    ("task", "check", "shop.toml", "--log", "shop.csv"),
    ("proxies", "shop.csv", "--task", "shop.toml", "--out", "proxies"),
    ("backtest", "shop.csv", "--task", "shop.toml", "--out", "report"),
)
NETWORK = ("backtest", "shop.csv", "--task", "shop.toml", "--forecasters", "direct-network")


def figures(tell: Tell) -> Iterator[Figure]:
    """Megabytes of the base and of each extra; stops at the first command that does not run."""
    with tempfile.TemporaryDirectory(prefix="presage-install-") as folder:
        place = Path(folder)
        tell("install: building the wheel")
        wheel = _built(place)
        yield _megabytes("Wheel", wheel.stat().st_size / MEGABYTE)
        base = _installed(place / "base", str(wheel), tell)
        yield _megabytes("Installed: base", _weight(base), target=Target(450, at_most=True))
        for command in COMMANDS:
            _run(base, place, tell, *command)
        _python(base, place, "-c", TABLES)
        _check_refusal(base, place)
        for extra in EXTRAS:
            with_extra = _installed(place / extra, f"{wheel}[{extra}]", tell)
            more = f"{short(_weight(with_extra) - _weight(base))} more than the base"
            yield _megabytes(f"Installed: base with [{extra}]", _weight(with_extra), more)
        _run(place / "networks", place, tell, *NETWORK)


def _built(place: Path) -> Path:
    """The wheel, built from a copy: what lay in `build/` from an earlier time would get into it."""
    copy = place / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src" / "presage", copy / "src" / "presage", ignore=shutil.ignore_patterns("__pycache__"))
    _pip("wheel", "--no-deps", "--wheel-dir", str(place), str(copy))
    (wheel,) = place.glob("*.whl")
    return wheel


def _megabytes(name: str, value: float, against: str = "", target: Target | None = None) -> Figure:
    return Figure(name, spread([value]), "MB", against, target=target)


def _installed(environment: Path, what: str, tell: Tell) -> Path:
    """A new environment that holds a wheel, what it needs, and not even pip."""
    tell(f"install: {environment.name}")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    _pip("--python", str(environment / "bin" / "python"), "install", "-c", str(ROOT / "constraints.txt"), what)
    return environment


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *arguments], check=True, stdout=sys.stderr)


def _weight(environment: Path) -> float:
    """The megabytes of all files, compiled modules too."""
    return sum(path.lstat().st_size for path in (environment / "lib").rglob("*") if path.is_file()) / MEGABYTE


def _run(environment: Path, folder: Path, tell: Tell, *arguments: str) -> None:
    tell(f"install: presage {' '.join(arguments)}")
    _python(environment, folder, str(environment / "bin" / "presage"), *arguments)


def _python(environment: Path, folder: Path, *arguments: str) -> None:
    done = _started(environment, folder, *arguments)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")


def _check_refusal(environment: Path, folder: Path) -> None:
    """A network without JAX is refused in one line that names the extra."""
    done = _started(environment, folder, str(environment / "bin" / "presage"), *NETWORK)
    if done.returncode != 2 or not done.stderr.endswith("run pip install 'presage[networks]'\n"):
        raise RuntimeError(f"a network without JAX ended with {done.returncode}: {done.stderr}")


def _started(environment: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(environment / "bin" / "python"), *arguments]
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
