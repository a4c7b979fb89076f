"""Power cuts: a file system that loses at once whatever was not synced. `python -m tests.faults.power --help`"""

import argparse
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tests.faults.load import ended_again_and_again

GOING_DOWN = 0x8004587D
"""The request, of ext4 and XFS alike, to stop serving."""

WITHOUT_FLUSHING = 2
"""Not even the journal is written."""

SIZES = {"ext4": 64, "xfs": 320}
"""Megabytes; XFS takes no less than 300."""

OPTIONS = {"ext4": ["-q", "-F"], "xfs": ["-q", "-f"]}


class Disk:
    """A file system in a file, mounted on a folder."""

    def __init__(self, kind: str, place: Path) -> None:
        self.kind, self.image, self.folder = kind, place / f"{kind}.image", place / kind
        with self.image.open("wb") as file:
            file.truncate(SIZES[kind] << 20)
        _do(f"mkfs.{kind}", *OPTIONS[kind], self.image)
        self.folder.mkdir(exist_ok=True)
        self.mount()

    def mount(self) -> None:
        """Put it in place; what its journal holds is brought back first."""
        _do("mount", "-o", "loop", self.image, self.folder)

    def unmount(self) -> None:
        """Take it away, as soon as nobody is in it."""
        for _ in range(100):
            if subprocess.run(["umount", self.folder], capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.05)
        _do("umount", self.folder)

    def cut(self) -> None:
        """Cut the power: from here on every call fails, and what was not synced is gone."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, GOING_DOWN, struct.pack("I", WITHOUT_FLUSHING))
        finally:
            os.close(folder)

    def restart(self) -> None:
        """Give the power back."""
        self.unmount()
        self.mount()


@contextmanager
def disk(kind: str, place: Path) -> Iterator[Disk]:
    """A file system for as long as it is needed."""
    made = Disk(kind, place)
    try:
        yield made
    finally:
        made.unmount()
        made.image.unlink()


@cache
def cannot(kind: str) -> str:
    """Why there can be no power cuts on a kind of file system here; empty if there can be."""
    if os.geteuid():
        return "power cuts need root"
    if not shutil.which(f"mkfs.{kind}"):
        return f"power cuts need mkfs.{kind}"
    with TemporaryDirectory() as place:
        try:
            with disk(kind, Path(place)) as tried:
                tried.cut()
        except (OSError, subprocess.CalledProcessError) as error:
            return f"power cuts on {kind} are not possible here ({error})"
    return ""


def cut_soon(random: Random, disk: Disk, longest: float) -> Callable[[int], None]:
    """What cuts the power of a service at a random instant."""

    def end(process: int) -> None:
        time.sleep(0.02 + random.random() * longest)
        disk.cut()
        time.sleep(0.01)  # it may notice, or not
        os.kill(process, signal.SIGKILL)
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        disk.restart()

    return end


def cut_again_and_again(kind: str, place: Path, cuts: int, seed: int, bug: str = "") -> dict[str, Any]:
    """What was found after each cut; the ledger is on another disk."""
    with disk(kind, place) as made:
        return ended_again_and_again(
            place, cuts, seed, lambda random: cut_soon(random, made, 0.3), bug=bug, logs=made.folder
        )


def _do(*command: object) -> None:
    subprocess.run([str(part) for part in command], capture_output=True, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.power", description="power cuts under load")
    parser.add_argument("kind", choices=list(SIZES))
    parser.add_argument("place", type=Path, help="a folder for the file system and the ledgers")
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bug", default="", help="a bug to plant")
    given = parser.parse_args()
    found = cut_again_and_again(given.kind, given.place, given.cuts, given.seed, given.bug)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
