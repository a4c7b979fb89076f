"""`presage serve`: predictions over HTTP, and learning from what comes back."""

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click

from presage.cli.output import console, progress_bar
from presage.service.folders import other_revision, up_to_date
from presage.service.http.access import Access, called, read_token
from presage.service.http.app import create_app
from presage.service.http.server import bind, listen, serve
from presage.service.limits import Limits, limits
from presage.task.task import load_task

PATH = click.Path(path_type=Path)


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with an option for each limit of the service."""
    for limit in reversed(limits()):
        flag = f"--{limit.name.replace('_', '-')}"
        command = click.option(
            flag, limit.name, type=limit.kind, default=limit.default, show_default=True, help=f"{limit.about}."
        )(command)
    return command


@click.command("serve", epilog="Example: presage serve --task shop.toml --data shop-data")
@click.option("--task", "task_file", type=PATH, required=True, help="What is predicted, from which features.")
@click.option(
    "--data", "folder", type=PATH, required=True, help="The folder that keeps the log; made if there is none."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any that is free.")
@click.option(
    "--token-file", type=PATH, help="A file with the token that requests must carry; needed off the loopback."
)
@click.option("--allowed-host", "names", multiple=True, help="A further name it is called by; '*' for any.")
@click.option("--refold", is_flag=True, help="Rebuild the log under the new task or revision.")
@limit_options
def serve_command(task_file: Path, folder: Path, host: str, port: int, **options: Any) -> int:
    """Answer predictions over HTTP, keep what comes back, and learn from it.

    Without a token only this machine is served. It stops on SIGTERM (exit code 0) or an interrupt (130), after the
    requests under way; it ends with 3 if the disk can no longer be trusted.
    """
    from presage.service.opening import open_service  # noqa: PLC0415

    token_file, names, refold = (options.pop(name) for name in ("token_file", "names", "refold"))
    settings = Limits(**options)
    task = load_task(task_file)
    access = Access(read_token(token_file) if token_file else None, called(host, names))
    with ExitStack() as held:
        sockets = [held.enter_context(each) for each in bind(host, port, access.token)]
        if refold and not up_to_date(task_file, folder):
            _refold(task_file, folder)
        with console.status("taking up what is in the data folder"):
            service = held.enter_context(closing(open_service(task_file, folder, settings, _now)))
        if old := other_revision(folder):
            line = f"Served by an older revision of the forecaster: {old}. Move to the current one with --refold."
            console.print(line, markup=False, soft_wrap=True)
        for address in listen(sockets):
            console.print(f"Listening on {address}", markup=False, soft_wrap=True)
        return serve(create_app(service, task, settings, access), settings, sockets)


def _refold(task_file: Path, folder: Path) -> None:
    from presage.service import history  # noqa: PLC0415

    with progress_bar("serve: events lived through again", history.sent(folder)) as progress:
        aside = history.refold_folder(task_file, folder, progress)
    console.print(f"The log is folded anew; the old one is kept in {aside}", markup=False, soft_wrap=True)


def _now() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1000
