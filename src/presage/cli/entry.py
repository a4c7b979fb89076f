"""The command line: data to stdout, talk to stderr, one-line errors, exit codes that scripts can use.

Exit codes: 0 done, 1 a claim does not hold (with --check), 2 bad input, 130 interrupted.
"""

import sys
from importlib.metadata import version

import click

from presage.cli.data import data
from presage.cli.demo import demo
from presage.cli.reproduce import reproduce
from presage.cli.tune import tune_command
from presage.errors import PresageError


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog="Try: presage demo")
@click.version_option(version("presage"))
def cli() -> None:
    """Presage predicts slow outcomes from early signs."""


cli.add_command(data)
cli.add_command(demo)
cli.add_command(reproduce)
cli.add_command(tune_command)


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
    sys.exit(code if isinstance(code, int) else 0)
