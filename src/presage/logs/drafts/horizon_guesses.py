"""Horizons for a draft of a task file, by the delays that were seen, and why it is this one."""

from presage.logs.drafts.column_looks import name_words
from presage.logs.drafts.row_ages import DAY, USUAL_DAYS
from presage.logs.drafts.signal_guesses import AGE, HOLDS, TYPICAL, SignalGuess
from presage.logs.guards.leak_evidence import percent

HOUR = 3_600_000_000

WHOLE_DAYS = (1, 2, 3, 4, 5, 6, 7, 10, 14, 21, 28, 30, 45, 60, 75, 90, 120, 150, 180, 270, 365)

PART = 4
"""A horizon for successes that is longer than this part of the log would leave too few rows of which it has passed."""


def horizon_words(guess: SignalGuess, span: int, early: bool) -> tuple[str, str]:
    """A horizon and why it is that one; `span` is how long the log is, `early` whether it is for an early sign.

    A value that comes later than its horizon is lost, so its horizon holds nearly all delays that were seen. A success
    that comes later is a failure within the horizon, which is an answer: a usual time that holds most of them will do.
    """
    age = next((found for word in name_words(guess.name) if (found := AGE.fullmatch(word)) and found[2]), None)
    if not guess.usual and age:
        days = int(age[2]) * {"w": 7, "m": 30}.get(age[1][0], 1)
        return rounded_span(days * DAY, span), "as its name says; correct this if it means something else"
    if not guess.usual and guess.settled:
        days, first = guess.settled
        said = f'say "{first}"' if first else "are empty"
        return rounded_span(days * DAY, span), f"younger rows mostly {said}; correct this if you know better"
    if not guess.usual:
        unknown = min(DAY, span // 20) if early else min(7 * DAY, span // 4)
        return rounded_span(unknown, span), "correct this: the log does not tell"
    if guess.happened:
        return success_words(guess.typical, guess.usual, span)
    whole, short = rounded_span(guess.longest, span), rounded_span(guess.usual, span)
    if guess.longest <= 1.25 * guess.usual or whole == short:
        return whole, "later is too late"
    return short, f"holds {percent(HOLDS)} of the delays seen; the longest would need {whole}"


def success_words(typical: int, usual: int, span: int) -> tuple[str, str]:
    """A usual time in which most successes come, and what a longer one would hold."""
    days = usual_days(typical, span // PART)
    if not days or days * DAY < typical:
        chosen = f"{days} day{'s' * (days > 1)}" if days else rounded_span(min(typical, span // PART), span)
        return (
            chosen,
            f"many come later, but the log is short: {percent(TYPICAL)} came in {rounded_span(typical, span)}",
        )
    more = rounded_span(usual, span)
    why = f"most come in this time; {percent(HOLDS)} of those seen would need {more}"
    return f"{days} day{'s' * (days > 1)}", why if usual > days * DAY else "later is too late"


def usual_days(typical: int, longest: int) -> int:
    """The fewest usual days that hold a time or, where they would be too long, the most that are not; 0 for none."""
    fit = [days for days in USUAL_DAYS if days * DAY <= longest]
    return next((days for days in fit if days * DAY >= typical), fit[-1] if fit else 0)


def rounded_span(microseconds: int, span: int) -> str:
    """A usual number of days, or whole hours, that holds a delay and fits into the log."""
    hours, days = max(-(-microseconds // HOUR), 1), -(-microseconds // DAY)
    usual = next((n for n in WHOLE_DAYS if n >= days), days)
    amount = next((n for n in (usual, days) if n * DAY <= span), 0) if hours >= 24 else 0
    amount, unit = (amount, "day") if amount else (hours, "hour")
    return f"{amount} {unit}{'s' * (amount > 1)}"
