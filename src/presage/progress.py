"""Progress of long work: library functions report it, and their callers decide how to show it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Step = Callable[[int], None]
"""Given how many more steps are done."""

Progress = Callable[[str, int | None], AbstractContextManager[Step]]
"""Given what goes on and its number of steps (None: not known); gives, for that long, what advances it."""


@contextmanager
def silent(what: str, steps: int | None) -> Iterator[Step]:  # noqa: ARG001
    """Shows nothing."""
    yield lambda _: None
