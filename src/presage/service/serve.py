"""Serving a task: the sockets, the data folder and the application, for as long as the process serves."""

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from presage.progress import Progress, silent
from presage.service import history
from presage.service.features import check_servable
from presage.service.folders import other_revision, up_to_date
from presage.service.http import server
from presage.service.http.access import Access, called, read_origins, read_token
from presage.service.http.admission import read_network
from presage.service.http.app import create_app
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from presage.task.task import Task, load_task


def print_line(line: str) -> None:
    """Print a line on stderr."""
    sys.stderr.write(f"{line}\n")


def serve(
    task: str | Path | Task,
    data: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: str | Path | None = None,
    allowed_hosts: Iterable[str] = (),
    allowed_origins: Iterable[str] = (),
    proxies: Iterable[str] = (),
    refold: bool = False,
    say: Callable[[str], None] = print_line,
    progress: Progress = silent,
    **limits: Any,
) -> int:
    """Serve predictions over HTTP, record feedback and learn from it; returns the exit code when it stops.

    Args:
        task: The task, or its file or text.
        data: The folder for the log; created if missing.
        host: The address to listen on; without a token the service listens on this machine only.
        port: 0 picks a free port.
        token_file: A file with the token that requests must carry.
        allowed_hosts: Further host names that clients may use; "*" for any.
        allowed_origins: Origins of pages that may ask besides the service's own, such as "https://shop.example".
        proxies: Addresses, or ranges of them, from which any number of connections may come.
        refold: Whether the log is rebuilt under a new task or revision.
        say: Called with each line for the operator.
        progress: Shows how far a refold is.
        limits: The limits of `presage serve --help`, such as `clock="events"`.
    """
    settings, folder, trusted = Limits(**limits), Path(data), list(proxies)
    for each in trusted:
        read_network(each)
    with ExitStack() as held:
        grace = held.enter_context(server.Grace(settings.grace))  # the last to be left
        file = _task_file(task, held)
        loaded = load_task(file)
        check_servable(loaded)
        token = read_token(Path(token_file)) if token_file else None
        access = Access(token, called(host, allowed_hosts), read_origins(allowed_origins))
        sockets = [held.enter_context(each) for each in server.bind(host, port, access.token)]
        if refold and not up_to_date(file, folder):
            with progress("serve: events replayed", history.sent(folder)) as step:
                aside = history.refold_folder(file, folder, step)
            say(f"The log was rebuilt; the old one is in {aside}")
        with progress("reading the data folder", None):
            service = held.enter_context(_closed(open_service(file, folder, settings, _now), say))
        if old := other_revision(folder):
            say(f"Served by an older revision of the forecaster: {old}. Move to the current one with --refold.")
        for address in server.listen(sockets):
            say(f"Listening on {address}")
        say(f"Log: {_head(service)}")
        return server.serve(create_app(service, loaded, settings, access), settings, sockets, trusted, grace)


@contextmanager
def _closed(service: LiveService, say: Callable[[str], None]) -> Iterator[LiveService]:
    """The service, closed in the end; its last words name the head of its log, for comparison with a backup."""
    try:
        yield service
    finally:
        service.close()
        if why := service.failed():
            say(f"Failed: {why}")
        say(f"Stopped. Log: {_head(service)}")


def _head(service: LiveService) -> str:
    return f"{service.head.seq:,} entries, chain {service.head.chain.hex()}"


def _task_file(task: str | Path | Task, held: ExitStack) -> Path:
    """The task file; text, and the text of a task that was loaded, are put into one for as long as it is served."""
    text = task.text if isinstance(task, Task) else str(task)
    if not isinstance(task, Task) and "\n" not in text:
        return Path(text)
    file = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="presage-"))) / "task.toml"
    file.write_text(text, "utf-8")
    return file


def _now() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1000
