"""How late feedback is, when it is equally late for every round."""

from dataclasses import dataclass

from presage.errors import DelayError


@dataclass(frozen=True)
class Delays:
    """Fixed delays in rounds: feedback of round t is seen at the end of round t + delay, after its prediction.

    >>> Delays(proxy=3, outcome=1)
    Traceback (most recent call last):
    presage.errors.DelayError: a proxy must not come after its outcome: found Delays(proxy=3, outcome=1); \
give a proxy delay of at most 1, or say when each is seen with Episode.varying
    """

    proxy: int
    outcome: int

    def __post_init__(self) -> None:
        for name in ("proxy", "outcome"):
            delay = getattr(self, name)
            if isinstance(delay, bool) or not hasattr(delay, "__index__") or delay < 0:
                raise DelayError(f"the {name} delay must be a whole number of rounds", delay, "give 0 or more")
            object.__setattr__(self, name, int(delay))
        if self.proxy > self.outcome:
            remedy = f"give a proxy delay of at most {self.outcome}, or say when each is seen with Episode.varying"
            raise DelayError("a proxy must not come after its outcome", self, remedy)
