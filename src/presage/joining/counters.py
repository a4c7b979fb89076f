"""The bins of the log, counted: every entry but LEARN and notes is in exactly one, and they add up to the log."""

from functools import lru_cache
from typing import NamedTuple

from presage.joining.join import Bin, Known, prediction_bin


class Bins(NamedTuple):
    """How many entries are in each bin."""

    open: int = 0
    parked: int = 0
    trained: int = 0
    absent: int = 0
    late: int = 0
    quarantined: int = 0


def bins_of(known: Known) -> Bins:
    """The bins of all entries that name an id.

    >>> bins_of(Known(predicted=1, proxy_bin=Bin.LATE))
    Bins(open=1, parked=0, trained=0, absent=1, late=1, quarantined=0)
    """
    return _bins_of(bool(known.predicted), known.proxy_bin, known.outcome_bin)


@lru_cache(maxsize=128)
def _bins_of(is_predicted: bool, proxy: Bin, outcome: Bin) -> Bins:
    found = [prediction_bin(Known(proxy_bin=proxy, outcome_bin=outcome))] if is_predicted else []
    for bin in (proxy, outcome):
        if bin is Bin.LATE:
            found.append(Bin.ABSENT)  # that it did not come was decided first
        if bin is not Bin.NONE:
            found.append(bin)
    return Bins(*(found.count(Bin[name.upper()]) for name in Bins._fields))


class Counters(NamedTuple):
    """Counts of the entries of the log, and of its lessons; stored with it, and counted again by `verify`."""

    bins: Bins = Bins()
    predictions: int = 0
    learns: int = 0  # LEARN entries
    proxies: int = 0  # lessons
    outcomes: int = 0
    learnt_proxies: int = 0  # by the last LEARN entry
    learnt_outcomes: int = 0
    learn: int = 0  # seq of the last LEARN entry
    used: int = 0  # how many predictions its parameters made
    notes: int = 0  # entries about the log itself; none in format 1

    @property
    def entries(self) -> int:
        """The length of the log."""
        return sum(self.bins) + self.learns + self.notes

    @property
    def waiting(self) -> int:
        """How many lessons the learner has not learned yet."""
        return self.proxies + self.outcomes - self.learnt_proxies - self.learnt_outcomes
