"""Proxies and outcomes: what they are, and how the task file declares them."""

from collections.abc import Mapping
from dataclasses import dataclass

from presage.errors import SettingError
from presage.task.section import TaskSection
from presage.task.spans import Span


@dataclass(frozen=True)
class Labelled:
    """A column that holds the value, and one that holds the moment it became known."""

    column: str
    known_at: str
    position: str | None = None  # of a log that a service exported: the position at which it became learnable


@dataclass(frozen=True)
class CountedEvents:
    """How many events of these kinds come within a span, in buckets; or the first value once an `unless` comes."""

    kinds: tuple[str, ...]
    within: Span
    edges: tuple[float, ...]
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class First:
    """Which of these kinds of event comes first within a span: the n-th kind gives the n-th value."""

    kinds: tuple[str, ...]
    within: Span


@dataclass(frozen=True)
class Signal:
    """A proxy or the outcome: its values, how long it may take, and what its absence means (None: it is censored)."""

    name: str
    values: tuple[str, ...]
    horizon: Span
    absent: str | None
    source: Labelled | CountedEvents | First

    @property
    def absent_symbol(self) -> int | None:
        """The symbol of `absent`."""
        return None if self.absent is None else self.values.index(self.absent)

    @property
    def columns(self) -> dict[str, str]:
        """The columns of the log that hold it, by key of the task file; none where it is defined on events."""
        source = self.source
        return {"column": source.column, "known_at": source.known_at} if isinstance(source, Labelled) else {}


def read_proxies(section: TaskSection) -> tuple[Signal, ...]:
    """The candidates: [proxy] alone is one of that name, [proxy.NAME] tables are several."""
    refuse_chain(section)
    tables = [key for key, value in section.table.items() if isinstance(value, Mapping)]
    if not tables:
        return (read_signal(section, "proxy"),)
    for key in section.table:
        if key not in tables:
            remedy = f"move it into [proxy.{tables[0]}], or leave the named tables out"
            raise SettingError(f"{section.at(key)} stands beside named candidates", section.table[key], remedy)
        if "." in key or key in ("proxy", "outcome"):
            raise SettingError(f"{section.at(key)} is no name for a candidate", key, "choose another name")
    return tuple(read_signal(section.table_of(key), key) for key in tables)


def read_signal(section: TaskSection, name: str) -> Signal:
    """One signal; in a log of predictions its columns are NAME and NAME_at unless it says otherwise."""
    refuse_chain(section)
    values = section.texts("values")
    if len(values) < 2:
        raise section.refuse("values", "must be at least two", "name every value there can be")
    absent = section.text_or_none("absent")
    if absent is not None and absent not in values:
        raise section.refuse("absent", "is not among its values", f"choose one of {', '.join(values)}")
    horizon = section.span("horizon")
    if section.has("count") and section.has("first"):
        raise section.refuse("first", "contradicts count", "leave one of the two out")
    if section.has("count"):
        signal = _counted(section, name, values, horizon, absent)
    elif section.has("first"):
        signal = _first(section, name, values, horizon, absent)
    else:
        if horizon is None:
            raise SettingError(f"{section.at('horizon')} is missing", list(section.table), 'give it, such as "7 days"')
        source = Labelled(section.text("column", name), section.text("known_at", f"{name}_at"))
        signal = Signal(name, values, horizon, absent, source)
    section.finish()
    return signal


def refuse_chain(section: TaskSection) -> None:
    """Nothing, or the error that chains of proxies come later."""
    if section.has("chain"):
        remedy = "leave it out, and declare each proxy as a candidate in a [proxy.NAME] table"
        raise section.refuse("chain", "is reserved: chains of proxies come later", remedy)


def _counted(
    section: TaskSection, name: str, values: tuple[str, ...], horizon: Span | None, absent: str | None
) -> Signal:
    within = _within(section, horizon)
    edges, unless = section.edges("edges"), section.texts("unless") if section.has("unless") else ()
    buckets = len(edges) + 1 + bool(unless)
    if len(values) != buckets:
        parts = f"{len(edges)} edges make {len(edges) + 1}" + (", and the first is for unless" if unless else "")
        raise section.refuse("values", f"must be {buckets}", parts)
    if absent not in (None, values[bool(unless)]):
        remedy = f"a count of nothing is {values[bool(unless)]!r}: leave absent out"
        raise section.refuse("absent", "contradicts the count", remedy)
    return Signal(name, values, horizon or within, None, CountedEvents(section.texts("count"), within, edges, unless))


def _first(
    section: TaskSection, name: str, values: tuple[str, ...], horizon: Span | None, absent: str | None
) -> Signal:
    kinds, within = section.texts("first"), _within(section, horizon)
    fits = values[: len(kinds)] if absent is None else (*values[: len(kinds)], absent)
    if len(values) < len(kinds) or set(values) != set(fits):
        remedy = "give a value for each kind in the same order, then the absent one if there is one"
        raise section.refuse("values", f"must be one for each of {', '.join(kinds)}", remedy)
    return Signal(name, values, horizon or within, absent, First(kinds, within))


def _within(section: TaskSection, horizon: Span | None) -> Span:
    within = section.span("within") or horizon
    if within is None:
        raise SettingError(f"{section.at('within')} is missing", list(section.table), 'give it, such as "7 days"')
    if horizon and horizon.microseconds != within.microseconds:
        raise section.refuse("within", f"differs from its horizon of {horizon}", "leave horizon out")
    return within
