"""The command line: data to stdout, everything else to stderr, one-line errors, exit codes that scripts can use.

Exit codes: 0 done, 1 a claim does not hold (with --check), 2 bad input, 130 interrupted.
"""

import importlib
import sys
from importlib.metadata import version

import click

from presage.errors import PresageError
from presage.extras import require

COMMANDS = {  # name: where it is, and what it is for
    "backtest": ("presage.cli.backtest:backtest", "Replay your own log and score forecasters on it."),
    "data": ("presage.cli.data:data", "Make tables for the experiments from your own data, or simulate a log."),
    "demo": ("presage.cli.demo:demo", "Simulate an ebook shop and forecast who will finish the book."),
    "fit": ("presage.cli.predict:fit_command", "Learn your own log and keep the model."),
    "log": ("presage.cli.log:log", "Check, replay, export or import the log of a service."),
    "predict": ("presage.cli.predict:predict_command", "Score new rows with what your own log teaches."),
    "proxies": ("presage.cli.proxies:proxies", "Judge early signs on your own log: which to use, and how."),
    "reproduce": ("presage.cli.reproduce:reproduce", "Reproduce figures of the paper and say which claims hold."),
    "serve": ("presage.cli.serve:serve_command", "Serve predictions over HTTP and learn from feedback."),
    "task": ("presage.cli.task:task", "Write or check the file that describes your problem."),
    "tune": ("presage.cli.tune:tune_command", "Search for settings of an experiment, as the paper did."),
}

EXTRA_NEEDED = {"log": "service", "reproduce": "paper", "serve": "service", "tune": "paper"}


class Commands(click.Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """One of them."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in EXTRA_NEEDED:
            require(EXTRA_NEEDED[cmd_name])
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """What each is for."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog="Try: presage demo")
@click.version_option(version("presage"))
def cli() -> None:
    """Presage predicts slow outcomes from early signs."""


def main() -> None:
    """Run a command; errors end in one line on stderr."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except KeyboardInterrupt:
        code = 130
    except click.ClickException as error:
        click.echo(f"presage: {error.format_message()}", err=True)
        code = 2
    except PresageError as error:
        click.echo(f"presage: {error}", err=True)
        code = 2
    except MemoryError:
        click.echo("presage: there is not enough memory; give a part of the log, or a larger machine", err=True)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)
