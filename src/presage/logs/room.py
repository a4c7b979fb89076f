"""Whether a log that was read out of core fits into memory once it is arrays."""

from pathlib import Path

from presage.errors import DataError
from presage.spaces import Features

GIB = 2**30
MEMINFO = Path("/proc/meminfo")


def free_memory(meminfo: Path = MEMINFO) -> int | None:
    """The bytes that a process can still get, or None where the system does not tell."""
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    kilobytes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(kilobytes[0]) * 1024 if kilobytes else None


def check_room(name: str, rows: int, features: Features, signals: int) -> None:
    """Nothing, or the error that the arrays of so many rows would not fit into memory."""
    widest = 8  # one column of numbers is on its way while the others are there
    each = 8 + 8 + 4 * (features.slots + features.dense) + (4 + 8) * signals + widest
    free = free_memory()
    if free is not None and rows * each > free:
        wrong = f"{name} has too many rows for the memory of this machine"
        found = f"{rows:,} rows of {each} bytes make {rows * each / GIB:.1f} GiB, {free / GIB:.1f} GiB are free"
        raise DataError(wrong, found, "give a part of the log, such as fewer months, or a larger machine")
