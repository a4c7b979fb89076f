"""A server in a process of its own, with a service in memory that fails when it is asked to by an id."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from presage.errors import BusyError, StoreFailedError, StoreFullError
from presage.journal.appender import EventResult
from presage.service.http.app import create_app
from presage.service.http.server import Grace, bind, listen, serve
from presage.service.interface import FeedbackRequest
from presage.service.limits import Limits
from tests.service.fake import FakeService, books

ROOT = Path(__file__).parent.parent.parent
ERRORS = {
    "failed": StoreFailedError("the disk does not keep what it is given", "EIO", "replace the disk"),
    "full": StoreFullError("the disk is full", "ENOSPC", "make room"),
    "busy": BusyError("too much is waiting", 1000, "send less"),
    "bug": ZeroDivisionError("a mistake of ours"),
}


class FailingService(FakeService):
    """Fails for some ids; for one it waits until a line comes on standard input."""

    async def feed(self, feedback: list[FeedbackRequest]) -> list[EventResult]:
        self.error = ERRORS.get(feedback[0].id)
        if feedback[0].id == "slow":
            await asyncio.to_thread(sys.stdin.readline)
        return await super().feed(feedback)


@contextmanager
def serving(grace: float = 60.0, *further: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the address it listens at."""
    command = [sys.executable, "-m", "tests.service.serving", str(grace), *further]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    assert process.stdout
    try:
        yield process, process.stdout.readline().strip()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def main(seconds: str, *further: str) -> int:
    """Serve until the end; with "stuck", what comes after the server takes for ever."""
    sockets = bind("127.0.0.1", 0, None)
    sys.stdout.write(f"{listen(sockets)[0]}\n")
    sys.stdout.flush()
    limits = Limits(grace=float(seconds))
    with Grace(limits.grace) as grace:
        code = serve(create_app(FailingService(books()), books()), limits, sockets, grace=grace)
        if further == ("stuck",):
            threading.Event().wait()
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
