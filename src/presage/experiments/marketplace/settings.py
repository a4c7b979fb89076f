"""Settings of the marketplace experiment: the paper's, and those tuned for the data we have."""

from dataclasses import dataclass, replace

from presage.errors import SettingError
from presage.experiments.networks import NetworkSettings
from presage.settings import whole
from presage.worlds.marketplace import DAYS


@dataclass(frozen=True)
class MarketplaceRunSettings(NetworkSettings):
    """What is acquired when, and how the networks learn (the fields of `NetworkSettings`).

    In the Staggered schedule `items_a_day` new items come each noon for `days` - 1 days, and each is acquired by its
    own launch curve; in the Uniform one `items` items are acquired as on the days of a calendar.
    """

    hidden: tuple[int, ...] = (20, 10)
    proxy_rate: float = 0.1
    buffer: int = 3000
    start: int = 500
    every: int = 1000
    steps: int = 20
    oracle_steps: int = 40_000
    days: int = DAYS
    items: int = 100
    items_a_day: int = 5
    round_seconds: int = 40
    proxy_days: int = 2
    outcome_days: int = 7

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("items", "items_a_day", "round_seconds", "proxy_days", "outcome_days"):
            whole(name, getattr(self, name))
        whole("days", self.days, 2)
        if self.days > DAYS:
            raise SettingError("the market data cover fewer days", self.days, f"give at most {DAYS} days")
        if 24 * 60 * 60 % (24 * self.round_seconds):
            remedy = "give seconds that divide an hour, such as 40"
            raise SettingError("an hour must be a whole number of rounds", self.round_seconds, remedy)
        if not self.proxy_days <= self.outcome_days < self.days:
            found = (self.proxy_days, self.outcome_days, self.days)
            wrong = "proxies must come before outcomes, and both within the days"
            raise SettingError(wrong, found, "shorten the delays")

    @property
    def rounds_a_day(self) -> int:
        """How many acquisitions there are in a day."""
        return 24 * 60 * 60 // self.round_seconds

    @property
    def launches(self) -> int:
        """How many items the Staggered schedule brings."""
        return self.items_a_day * (self.days - 1)


PAPER = MarketplaceRunSettings()
TUNED = replace(
    PAPER, learning_rate=1.0, l2=1e-5, proxy_rate=3.84, h_hidden=(80,), h_rate=0.847, h_l2=5.4e-6, residual_rate=0.247
)
"""The winner of the search that docs/tuning-marketplace.json records."""
SMOKE = replace(
    TUNED, trials=4, days=4, items=12, items_a_day=4, round_seconds=600, proxy_days=1, outcome_days=2, buffer=60,
    start=16, every=20, steps=4, batch=16, oracle_steps=100,
)  # fmt: skip
