"""The walks of CONTRIBUTING.md: `python -m benchmarks walk [FOLDER]` prints the modules that data passes.

A prediction over HTTP, a row of a CSV and a trial of the paper are run by their commands in a checkout, this one or
another version's, and each module of `presage` is listed when one of its functions is first called. Left out are
reading the task, building the forecasters, printing, and what carries no data: errors, settings, imports. The loops
that numba compiles run uncompiled, or nothing would be seen of them.
"""

import contextlib
import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent

LEFT_OUT = re.compile(
    r"""presage(\.(errors | settings | spaces | progress | facade | later | extras | client | saved_states
    | cli(\.(output | entry | talk | runs | serve))? | charts(\.\w+)? | task\.(?!features|hashing)\w+
    | drivers\.(compile_time | compiling | cache | xla\.compile_cache) | forecasters\.catalogue | rivals\.named_rivals
    | service\.(limits | serve) | experiments\.(networks | report | stopwatch | \w+\.(settings | figure))
    ))?(\.__init__)?""",
    re.VERBOSE,
)
"""Modules that carry no data from where it comes to where it goes, or only read a task, settings or a clock."""

ASIDE = re.compile(
    r"<module>|on_tick|_tick|load_task|read_task|resolve_cuts|chosen_\w+|facts_of|groups_of|check_names|played_names|table_mixture"
    r"|(context_)?mixture|(direct|factored|residual|marginal)_(table|network)"
)
"""Functions that read the task, build forecasters or are called by a clock: nothing below a call of them counts."""

END = "score_log"
"""The function that scores a log: a row's walk ends where it returns."""

ROWS = 40

TABLES = "the mixture of tables"
"""Its name is not the same in all versions."""


class Walk(NamedTuple):
    """What is walked, and which forecasters do it."""

    title: str
    arguments: tuple[str, ...]


WALKS = (
    Walk("a prediction, with tables", ("prediction", "residual-table")),
    Walk("a prediction, with the default", ("prediction", "mixture")),
    Walk("a CSV row, with tables and their mixture", ("row", TABLES)),
    Walk("a CSV row, with the default", ("row", "mixture")),
    Walk("a trial of the paper", ("trial",)),
)


class Steps:
    """The modules of a package in the order in which they are first called, in any thread, while it is on."""

    def __init__(self, source: Path) -> None:
        self.on = False
        self.modules: dict[str, None] = {}
        self._source = f"{source.resolve()}{os.sep}"
        self._below = threading.local()  # calls that are open below one that does not count

    def start(self) -> None:
        """Look at every call from now on."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        if not self.on or event not in ("call", "return"):
            return
        code = frame.f_code
        if not code.co_filename.startswith(self._source):
            return
        open_calls = getattr(self._below, "count", 0)
        if event == "return" and code.co_name == END:
            self.on = False
        if ASIDE.fullmatch(code.co_name):
            self._below.count = max(open_calls + (1 if event == "call" else -1), 0)
        elif event == "call" and not open_calls:
            name = code.co_filename[len(self._source) : -len(".py")].replace(os.sep, ".")
            if not LEFT_OUT.fullmatch(name):
                self.modules.setdefault(name.removeprefix("presage."))


def report(folder: Path) -> Iterator[str]:
    """The walks of the version in a folder, as CONTRIBUTING shows them."""
    source = (folder / "src").resolve()
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "NUMBA_DISABLE_JIT": "1"}
    of_tables, walks = "mixture-of-tables", list(WALKS)
    if not (source / "presage" / "forecasters" / "contexts").exists():  # before 0.5 the default was this one
        of_tables, walks = "mixture", [walk for walk in WALKS if "the default" not in walk.title]
    for walk in walks:
        arguments = [of_tables if each == TABLES else each for each in walk.arguments]
        command = [sys.executable, "-m", "benchmarks.walk", str(source), *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        modules = json.loads(done.stdout.splitlines()[-1])
        yield f"{walk.title}: {len(modules)} modules\n"
        yield textwrap.fill(" → ".join(modules), 118, break_long_words=False, break_on_hyphens=False) + "\n"


def main(source: Path, name: str, *forecasters: str) -> list[str]:
    """The modules of one walk; nothing else goes to stdout."""
    steps = Steps(source)
    walks: dict[str, Any] = {"prediction": walk_prediction, "row": walk_row, "trial": walk_trial}
    steps.start()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        walks[name](steps, *forecasters)
    return list(steps.modules)


def walk_prediction(steps: Steps, kind: str) -> None:
    """One request, from the socket to the answer, of a service that has answered another before."""
    text = (ROOT / "examples" / "shop.toml").read_text()
    Path("shop.toml").write_text(text.replace('kind = "mixture"', f'kind = "{kind}"'))
    read_end, write_end = os.pipe()
    told = os.fdopen(read_end)

    def ask() -> None:
        listening = (re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in told)
        port = next(int(found[1]) for found in listening if found)
        for place in range(3):
            steps.on = place == 2
            body = {"id": f"loan-{place}", "features": {"title": "Emma", "genre": "love"}}
            _post(f"http://127.0.0.1:{port}/v1/predictions", body)
            steps.on = False
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=ask, daemon=True).start()
    with os.fdopen(write_end, "w", buffering=1) as lines, contextlib.redirect_stderr(lines):
        _presage("serve", "--task", "shop.toml", "--data", "data", "--port", "0")


def _post(url: str, body: dict[str, Any]) -> None:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        answer.read()


def walk_row(steps: Steps, forecasters: str) -> None:
    """The rows of a small CSV, from the file to their scores."""
    _presage("data", "simulate", "shop", "--out", "books.csv", "--rows", str(ROWS))
    steps.on = True
    _presage("backtest", "books.csv", "--task", "books.toml", "--forecasters", forecasters)
    steps.on = False


def walk_trial(steps: Steps) -> None:
    """Two trials on the embedded world, from its commits to the claims."""
    steps.on = True
    _presage("reproduce", "github", "--trials", "2", "--set", "weeks=6", "--set", "round_minutes=60")
    steps.on = False


def _presage(*arguments: str) -> None:
    """Run a command as its process would."""
    sys.argv = ["presage", *arguments]
    try:
        cli: Any = importlib.import_module("presage.cli")
        cli.main()
    except SystemExit as end:
        if end.code not in (0, None):
            raise


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), *sys.argv[2:])))
