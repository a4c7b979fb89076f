"""The tutorial: its commands run one after the other, and print what the page shows."""

import json
import re
import shlex
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from presage.cli import output
from tests.cli.typed import Presage
from tests.service.test_serve import Process

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(console|toml)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
UNSTEADY = re.compile(r"\d+\.\d s\b|state [0-9a-f]{32}")
"""What another machine may print otherwise: seconds, and a hash of floats to the last bit."""
REQUEST = re.compile(r"^```sh\ncurl .*-d '\n(.*?)'\n```\n\n```json\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def retold(page: str, run: Callable[[str], str], folder: Path) -> str:
    """The page with the outputs that its commands give; task files on it are written in between."""

    def block(found: re.Match[str]) -> str:
        kind, text = found[1], found[2]
        if kind == "toml":
            (folder / "books.toml").write_text(text)
            return found[0]
        commands = [line for line in text.splitlines() if line.startswith("$ ")]
        said = "".join(f"{command}\n{_tidy(run(command[2:]))}" for command in commands)
        return f"```console\n{said}```\n"

    return BLOCK.sub(block, page)


def _tidy(output: str) -> str:
    """Without empty lines at the ends and blanks at the ends of lines."""
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    while lines and not lines[0]:
        lines.pop(0)
    return "".join(f"{line}\n" for line in lines)


def typed(presage: Presage) -> Callable[[str], str]:
    """What runs a line of the page."""

    def run(command: str) -> str:
        first, *words = shlex.split(command)
        if first != "presage":
            done = subprocess.run([first, *words], check=True, capture_output=True, text=True)
            return done.stdout
        said = presage(*words)
        assert said.code == 0, said.err
        return said.out + said.err.lstrip("\n")

    return run


@pytest.mark.long
def test_every_command_of_the_tutorial_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(output, "results", Console(width=80, force_terminal=True, color_system=None, highlight=False))
    page = PAGE.read_text()
    told = retold(page, typed(Presage(monkeypatch, capsys)), tmp_path)
    assert UNSTEADY.sub("something", told) == UNSTEADY.sub("something", page)
    assert page.count("\n$ presage ") == 6
    report = (tmp_path / "result" / "report.html").read_text()
    assert "<html" in report
    assert (tmp_path / "result" / "backtest.json").exists()
    _the_service_answers_as_the_page_says(tmp_path, page)


def _the_service_answers_as_the_page_says(folder: Path, page: str) -> None:
    """The task file and the data folder of the tutorial are served as they are."""
    (asked, shown), *others = REQUEST.findall(page)
    assert not others
    process = Process(folder)
    answer = httpx.post(f"{process.url}/v1/predictions", json=json.loads(asked), trust_env=False, timeout=60).json()
    assert process.end(signal.SIGTERM) == 0
    expected = json.loads(shown)
    probabilities = expected.pop("probabilities")
    assert answer.pop("probabilities") == pytest.approx(probabilities, abs=1e-3)
    assert answer == expected


def test_an_output_that_is_not_what_a_command_prints_is_noticed(tmp_path: Path) -> None:
    page = "```console\n$ say it\nold\n```\n"
    assert retold(page, lambda command: "\n\nnew  \n", tmp_path) == "```console\n$ say it\nnew\n```\n"
