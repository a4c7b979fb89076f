"""A figure: one measurement, what it is compared with, and whether it reaches its target."""

from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.blocks import Spread


@dataclass(frozen=True)
class Target:
    """What a ratio has to reach; `aim` is what we would like it to."""

    bound: float
    aim: float | None = None
    at_most: bool = False

    def verdict(self, value: float) -> str:
        """The target in words, and whether it is met."""
        sign = "<=" if self.at_most else ">="
        met = value <= self.bound if self.at_most else value >= self.bound
        missed = "above" if self.at_most else "below"
        found = "ok" if met else missed
        if value <= 0:  # a difference of two timings lost in the noise proves nothing
            found = "unclear"
        aim = f", aim {short(self.aim)}" if self.aim is not None else ""
        return f"target {sign} {short(self.bound)}{aim}: {found}"


@dataclass(frozen=True)
class Figure:
    """A line of results. The target is that of the ratio where there is one, otherwise of the value."""

    name: str
    value: Spread
    unit: str
    against: str = ""
    ratio: Spread | None = None
    target: Target | None = None

    def line(self) -> str:
        """The figure as an aligned line."""
        value = f"{self.name:<36} {short(self.value.median):>9} {self.unit:<10} {_range(self.value):<20}"
        ratio = f"{short(self.ratio.median):>5} x {_range(self.ratio):<14}" if self.ratio else " " * 22
        return f"{value} {ratio} {self.against:<66} {self.verdict()}".rstrip()

    def verdict(self) -> str:
        """Whether the target is met, in words; nothing without one."""
        return self.target.verdict((self.ratio or self.value).median) if self.target else ""

    def record(self) -> dict[str, Any]:
        """The figure for a JSON file."""
        parts = {"value": self.value._asdict(), "ratio": self.ratio._asdict() if self.ratio else None}
        return asdict(self) | parts | {"verdict": self.verdict()}


HEADER = f"{'name':<36} {'value':>9} {'unit':<10} {'(least..most)':<20} {'ratio (least..most)':<22} against"


def short(value: float) -> str:
    """Three digits, or whole thousands."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _range(values: Spread) -> str:
    return f"({short(values.least)}..{short(values.most)})"
