"""What `pip install presage` leaves out: the extras, the modules each brings, and the error that names one.

`pyproject.toml` lists the packages of each extra; a test holds the two lists together.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from presage.errors import MissingExtraError


class Extra(NamedTuple):
    """What needs an extra, in words, and the modules it brings."""

    needs: str
    modules: tuple[str, ...]


EXTRAS = {
    "networks": Extra("networks and compiled trials need JAX", ("jax",)),
    "service": Extra(
        "the service and its client need more packages",
        ("apsw", "httptools", "httpx", "prometheus_client", "starlette", "uvicorn"),
    ),
    "paper": Extra("the paper's experiments need more packages", ("jax", "joblib")),
    "rivals": Extra("rivals need more packages", ("lightgbm", "vowpalwabbit", "river", "sklearn")),
}
"""By name. A module that several bring is asked for by the first."""


def require(name: str, *modules: str) -> None:
    """Raise `MissingExtraError` unless every module of an extra can be imported, or these of its modules.

    >>> require("networks")
    >>> require("rivals", "lightgbm")
    """
    for module in modules or EXTRAS[name].modules:
        if not _installed(module):
            raise _missing(name, module)


@contextmanager
def extras_named() -> Iterator[None]:
    """Raise `MissingExtraError` instead where a module cannot be imported that an extra brings."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        for name, extra in EXTRAS.items():
            if module in extra.modules:
                raise _missing(name, module) from error
        raise


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # in `sys.modules` without a specification: switched off by a test, for example
        return False


def _missing(name: str, module: str) -> MissingExtraError:
    return MissingExtraError(EXTRAS[name].needs, module, f"run pip install 'presage[{name}]'")
