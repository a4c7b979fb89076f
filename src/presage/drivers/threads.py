"""Work spread over the cores of a machine, by threads: what is compiled does not hold them up."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")

_here = local()


def core_count() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_cores(work: Callable[[Item], Done], items: Iterable[Item]) -> list[Done]:
    """What `work` gives for each item, in order; an interrupt waits only for what is being worked on.

    Work that is itself spread over the cores keeps to its own.
    """
    if getattr(_here, "busy", False):
        return [work(item) for item in items]
    with ThreadPoolExecutor(core_count(), initializer=_begin) as threads:
        try:
            return list(threads.map(work, items))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise


def _begin() -> None:
    _here.busy = True
