"""The task file: what is predicted, from which features, how late, and by which forecaster."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from presage.errors import DataError, SettingError
from presage.settings import nearest
from presage.spaces import Features, SetOf, Spaces
from presage.task.columns import EventColumns, PredictionColumns, is_in_rows, read_columns
from presage.task.features import (
    PARTS,
    Boolean,
    Category,
    Count,
    Feature,
    Number,
    SetFeature,
    Timestamp,
    read_instance,
    symbol_names,
)
from presage.task.section import TaskSection
from presage.task.signals import Signal, read_proxies, read_signal, refuse_chain

KINDS = (
    "mixture", "marginal", "direct-table", "factored-table", "residual-table", "direct-table-shrunk",
    "factored-table-shrunk", "residual-table-shrunk", "direct-network", "factored-network", "residual-network",
)  # fmt: skip


@dataclass(frozen=True)
class ForecasterChoice:
    """A kind of forecaster, and the groups of features an instance shrinks to in turn."""

    kind: str = "mixture"
    settings: tuple[
        tuple[str, bool | int], ...
    ] = ()  # of the default: parts that are left out, and its bound on memory
    back_off: tuple[tuple[str, ...], ...] = ()  # from the coarsest group to the finest, by names of symbol columns


def read_forecaster(section: TaskSection, symbols: tuple[str, ...]) -> ForecasterChoice:
    """The choice; a mixture where nothing is said. `symbols` are the columns it may back off through."""
    kind = section.text("kind", "mixture")
    if kind not in KINDS:
        raise section.refuse("kind", "is unknown", nearest(kind, KINDS))
    settings = _settings(section.table_of("settings"), kind)
    back_off = _back_off(section, symbols) if section.has("back_off") else ()
    section.finish()
    return ForecasterChoice(kind, settings, back_off)


SWITCHES = ("low", "chain", "pairs", "forgetting", "regression", "boosting", "stacking", "logistic", "same_labels")
"""Parts of the default forecaster that `settings` can leave out."""


def _settings(section: TaskSection, kind: str) -> tuple[tuple[str, bool | int], ...]:
    """The settings of the default forecaster; those of others are refused."""
    for name, value in section.table.items():
        if kind != "mixture":
            remedy = "leave it out: only the mixture takes settings from a task file"
            raise SettingError(f"{section.at(name)} would change nothing", value, remedy)
        if name not in (*SWITCHES, "buckets"):
            raise SettingError(f"{section.at(name)} is unknown", value, nearest(name, (*SWITCHES, "buckets")))
    found: list[tuple[str, bool | int]] = [(name, section.flag(name, True)) for name in SWITCHES if section.has(name)]
    if section.has("buckets"):
        found.append(("buckets", section.whole_or_none("buckets", 64) or 64))
    section.finish()
    return tuple(found)


def _back_off(section: TaskSection, symbols: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    groups = section.table["back_off"]
    remedy = 'give lists of features, such as [["activity"], ["activity", "module"]]'
    if not isinstance(groups, list) or not all(isinstance(group, list) and group for group in groups):
        raise section.refuse("back_off", "must be a list of lists", remedy)
    for place, group in enumerate(groups):
        for name in group:
            if name not in symbols:
                where = f"{section.at('back_off')}[{place}] names no feature with symbols"
                raise SettingError(where, name, f"choose among {', '.join(symbols)}")
        if place and not set(groups[place - 1]) < set(group):
            where = f"{section.at('back_off')}[{place}] must hold the features of the group before it and more"
            raise SettingError(where, group, f"begin with those of {groups[place - 1]}: groups run from coarse to fine")
    return tuple(tuple(group) for group in groups)


MOST_SYMBOLS = 10_000
"""How many symbols a proxy may make with the features that belong to it."""


def check_with(proxy: Signal, path: str, instance: tuple[Feature, ...]) -> None:
    """Raise SettingError unless the features that belong to a proxy have symbols and are not the identity."""
    symbols, kinds = symbol_names(instance), {feature.name: feature for feature in instance}
    for name in proxy.features:
        feature = kinds.get(name)
        if isinstance(feature, Number):
            remedy = f'give it edges: {name} = {{ kind = "count", edges = [1, 10, 100] }}'
            raise SettingError(f"{path}.with names a number, which has no symbols", name, remedy)
        if isinstance(feature, SetFeature):
            remedy = "name a category, a boolean, a count or a part of a timestamp"
            raise SettingError(f"{path}.with names a set, which has many symbols at once", name, remedy)
        if isinstance(feature, Timestamp):
            remedy = f'name a part of it, such as "{name}.{feature.parts[0]}"'
            raise SettingError(f"{path}.with names a timestamp", name, remedy)
        if name in symbols[:1]:
            remedy = "leave it out: what is special about each one, a residual forecaster learns"
            raise SettingError(f"{path}.with names what tells instances apart", name, remedy)
        if name not in symbols:
            remedy = nearest(name, symbols[1:]) if symbols[1:] else "leave it out: there is none but the identity"
            raise SettingError(f"{path}.with names no feature with symbols", name, remedy)


VERSION = 1


class Vocabulary(NamedTuple):
    """What a log taught of a category or set: its values by symbol (none where hashed), and the fullest set."""

    values: tuple[str, ...]
    slots: int = 1


@dataclass(frozen=True)
class Task:
    """What is predicted, from which features, how late."""

    name: str
    instance: tuple[Feature, ...]  # the identity first
    proxies: tuple[Signal, ...]
    outcome: Signal
    log: PredictionColumns | EventColumns
    forecaster: ForecasterChoice
    folder: Path = Path()  # where the task file lies
    text: str = field(default="", compare=False, repr=False)  # of the task file

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The proxies, then the outcome."""
        return (*self.proxies, self.outcome)

    @property
    def in_rows(self) -> bool:
        """Whether its log has no times: moments then stand for numbers of rows, as `spans.row_at` tells them."""
        return self.log.shown_at is None

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbol columns of an instance, in their order."""
        return symbol_names(self.instance)

    @property
    def learned(self) -> tuple[Category | SetFeature, ...]:
        """The features whose sizes only a log can tell."""
        return tuple(f for f in self.instance if isinstance(f, Category | SetFeature))

    def path(self, signal: Signal) -> str:
        """The table of the task file that declares a signal."""
        return signal.name if signal.name in ("proxy", "outcome") else f"proxy.{signal.name}"

    def proxy(self, name: str | None = None) -> Signal:
        """A candidate by name; the only one, or the first, where no name is given."""
        for proxy in self.proxies:
            if name in (None, proxy.name):
                return proxy
        remedy = nearest(str(name), (proxy.name for proxy in self.proxies))
        raise SettingError("the task has no such proxy", name, remedy)

    def features(self, vocabularies: Mapping[str, Vocabulary]) -> Features:
        """The features of an instance, once the vocabularies of its categories and sets are known."""
        symbols: list[int] = []
        for feature in self.instance:
            if isinstance(feature, Category):
                symbols.append(_size(feature, vocabularies))
            elif isinstance(feature, Timestamp):
                symbols += [PARTS[part] for part in feature.parts]
            elif isinstance(feature, Count | Boolean):
                symbols.append(len(feature.edges) + 1 if isinstance(feature, Count) else 2)
        sets = [f for f in self.instance if isinstance(f, SetFeature)]
        return Features(
            symbols=tuple(symbols),
            sets=tuple(SetOf(_size(f, vocabularies), f.slots or vocabularies[f.name].slots) for f in sets),
            dense=sum(isinstance(f, Number) for f in self.instance),
        )

    def spaces(self, vocabularies: Mapping[str, Vocabulary], proxy: str | None = None) -> Spaces:
        """The spaces of the problem with one of its proxies."""
        return self.spaces_of(self.features(vocabularies), proxy)

    def spaces_of(self, features: Features, proxy: str | None = None) -> Spaces:
        """The same with features of known sizes; SettingError if a proxy makes too many symbols with some of them."""
        signal = self.proxy(proxy)
        columns = tuple(self.symbols.index(name) for name in signal.features)
        sizes = [len(signal.values), *(features.symbols[column] for column in columns)]
        if columns and math.prod(sizes) > MOST_SYMBOLS:
            found = " x ".join(map(str, sizes)) + f" = {math.prod(sizes):,}"
            wrong = f"{self.path(signal)}.with makes more than {MOST_SYMBOLS:,} symbols"
            raise SettingError(wrong, found, "leave out the feature with the most values, or make it coarser")
        return Spaces(features, len(signal.values), len(self.outcome.values), columns)


def load_task(source: str | Path) -> Task:
    """The task that a TOML file describes, or its text: whatever has more than one line is text.

    >>> load_task(chr(10).join(["version = 1", "name = 3"]))
    Traceback (most recent call last):
    presage.errors.SettingError: name must be words: found 3; give it in quotes, such as "a name"
    """
    if isinstance(source, str) and "\n" in source:
        return read_task(source)
    path = Path(source)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise DataError(f"the task file cannot be read ({why})", str(path), "check the folder and the name") from error
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        remedy = "correct that line, or give a task file"
        raise DataError(f"{path.name} is no task file: it is not TOML", str(error), remedy) from error
    return _task(table, text, path.parent)


def read_task(text: str, folder: Path = Path()) -> Task:
    """The task that the text of a task file describes; other files it names are looked for in `folder`."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError("the task is not TOML", str(error), "correct that line") from error
    return _task(table, text, folder)


def _task(table: dict[str, Any], text: str, folder: Path) -> Task:
    section = TaskSection(table, "")
    version = section.whole_or_none("version", 1)
    if version != VERSION:
        raise section.refuse("version", "is missing" if version is None else "is unknown", f"write version = {VERSION}")
    refuse_chain(section)
    name = section.text("name")
    parts = {key: section.table_of(key) for key in ("instance", "proxy", "outcome", "log", "forecaster")}
    section.finish()
    instance = read_instance(parts["instance"])
    rows = is_in_rows(parts["log"])
    proxies, outcome = read_proxies(parts["proxy"], rows), read_signal(parts["outcome"], "outcome", rows)
    log = read_columns(parts["log"], _on_events((*proxies, outcome)))
    _refuse_leaks(instance, (*proxies, outcome), log.shown_at)
    forecaster = read_forecaster(parts["forecaster"], symbol_names(instance))
    task = Task(name, instance, proxies, outcome, log, forecaster, folder, text)
    for proxy in proxies:
        check_with(proxy, task.path(proxy), instance)
    return task


def _on_events(signals: tuple[Signal, ...]) -> bool:
    labelled = [signal.name for signal in signals if not signal.on_events]
    if labelled and len(labelled) < len(signals):
        remedy = "define all by count or first, or give a column for each"
        raise SettingError("some signals are columns and others are defined on events", labelled, remedy)
    return not labelled


def _refuse_leaks(instance: tuple[Feature, ...], signals: tuple[Signal, ...], shown_at: str | None) -> None:
    """Nothing, or the error of a feature that is a signal or the moment of one: neither is known at a prediction."""
    for feature in instance:
        for signal in signals:
            taken = {column: key for key, column in signal.columns.items() if column != shown_at}
            if feature.column in taken:
                where = signal.name if signal.name in ("proxy", "outcome") else f"proxy.{signal.name}"
                wrong = f"instance.{feature.name} reads {where}.{taken[feature.column]}, not known at the prediction"
                raise SettingError(wrong, feature.column, "leave this feature out")


def _size(feature: Category | SetFeature, vocabularies: Mapping[str, Vocabulary]) -> int:
    return feature.hashed or len(feature.values) or max(len(vocabularies[feature.name].values), 1)
