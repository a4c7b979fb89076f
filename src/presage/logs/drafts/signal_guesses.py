"""Which columns of a log are probably its proxies and its outcome, how they say when they were known, and how late."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from presage.logs.drafts.column_looks import TIME_WORDS, ColumnLook, LogLook, name_words
from presage.logs.drafts.row_ages import DAY, settles_after
from presage.logs.tables import quoted

SHOWN = (
    "shown_at", "predicted_at", "at", "timestamp", "ts", "time", "date", "datetime", "created_at", "created_on",
    "created", "event_time", "order_date", "ordered_at", "ordered_on", "placed_at", "started_at", "opened_at",
    "signup_at", "signup_date", "signed_up_at", "booked_at", "booking_date", "start_date", "start_time", "sent_at",
)  # fmt: skip
OUTCOMES = (
    "outcome", "label", "target", "y", "churn", "churned", "convert", "converted", "conversion", "paid", "finished",
    "completed", "returned", "refunded", "cancelled", "canceled", "purchased", "bought", "sold", "won", "retained",
    "renewed", "reopened", "defaulted", "default", "resolved", "success", "result",
)  # fmt: skip
STATES = ("status", "state", "stage", "phase")
"""Columns that change later: an outcome only if there is no other."""

EARLY_SIGNS = ("proxy", "early", "click", "clicked", "opened", "viewed", "engaged", "activated", "replied")

AGE = re.compile(r"(w|d|m|wk|day|week|month)(\d+)|first")
"""A word of a column that was filled some time after the prediction, such as day3, w1 or first."""

MOST_EMPTY = 0.01
"""The least share of empty rows of a column of times that are a time of success, and not one that every row has."""

HOLDS = 0.95
"""The share of the delays seen that a horizon holds."""

NUMERIC = 5
"""Different numbers from which on a signal is one that must be cut."""

TYPICAL = 0.8
"""The share of the successes seen that a horizon for them holds: the rest are those that would stretch it."""

NEARLY_ALL = 0.98
"""The share of old rows in which something happened, from which on whether it will is no question."""


class SignalGuess(NamedTuple):
    """A column that may be a signal, and how it says when it was known."""

    name: str  # of the column with its value, or with its time of success
    known_at: str | None  # None: at its horizon
    happened: bool  # the column holds times of success
    values: tuple[str, ...]  # none where there are many
    edges: tuple[float, ...]  # where it is a number
    beside: str | None  # of a time of success, a column that says the same
    typical: int  # the delay that holds most of those that were seen, in microseconds (0: none was seen)
    usual: int  # the same for nearly all
    longest: int
    settled: tuple[int, str] | None = None  # days after which it no longer changes, and what stands there until then

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that nothing else may use."""
        return tuple(column for column in (self.name, self.known_at, self.beside) if column)


class Guesses(NamedTuple):
    """What is what in a log, and what the reader should check."""

    shown_at: str | None  # None: the log has no times
    proxies: tuple[SignalGuess, ...]  # the soonest first
    outcome: SignalGuess | None
    later: tuple[SignalGuess, ...]  # signals that come later than the outcome
    doubts: tuple[str, ...]
    unclear: dict[str, str]  # columns that are no features by their names, and why


def guessed_signals(look: LogLook) -> Guesses:
    """The moment of the prediction, the outcome and the proxies of a log with one row per prediction."""
    times = {one.name: one for one in look.columns.values() if one.moment and one.filled}
    shown = _shown(look, times)
    timed = _paired(look, times, shown) + _successes(look, times, shown) if shown else ()
    taken = {column for one in timed for column in one.columns} | {shown}
    free = [one for one in look.columns.values() if one.name not in taken and not one.moment and one.filled]
    free = [one for one in free if not one.name.startswith("truth_")]  # of a simulated log
    named = [one for one in timed if _is(one.name, OUTCOMES)]
    unstamped = [one for one in free if _is(one.name, OUTCOMES) and _may_be_signal(one)]
    states = [one for one in free if _is(one.name, STATES) and _may_be_signal(one)]
    if not named and unstamped:
        named = [_at_horizon(look, one, shown) for one in unstamped]
    if not named:
        stated = [_at_horizon(look, one, shown) for one in states]
        named = [one for one in stated if one.settled][:1] or ([] if timed else stated[:1])
    outcome = max(named or timed, key=lambda one: (one.name.lower() == "outcome", one.usual), default=None)
    others = [one for one in timed if one != outcome]
    stamped = outcome is not None and outcome.usual > 0
    later = tuple(one for one in others if stamped and outcome and one.usual > outcome.usual)
    proxies = sorted((one for one in others if one not in later), key=lambda one: one.usual)
    if not proxies:
        signs = [one for one in free if _is_early(one) and _may_be_signal(one)]
        proxies = [_at_horizon(look, one, shown) for one in signs if outcome is None or one.name != outcome.name]
    unnamed = [] if proxies or not outcome or not shown else _filled_soon(look, free, outcome, shown)
    proxies = proxies or unnamed
    rivals = [one.name for one in named if one != outcome]
    used = {one.name for one in (*proxies, outcome) if one}
    rivals += [one.name for one in unstamped if one.name not in (*rivals, *used)]
    doubts = _doubts(outcome, rivals, proxies, later, [one for one in times if one not in taken] if shown else [])
    doubts += tuple(f"the proxy: {one.name} is only known later than the rest, not named like one" for one in unnamed)
    unclear = {one.name: "may be an early sign, known only later" for one in free if _is_early(one)}
    unclear |= dict.fromkeys(rivals, "may be an outcome, too")
    unclear = {name: why for name, why in unclear.items() if name not in used}
    return Guesses(shown, tuple(proxies), outcome, later, doubts if named else (*doubts, *_unnamed(outcome)), unclear)


def _filled_soon(look: LogLook, free: Sequence[ColumnLook], outcome: SignalGuess, shown: str) -> list[SignalGuess]:
    """The column that is filled in first some time after the prediction, if that is sooner than the outcome."""
    gappy = [one for one in free if one.filled < look.rows and _may_be_signal(one) and not _is(one.name, OUTCOMES)]
    filled = [one for one in (_at_horizon(look, each, shown) for each in gappy) if one.settled and not one.settled[1]]
    wait = outcome.settled[0] * DAY if outcome.settled else outcome.typical
    soon = [(one.settled[0], one) for one in filled if one.settled and one.settled[0] * DAY < wait]
    return [min(soon, key=lambda pair: pair[0])[1]] if soon else []


def _unnamed(outcome: SignalGuess | None) -> tuple[str, ...]:
    if outcome is None:
        return ()
    return (f"the outcome: {outcome.name} is only the slowest of the signals, not named like one",)


def _doubts(
    outcome: SignalGuess | None,
    rivals: Sequence[str],
    proxies: Sequence[SignalGuess],
    later: Sequence[SignalGuess],
    times: Sequence[str],
) -> tuple[str, ...]:
    """What the reader should check first, a sentence each; nothing where names and delays agree."""
    found = []
    if outcome is None:
        found.append("FILL IN [outcome]: no column looks like what is predicted")
    else:
        if rivals:
            found.append(f"the outcome: {', '.join(rivals)} may be it as well as {outcome.name}")
        if later:
            found.append(f"the outcome: {', '.join(one.name for one in later)} becomes known later than {outcome.name}")
        if not outcome.known_at and not outcome.happened:
            found.append(f"the horizon of {outcome.name}: no column says when it became known")
        if _is(outcome.name, STATES):
            found.append(f"{outcome.name}: a status changes; is this the one at the end?")
    if not proxies:
        found.append("FILL IN [proxy]: no column looks like an early sign")
    if times:
        found.append(f"what these times are: {', '.join(times)}")
    return tuple(found)


def _shown(look: LogLook, times: dict[str, ColumnLook]) -> str | None:
    """The column with the moment of the prediction: by its name, otherwise the first that every row has."""
    names = {"_".join(one.words): one.name for one in reversed(times.values())}
    by_name = next((names[name] for name in SHOWN if name in names), None)
    if by_name:
        return by_name
    values = {one.words for one in look.columns.values() if not one.moment}
    whole = [one.name for one in times.values() if one.filled == look.rows]
    alone = [name for name in whole if _base(name) not in values]
    return next(iter(alone or whole or times), None)


def _base(name: str) -> tuple[str, ...]:
    """The words of a time's name without the one that says that it is a time.

    >>> _base("paidAt"), _base("date_outcome"), _base("outcome")
    (('paid',), ('outcome',), ('outcome',))
    """
    words = name_words(name)
    if len(words) > 1 and words[-1] in TIME_WORDS:
        return words[:-1]
    return words[1:] if len(words) > 1 and words[0] in TIME_WORDS else words


def _paired(look: LogLook, times: dict[str, ColumnLook], shown: str) -> tuple[SignalGuess, ...]:
    """Values that have a time of their own, mostly after the prediction."""
    values = [
        one for one in look.columns.values() if not one.moment and one.kind != "set" and one.words[-1:] != ("id",)
    ]
    found = []
    for name, time in times.items():
        base = _base(name)
        alike = [one for one in values if one.words == base] or [o for o in values if o.words[: len(base)] == base]
        if name == shown or base == name_words(name) or not alike or (len(alike) > 1 and alike[0].words != base):
            continue
        value = alike[0]
        after, delays = _delay(look, time, shown)
        if after >= 0.5:
            edges = _edges(look, value, shown) if _numeric(value) else ()
            if len(value.values) == 2 and time.filled < (1 - MOST_EMPTY) * value.filled:
                found.append(SignalGuess(name, None, True, ("no", "yes"), (), value.name, *delays))
            else:
                found.append(SignalGuess(value.name, name, False, value.values, edges, None, *delays))
    return tuple({one.name: one for one in reversed(found)}.values())[::-1]


def _successes(look: LogLook, times: dict[str, ColumnLook], shown: str) -> tuple[SignalGuess, ...]:
    """Times without a value that lie after the prediction and are empty in some rows: of those it did not happen."""
    pairs = {column for one in _paired(look, times, shown) for column in one.columns}
    found = []
    for name, time in times.items():
        if name == shown or name in pairs or time.filled > (1 - MOST_EMPTY) * look.rows:
            continue
        after, delays = _delay(look, time, shown)
        if after >= HOLDS and not _sure_to_come(look, time, shown, delays[1]):
            found.append(SignalGuess(name, None, True, ("no", "yes"), (), None, *delays))
    return tuple(found)


def _sure_to_come(look: LogLook, time: ColumnLook, shown: str, usual: int) -> bool:
    """Whether nearly every row that is old enough has the time, as the end of what ends in any case."""
    moment = look.columns[shown].moment
    old = f"{moment} <= (SELECT max({moment}) FROM rows) - {usual}"
    there = look.ask(f"SELECT avg(({time.moment} IS NOT NULL)::INTEGER) FROM rows WHERE {old}")[0]
    return there is not None and there >= NEARLY_ALL


def _delay(look: LogLook, time: ColumnLook, shown: str) -> tuple[float, tuple[int, int, int]]:
    """The share of a column's times that are not before the prediction; their typical, usual and longest delay."""
    # A date without a clock may seem to lie before a moment of the same day.
    delay = f"{time.moment} - {look.columns[shown].moment}"
    dates = look.ask(f"SELECT bool_and({time.moment} % {DAY} = 0) FROM rows WHERE {time.moment} IS NOT NULL")[0]
    after, delays = look.ask(
        f"SELECT avg((delay > {-DAY if dates else -1})::INTEGER), quantile_disc(delay, [{TYPICAL}, {HOLDS}, 1]) "
        f"FROM (SELECT {delay} AS delay FROM rows) WHERE delay IS NOT NULL"
    )
    typical, usual, longest = (max(int(one), 0) for one in delays or (0, 0, 0))
    return float(after or 0), (typical, usual, longest)


def _at_horizon(look: LogLook, value: ColumnLook, shown: str | None) -> SignalGuess:
    edges = _edges(look, value, shown) if _numeric(value) else ()
    settled = settles_after(look, value, shown) if shown else None
    return SignalGuess(value.name, None, False, value.values, edges, None, 0, 0, 0, settled)


def _numeric(look: ColumnLook) -> bool:
    return look.kind in ("whole", "number") and look.different > NUMERIC


def _may_be_signal(look: ColumnLook) -> bool:
    return _numeric(look) or len(look.values) > 1


def _is(name: str, words: Sequence[str]) -> bool:
    """Whether a column is called so, apart from what says that it is a time or a flag."""
    found = [word for word in _base(name) if word not in ("is", "has", "was", "did", "final")]
    return len(found) <= 2 and any(word in words for word in found)


def _is_early(look: ColumnLook) -> bool:
    """Whether a column without a time may be an early sign, by its name."""
    return _is(look.name, EARLY_SIGNS) or any(AGE.fullmatch(word) for word in look.words)


def _edges(look: LogLook, value: ColumnLook, shown: str | None) -> tuple[float, ...]:
    """The quartiles of a number in the earlier half of the log, rounded; those that split it."""
    number = f"try_cast({quoted(value.name)} AS DOUBLE)"
    order = look.columns[shown].moment if shown else "nth"
    half = f"(SELECT median({order}) FROM rows)"
    cut = f"quantile_disc({number}, [0.25, 0.5, 0.75]) FILTER (isfinite({number}))"
    (quartiles,) = look.ask(f"SELECT {cut} FROM rows WHERE {order} <= {half}")
    return rounded_edges(quartiles or [], value.low)


def rounded_edges(numbers: Sequence[float], low: float | None) -> tuple[float, ...]:
    """Rising edges of two digits out of some quantiles, none at or below the smallest number: it would split nothing.

    >>> rounded_edges([0, 3, 3, 117], low=0)
    (3, 120)
    """
    short = {float(f"{number:.2g}") for number in numbers}
    kept = sorted(one for one in short if low is None or one > low)
    return tuple(int(one) if one == int(one) else one for one in kept)
