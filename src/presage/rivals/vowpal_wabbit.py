"""Vowpal Wabbit as a rival: one logistic regression for each outcome against the rest, one pass."""

import math

import numpy as np

from presage.extras import extras_named
from presage.progress import Step
from presage.rivals.online_learners import BINS, Describe, OnlineLearner, number_terms, play_online
from presage.rivals.rival import Rival, RivalLog, TimedSignal, check_name
from presage.spaces import Array

ARGUMENTS = "--loss_function logistic"

BITS = 18, 26
"""The fewest and the most bits of the table of weights. If it holds all feature values, none share a weight."""


def vw(*, arguments: str = ARGUMENTS, factored: bool = False, name: str | None = None) -> Rival:
    """Vowpal Wabbit with `--oaa K --probabilities`, which learns each row as soon as its feedback is known.

    Args:
        arguments: Others of its command line; "--loss_function logistic -q :: -l 0.2" adds pairs of features.
        factored: Whether one model learns h(z|x) from known proxies and another g(y|x,z) from known outcomes.
        name: What tables call it.

    >>> vw().name
    'vw'
    """

    def play(log: RivalLog, step: Step) -> Array:
        with extras_named():
            from vowpalwabbit import Workspace  # noqa: PLC0415 an extra

        describe, bits = _lines(log), _bits(log, factored)
        opened = []

        def make(signal: TimedSignal) -> OnlineLearner:
            learner = Workspace(
                f"--oaa {signal.size} --probabilities --quiet -b {bits} --random_seed {log.seed} {arguments}"
            )
            opened.append(learner)
            return OnlineLearner(
                signal, lambda line, label: learner.learn(f"{label + 1} {line}"), learner.predict, describe
            )

        try:
            return play_online(log, step, make, describe, factored=factored)
        finally:
            for learner in opened:
                learner.finish()

    return Rival(check_name(("vw-factored" if factored else "vw") if name is None else name), play)


def _width(log: RivalLog) -> int:
    """How many numbers name the values of all features."""
    features = log.spaces.features
    return sum(features.symbols) + sum(each.size for each in features.sets) + (sum(BINS) + 1) * features.dense


def _bits(log: RivalLog, factored: bool) -> int:
    values = (_width(log) + 1) * (log.spaces.proxies + 1 if factored else 1)
    return min(max(math.ceil(math.log2(values + 1)) + 1, BITS[0]), BITS[1])


def _lines(log: RivalLog) -> Describe:
    """The line that describes a row: feature values by number, which are their places in the table of weights.

    A proxy is one more value, and one of each pair with another.
    """
    features, width = log.spaces.features, _width(log)
    symbols = log.episode.x.symbols.tolist()
    bins, standard = (each.tolist() for each in number_terms(log.episode.x.dense))
    sizes = [*features.symbols, *(each.size for each in features.sets)]
    begins = [1 + sum(sizes[:place]) for place in range(len(sizes))]
    offsets = begins[: len(features.symbols)]
    for place, (_, slots) in enumerate(features.sets, len(features.symbols)):
        offsets += [begins[place]] * slots
    numbers = 1 + sum(sizes)
    firsts = (numbers + features.dense + np.cumsum([0, *np.repeat(BINS, features.dense)])[:-1]).tolist()

    def named(row: int, begin: int) -> list[str]:
        words = [str(begin + offset + value) for offset, value in zip(offsets, symbols[row], strict=True) if value >= 0]
        words += [str(begin + first + value) for first, value in zip(firsts, bins[row], strict=True)]
        return words + [f"{begin + numbers + place}:{value:.9g}" for place, value in enumerate(standard[row])]

    def describe(row: int, z: int | None) -> str:
        words = named(row, 0)
        if z is not None:
            begin = (z + 1) * (width + 1)
            words += [str(begin), *named(row, begin)]
        return f"| {' '.join(words)}"

    return describe
