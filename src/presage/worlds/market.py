"""Markets: what the marketplace experiment is played on, real or simulated."""

from typing import NamedTuple

from presage.spaces import Array

ENGAGEMENTS = ("deleted", "zero", "one", "many")
"""What became of an acquired item, after 2 days (the proxy) and after 7 (the outcome)."""

DAYS = 21


class Market(NamedTuple):
    """How the items of a market are engaged with, and when they are acquired."""

    items: tuple[str, ...]  # [I] names
    proxies: Array  # float64 [I, 4]: p(z | item)
    outcomes: Array  # float64 [I, 4, 4]: p(y | item, z)
    launch: Array  # float64 [I, 21]: acquisitions by days since launch; zeros where the launch was not seen
    calendar: Array  # float64 [I, 21]: acquisitions on 21 days of a calendar; zeros where there were none
