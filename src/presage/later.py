"""Modules imported when they are first used: a command should not wait for what it does not need."""

import importlib
from typing import Any


class Later:
    """A module that is imported when something of it is first asked for.

    >>> Later("math").floor(2.5)
    2
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, part: str) -> Any:
        return getattr(importlib.import_module(self._name), part)
