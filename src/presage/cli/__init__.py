"""The commands: each parses, calls one library function of the same name, and prints."""

from presage.cli.entry import main

__all__ = ["main"]
