"""How often each fault is tried: the ordinary tier, or the release tier with PRESAGE_FAULTS=release.

PRESAGE_FAULTS_KILLS=100 and the like set a single count.
"""

import os
from typing import NamedTuple


class Counts(NamedTuple):
    kills: int  # kill -9 under load
    points: int  # kills at chosen system calls
    cuts: int  # power cuts on each file system
    errors: int  # errors of chosen system calls
    flips: int  # bits flipped and files cut short, of each kind of file
    flood: int  # events
    examples: int  # of the state machine
    steps: int  # of each
    learners: int  # killed or stopped under load


TIERS = {
    "": Counts(kills=40, points=300, cuts=10, errors=20, flips=200, flood=100_000, examples=200, steps=50, learners=6),
    "release": Counts(
        kills=1000,
        points=2000,
        cuts=300,
        errors=150,
        flips=1000,
        flood=1_000_000,
        examples=2000,
        steps=60,
        learners=100,
    ),
}


def counts() -> Counts:
    tier = TIERS[os.environ.get("PRESAGE_FAULTS", "")]
    given = {name: os.environ.get(f"PRESAGE_FAULTS_{name.upper()}") for name in Counts._fields}
    return tier._replace(**{name: int(value) for name, value in given.items() if value})


COUNTS = counts()
