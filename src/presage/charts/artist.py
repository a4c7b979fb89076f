"""Charts drawn in a process of its own: it loads the library of charts and the renderer while others compute."""

import importlib
import json
import sys
from collections.abc import Callable
from subprocess import PIPE, Popen
from typing import IO, Any

from presage.charts.pictures import drawn
from presage.errors import OutputError

Figure = Callable[..., Any]
"""Makes a chart from plain values; found in a module by its name."""


class Artist:
    """Draws one chart after another; to be closed."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "presage.charts.artist"]
        # A session of its own: an interrupt reaches us, and we then close it.
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, start_new_session=True)
        self._rehearsed = 0

    def __enter__(self) -> "Artist":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def rehearse(self, figure: Figure, *shown: Any) -> None:
        """Draw something similar in advance and discard it: a second drawing takes a third of the time."""
        self._ask(figure, shown)
        self._rehearsed += 1

    def draw(self, figure: Figure, *shown: Any) -> str:
        """The chart as the text of an SVG file."""
        for _ in range(self._rehearsed):  # first, so that never both sides wait to be read
            self._answer()
        self._rehearsed = 0
        self._ask(figure, shown)
        return self._answer()

    def _ask(self, figure: Figure, shown: tuple[Any, ...]) -> None:
        assert self._process.stdin
        try:
            _write(self._process.stdin, [figure.__module__, figure.__name__, shown])
        except BrokenPipeError as error:
            raise self._gone() from error

    def _answer(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise self._gone()
        return str(json.loads(line))

    def _gone(self) -> OutputError:
        return OutputError("the drawing process died", self._process.wait(), "check that enough memory is free")


def main() -> None:
    """Draw what is requested until no more requests come."""
    for line in sys.stdin.buffer:
        module, name, shown = json.loads(line)
        _write(sys.stdout.buffer, drawn(getattr(importlib.import_module(module), name), *shown))


def _write(pipe: IO[bytes], message: Any) -> None:
    pipe.write(json.dumps(message).encode() + b"\n")
    pipe.flush()


if __name__ == "__main__":
    main()
