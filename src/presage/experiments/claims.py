"""Claims: sentences about results that can be false, with what was measured."""

from typing import NamedTuple


class Claim(NamedTuple):
    """One claim of the paper, or of ours, and whether it holds."""

    id: str
    text: str
    holds: bool
    measured: str
