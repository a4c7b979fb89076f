"""Proxies and outcomes: what they are, and how the task file declares them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from presage.errors import SettingError
from presage.task.edges import NumberCuts, edge_labels, read_cuts
from presage.task.section import TaskSection
from presage.task.spans import Span


@dataclass(frozen=True)
class Labelled:
    """A column that holds the value, or a number that is cut into one, and a column of moments it became known."""

    column: str
    known_at: str | None  # None: a value counts as known when its horizon has passed
    position: str | None = None  # of a log that a service exported: the position at which it became learnable
    cuts: NumberCuts | None = None


@dataclass(frozen=True)
class HappenedAt:
    """A column with the time of a success, empty where there was none: the second value, otherwise the first."""

    column: str
    as_it_happens: bool  # a success counts as known at its time; if not, when its horizon has passed


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
    source: Labelled | HappenedAt | CountedEvents | First
    same: bool | None = None  # of a proxy: whether its values mean what the outcomes of the same names do
    features: tuple[str, ...] = ()  # symbol columns of an instance that belong to a proxy: its `with`

    @property
    def on_events(self) -> bool:
        """Whether it is defined on raw events."""
        return isinstance(self.source, CountedEvents | First)

    @property
    def cuts(self) -> NumberCuts | None:
        """Where its column of numbers is cut; None where it holds values."""
        return self.source.cuts if isinstance(self.source, Labelled) else None

    @property
    def absent_symbol(self) -> int | None:
        """The symbol of `absent`."""
        return None if self.absent is None else self.values.index(self.absent)

    @property
    def columns(self) -> dict[str, str]:
        """The columns of the log that hold it, by key of the task file; none where it is defined on events."""
        source = self.source
        if isinstance(source, HappenedAt):
            return {"happened_at": source.column}
        if not isinstance(source, Labelled):
            return {}
        return {"column": source.column} | ({"known_at": source.known_at} if source.known_at else {})


def read_proxies(section: TaskSection, rows: bool = False) -> tuple[Signal, ...]:
    """The candidates: [proxy] alone is one of that name, [proxy.NAME] tables are several."""
    refuse_chain(section)
    tables = [key for key, value in section.table.items() if isinstance(value, Mapping)]
    if not tables:
        return (read_signal(section, "proxy", rows),)
    for key in section.table:
        if key not in tables:
            remedy = f"move it into [proxy.{tables[0]}], or leave the named tables out"
            raise SettingError(f"{section.at(key)} stands beside named candidates", section.table[key], remedy)
        if "." in key or key in ("proxy", "outcome"):
            raise SettingError(f"{section.at(key)} is no name for a candidate", key, "choose another name")
    return tuple(read_signal(section.table_of(key), key, rows) for key in tables)


def read_signal(section: TaskSection, name: str, rows: bool = False) -> Signal:
    """One signal; in a log of predictions its columns are NAME and NAME_at unless it says otherwise.

    With `rows` the log has no times: the horizon is a number of rows, and each value is known at its horizon.
    """
    refuse_chain(section)
    if section.has("count") and section.has("first"):
        raise section.refuse("first", "contradicts count", "leave one of the two out")
    for key in ("count", "first"):
        if rows and section.has(key):
            raise section.refuse(key, 'contradicts log.order = "rows"', "leave order out of [log]: events have times")
    if section.has("count"):
        signal = _counted(section, name)
    elif section.has("first"):
        signal = _first(section, name)
    elif section.has("happened_at"):
        signal = _happened(section, name, rows)
    else:
        signal = _labelled(section, name, rows)
    if name != "outcome" and section.has("same"):
        signal = replace(signal, same=section.flag("same", False))
    if name != "outcome" and section.has("with"):
        signal = replace(signal, features=section.texts("with"))
    section.finish()
    return signal


def refuse_chain(section: TaskSection) -> None:
    """Nothing, or the error that chains of proxies come later."""
    if section.has("chain"):
        remedy = "leave it out, and declare each proxy as a candidate in a [proxy.NAME] table"
        raise section.refuse("chain", "is reserved: chains of proxies come later", remedy)


def _labelled(section: TaskSection, name: str, rows: bool) -> Signal:
    cuts = read_cuts(section)
    values = _values(section) if cuts is None else _cut_values(section, cuts)
    absent = _absent(section, values)
    horizon = _horizon(section, rows)
    if rows and section.has("known_at"):
        remedy = "leave it out: each value counts as known at its horizon"
        raise section.refuse("known_at", 'contradicts log.order = "rows"', remedy)
    at_horizon = _known(section) is not None or rows
    if at_horizon and section.has("known_at"):
        raise section.refuse("known_at", f'contradicts known = "{AT_HORIZON}"', "leave one of the two out")
    known_at = None if at_horizon else section.text("known_at", f"{name}_at")
    return Signal(name, values, horizon, absent, Labelled(section.text("column", name), known_at, cuts=cuts))


def _happened(section: TaskSection, name: str, rows: bool) -> Signal:
    if rows:
        remedy = "give the value in a column, or leave order out of [log]"
        raise section.refuse("happened_at", 'contradicts log.order = "rows"', remedy)
    for key in ("column", "known_at", "absent", "edges"):
        if section.has(key):
            remedy = f"leave {key} out: a time of success says all of it, and without one the value is the first"
            raise section.refuse(key, "contradicts happened_at", remedy)
    values = _values(section)
    if len(values) != 2:
        raise section.refuse("values", "must be two", 'give first what no success is called, such as ["no", "yes"]')
    as_it_happens = _known(section, happened=True) == AS_IT_HAPPENS
    source = HappenedAt(section.text("happened_at"), as_it_happens)
    return Signal(name, values, _horizon(section, rows), values[0], source)


AT_HORIZON, AS_IT_HAPPENS = "at horizon", "as it happens"


def _known(section: TaskSection, happened: bool = False) -> str | None:
    """When a value counts as known, where that is said in words."""
    known = section.text_or_none("known")
    if known not in (None, AT_HORIZON, AS_IT_HAPPENS):
        raise section.refuse("known", "is unknown", f'choose one of "{AT_HORIZON}", "{AS_IT_HAPPENS}"')
    if known == AS_IT_HAPPENS and not happened:
        remedy = f'name the column of times in known_at, or write known = "{AT_HORIZON}"'
        raise section.refuse("known", "needs happened_at", remedy)
    return known


def _values(section: TaskSection) -> tuple[str, ...]:
    values = section.texts("values")
    if len(values) < 2:
        raise section.refuse("values", "must be at least two", "name every value there can be")
    return values


def _cut_values(section: TaskSection, cuts: NumberCuts) -> tuple[str, ...]:
    """A value for each part of a column of numbers: those declared, or names made from the edges.

    None yet where a log will tell the edges.
    """
    if not section.has("values"):
        return () if cuts.is_open else edge_labels(cuts.edges)
    values, parts = _values(section), cuts.quantiles or len(cuts.edges) + 1
    if len(values) != parts:
        made = f"{cuts.quantiles} quantiles" if cuts.quantiles else f"{len(cuts.edges)} edges"
        raise section.refuse("values", f"must be {parts}", f"{made} make {parts}, or leave values out")
    return values


def _absent(section: TaskSection, values: tuple[str, ...]) -> str | None:
    absent = section.text_or_none("absent")
    if absent is not None and not values:
        raise section.refuse("absent", "names a value before there are any", "give values, or edges as numbers")
    if absent is not None and absent not in values:
        raise section.refuse("absent", "is not among its values", f"choose one of {', '.join(values)}")
    return absent


def _horizon(section: TaskSection, rows: bool) -> Span:
    horizon = _span(section, "horizon", rows)
    if horizon is None:
        example = "500 rows" if rows else "7 days"
        raise SettingError(f"{section.at('horizon')} is missing", list(section.table), f'give it, such as "{example}"')
    return horizon


def _span(section: TaskSection, key: str, rows: bool = False) -> Span | None:
    found = section.span(key)
    if found and found.rows and not rows:
        on_events = "count" in section.table or "first" in section.table
        remedy = 'write a span of time, such as "7 days"' + ("" if on_events else ', or order = "rows" in [log]')
        raise section.refuse(key, "counts rows, but the log has times", remedy)
    if found and rows and not found.rows:
        remedy = 'write a number of rows, such as "500 rows"'
        raise section.refuse(key, "is a span of time, but the log has only the order of its rows", remedy)
    return found


def _counted(section: TaskSection, name: str) -> Signal:
    values = _values(section)
    absent, horizon = _absent(section, values), _span(section, "horizon")
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


def _first(section: TaskSection, name: str) -> Signal:
    values = _values(section)
    absent, horizon = _absent(section, values), _span(section, "horizon")
    kinds, within = section.texts("first"), _within(section, horizon)
    fits = values[: len(kinds)] if absent is None else (*values[: len(kinds)], absent)
    if len(values) < len(kinds) or set(values) != set(fits):
        remedy = "give a value for each kind in the same order, then the absent one if there is one"
        raise section.refuse("values", f"must be one for each of {', '.join(kinds)}", remedy)
    return Signal(name, values, horizon or within, absent, First(kinds, within))


def _within(section: TaskSection, horizon: Span | None) -> Span:
    within = _span(section, "within") or horizon
    if within is None:
        raise SettingError(f"{section.at('within')} is missing", list(section.table), 'give it, such as "7 days"')
    if horizon and horizon.microseconds != within.microseconds:
        raise section.refuse("within", f"differs from its horizon of {horizon}", "leave horizon out")
    return within
