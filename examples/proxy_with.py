"""What features that belong to the proxy gain and cost, in a world with a known truth: `python -m examples.proxy_with`.

Titles have a length, and what is read of one within a day means something else for each length, or the same for all.
Printed is the regret over each trial, and by how much `with` changes it, with a 95 % interval over paired trials.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from presage import Delays, Forecaster, Spaces, factored_table, residual_table
from presage.drivers.counting.episodes import count_experts
from presage.metrics.special import student_975
from presage.spaces import Array
from presage.worlds import LengthWorld

TRIALS, ROUNDS, DELAYS, MIX = 60, 2000, Delays(0, 200), 0.5
SHRUNK = 10.0

FORECASTERS: dict[str, Callable[[Spaces], Forecaster]] = {
    "factored": factored_table,
    "factored, shrunk": partial(factored_table, shrinkage=SHRUNK),
    "residual": partial(residual_table, shrinkage=SHRUNK),
}
HEAD = "| the length | lengths | forecaster | regret | with the length | change |\n|---|---|---|---|---|---|"


def lines() -> Iterator[str]:
    """The rows of the table."""
    for told, words in ((2.0, "matters"), (0.0, "is useless")):
        for lengths in (2, 5, 10):
            world = LengthWorld(lengths=lengths, told=told)
            dealt = world.deal(TRIALS, ROUNDS, DELAYS, MIX, seed=0)
            for name, make in FORECASTERS.items():
                spaces = world.spaces, replace(world.spaces, proxy_with=(1,))
                plain, with_it = (
                    (count_experts(make(each), dealt.episode).own - dealt.true_loss).sum(axis=1) for each in spaces
                )
                yield (
                    f"| {words} | {lengths} | {name} | {plain.mean():.0f} | {with_it.mean():.0f} | "
                    f"{interval(with_it - plain)} |"
                )


def interval(changes: Array) -> str:
    """The mean change over trials and its 95 % interval.

    >>> interval(np.array([-1.0, 1.0, -1.0, 1.0]))
    '+0.0 (-1.8 to +1.8)'
    """
    mean = float(changes.mean())
    half = float(student_975(len(changes) - 1) * changes.std(ddof=1) / np.sqrt(len(changes)))
    return f"{mean:+.1f} ({mean - half:+.1f} to {mean + half:+.1f})"


if __name__ == "__main__":
    print(HEAD)
    for line in lines():
        print(line, flush=True)
