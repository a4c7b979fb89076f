"""`presage serve`: predictions over HTTP, and learning from feedback."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from presage.cli.output import console, show_progress
from presage.service.limits import limits

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
@click.option("--task", "task_file", type=PATH, required=True, help="The task file: what is predicted, from what.")
@click.option("--data", "folder", type=PATH, required=True, help="The folder for the log; created if missing.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 picks a free port.")
@click.option(
    "--token-file",
    type=PATH,
    help="A file with the token that requests must carry. Required unless listening on localhost.",
)
@click.option("--allowed-host", "names", multiple=True, help="Another host name that clients use; '*' for any.")
@click.option(
    "--allow-origin",
    "allowed_origins",
    multiple=True,
    help="The origin of pages that may ask besides the service's own, if a proxy changes the host name.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    help="The address of a proxy in front of the service, or a range; any number of connections may come from it.",
)
@click.option("--model", type=PATH, help="Start a new folder from a saved model: imports its log.")
@click.option("--refold", is_flag=True, help="Rebuild the log under the new task or revision.")
@limit_options
def serve_command(task_file: Path, folder: Path, host: str, port: int, *, model: Path | None, **options: Any) -> int:
    """Serve predictions over HTTP, record feedback, and learn from it.

    Without a token it listens on this machine only. On SIGTERM (exit code 0) or an interrupt (130) it finishes the
    current requests and stops; it exits with 3 if the disk can no longer be trusted, or
    if learners end again and again.
    """
    from presage.service.serve import serve  # noqa: PLC0415 help does not wait for it

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    options["allowed_hosts"] = options.pop("names")
    if model:
        from presage.fitting.warm_start import import_model  # noqa: PLC0415

        made = import_model(model, task_file, folder, progress=show_progress)
        say(f"Began with the model's log: {made.entries:,} entries, state {made.state} at position {made.position:,}.")
    return serve(task_file, folder, host=host, port=port, say=say, progress=show_progress, **options)
