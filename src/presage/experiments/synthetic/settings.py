"""Settings of the synthetic experiment, as the appendix of the paper gives them."""

from dataclasses import dataclass

from presage.errors import SettingError
from presage.settings import share, whole


@dataclass(frozen=True)
class SyntheticSettings:
    """What is played; the growth of regret is measured at each of `delays` and of `sizes`, the rest as given.

    `growth_rounds` is the length of every episode of the second figure: the longest adversarial schedule must fit,
    so that regret grows because delay and instances do, not because there are more rounds. `scales` multiply
    `scaled_delay` and `scaled_instances` together, in episodes of `scaled_rounds` rounds for each instance: the bounds
    have a factor ln(T/N), which would bend the growth if T stayed as it is while N grows.
    """

    trials: int = 200
    seed: int = 0
    rounds: int = 1000
    delay: int = 100
    proxy_delay: int = 0
    instances: int = 10
    proxies: int = 4
    outcomes: int = 5
    noise: float = 0.1  # the paper does not give it
    mixes: int = 21  # from 0, adversarial, to 1, uniform
    useful: tuple[float, ...] = (1.0, 0.75, 0.0)
    delays: tuple[int, ...] = (25, 50, 100, 200, 400)
    sizes: tuple[int, ...] = (3, 5, 10, 20, 40)
    growth_rounds: int = 4000
    scales: tuple[int, ...] = (1, 2, 4, 8)
    scaled_delay: int = 25
    scaled_instances: int = 5
    scaled_rounds: int = 400

    def __post_init__(self) -> None:
        for name in ("rounds", "delay", "instances", "proxies", "outcomes", "growth_rounds"):
            whole(name, getattr(self, name))
        for name in ("scaled_delay", "scaled_instances", "scaled_rounds"):
            whole(name, getattr(self, name))
        whole("trials", self.trials, 2)
        whole("mixes", self.mixes, 2)
        whole("seed", self.seed, 0)
        whole("proxy_delay", self.proxy_delay, 0)
        for name, value in (("noise", self.noise), *(("useful", value) for value in self.useful)):
            share(name, value)
        longest = max(*self.delays, self.delay) * self.instances, max(*self.sizes, self.instances) * self.delay
        if self.growth_rounds < max(longest):
            remedy = f"give at least {max(longest)} rounds"
            raise SettingError("growth_rounds is too short for the adversarial schedule", self.growth_rounds, remedy)
        if len(set(self.scales)) < 2 or min(self.scales) < 1:
            raise SettingError("growth needs two scales or more, from 1 up", self.scales, "give scales=1,2,4,8")
        most = max(self.scales) * self.scaled_delay
        if self.scaled_rounds < most:
            remedy = f"give at least {most} rounds for each instance"
            raise SettingError("scaled_rounds is too short for the adversarial schedule", self.scaled_rounds, remedy)


PAPER = SyntheticSettings()
SMOKE = SyntheticSettings(
    trials=12, rounds=200, delay=20, mixes=5, delays=(10, 20), sizes=(5, 10), growth_rounds=200,
    scales=(1, 2), scaled_delay=10, scaled_instances=5, scaled_rounds=40,
)  # fmt: skip
