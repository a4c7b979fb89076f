"""Facades: packages whose public names are imported when first asked for, because most users need few of them."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from presage.extras import extras_named


def facade(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package; `homes` says which module defines each name.

    >>> get, names = facade("mathematics", {"floor": "math"})
    >>> get("floor")(2.5), names()
    (2, ['floor'])
    >>> get("roof")
    Traceback (most recent call last):
    AttributeError: module 'mathematics' has no attribute 'roof'
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with extras_named():
            return getattr(importlib.import_module(homes[name]), name)

    return get, lambda: sorted(homes)
