"""What a model has learnt of a log: carried on with a later part of it, equal to learning both at once."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from presage.drivers.contexts.core import ContextFunctions
from presage.drivers.counting.episodes import can_count
from presage.drivers.counting.table_core import LearntCounts, TableFunctions
from presage.errors import DataError
from presage.fitting.learning import Learnt, learn_rows, nothing_learnt
from presage.fitting.open_rows import LaterRows, OpenRows, later_rows, no_rows
from presage.forecasters.catalogue import chosen_forecasters, facts_of
from presage.forecasters.contexts.kernels import ContextState
from presage.forecasters.contexts.layout import ContextLayout, room_for
from presage.forecasters.contract import Forecaster
from presage.logs.rows import LogRows
from presage.logs.signals import NEVER_AT
from presage.spaces import EMPTY, Array, Instance, SetOf
from presage.task.features import Category, SetFeature
from presage.task.task import Task, Vocabulary

Vocabularies = Mapping[str, Vocabulary]
"""By feature, what a log taught of each category and set."""


class ModelChoice(NamedTuple):
    """What learns, from which proxy, and the seed of its random draws."""

    forecaster: str
    proxy: str
    seed: int


class FittedLog(NamedTuple):
    """What was learnt of a log, and the rows that are open."""

    vocabularies: Vocabularies
    forecaster: Forecaster
    learnt: Learnt
    open: OpenRows
    rows: int  # taken in all
    until: int  # microseconds since 1970 UTC: all that was known then is learnt

    @property
    def digest(self) -> str:
        """A hash of all that later learning depends on."""
        words = {name: [*vocabulary.values, str(vocabulary.slots)] for name, vocabulary in self.vocabularies.items()}
        found = hashlib.blake2b(json.dumps([self.rows, self.until, words]).encode(), digest_size=16)
        for name, part in sorted(self.arrays().items()):
            found.update(f"{name} {part.dtype.str} {part.shape}".encode())
            found.update(np.ascontiguousarray(part).tobytes())
        return found.hexdigest()

    def arrays(self) -> dict[str, Array]:
        """Everything that is kept as arrays, by name; words as their bytes."""
        kept = {f"learnt.{name}": part for name, part in self.learnt.tensors.items()}
        x, ids = self.open.x, self.open.id
        kept |= {f"open.{name}": part for name, part in self.open._asdict().items() if name not in ("id", "x")}
        if ids.dtype == object:
            words = json.dumps(ids.tolist(), ensure_ascii=False).encode()
            ids = np.frombuffer(words, np.uint8)
        return kept | {"open.id": ids, "open.symbols": x.symbols, "open.dense": x.dense, "open.said": self.learnt.said}


def forecaster_of(task: Task, choice: ModelChoice, vocabularies: Vocabularies) -> Forecaster:
    """The forecaster of a model.

    Where it counts, a category has one symbol more than values: that of a value the log never showed. The default has
    room for as many values as its layout allows, so that later ones find a place.
    """
    spaces, facts = task.spaces(vocabularies, choice.proxy), facts_of(task, choice.proxy)
    features = spaces.features
    found = chosen_forecasters((choice.forecaster,), spaces, facts)[choice.forecaster]
    if isinstance(found.structure, ContextLayout):
        rooms = tuple(room_for(size) for size in features.symbols)
        sets = tuple(SetOf(room_for(of.size), of.slots) for of in features.sets)
        spaces = replace(spaces, instances=replace(features, symbols=rooms, sets=sets))
        return chosen_forecasters((choice.forecaster,), spaces, facts)[choice.forecaster]
    if not can_count(found):
        return found
    symbols = list(features.symbols)
    for place in unlisted(task):
        symbols[place] += 1
    spaces = replace(spaces, instances=replace(features, symbols=tuple(symbols)))
    return chosen_forecasters((choice.forecaster,), spaces, facts)[choice.forecaster]


def unlisted(task: Task) -> list[int]:
    """The symbol columns of the categories that may show a value which is not in their vocabulary."""
    names = [feature.name for feature in task.instance if isinstance(feature, Category) and not feature.hashed]
    return [task.symbols.index(name) for name in names]


def with_unseen(task: Task, forecaster: Forecaster, x: Instance) -> Instance:
    """Instances whose unseen categories are as a forecaster takes them: a symbol of their own where it counts."""
    if not can_count(forecaster):
        return x  # a network takes EMPTY for no input
    symbols = x.symbols.copy()
    for place in unlisted(task):
        column = symbols[:, place]
        column[column == EMPTY] = forecaster.spaces.features.symbols[place] - 1
    return Instance(symbols, x.dense)


def carry_on(
    task: Task, choice: ModelChoice, fitted: FittedLog | None, rows: LogRows, until: int | None
) -> tuple[FittedLog, LaterRows]:
    """What is learnt after the rows of a log, and what they added; `fitted` is what was learnt before, if anything."""
    until = _until(task, fitted, rows, until)
    after = fitted.until if fitted else -NEVER_AT
    earlier = fitted.open if fitted else no_rows(rows.features, rows.id)
    later = later_rows(task, choice.proxy, rows, earlier, (after, until))
    if fitted is None and not len(later.new.id):
        first = str(np.datetime64(int(rows.shown_at[0]), "us"))
        raise DataError("until lies before the first row", first, "give a later time, or leave it out")
    grows = fitted is not None and isinstance(fitted.forecaster.structure, ContextLayout)
    counts = fitted is None or grows or can_count(fitted.forecaster)
    known = fitted.vocabularies if fitted else {}
    vocabularies = learnt_vocabularies(task, rows.vocabularies, later.new.x, known) if counts or not fitted else known
    forecaster = forecaster_of(task, choice, vocabularies)
    before = fitted.learnt if fitted else nothing_learnt(forecaster, choice.seed)
    if fitted and grows and forecaster != fitted.forecaster:
        grown = _moved(fitted.forecaster, forecaster, before)
        if grown:
            before = grown
        else:  # no room: values beyond it stay unknown
            forecaster, vocabularies = fitted.forecaster, known
    elif fitted and forecaster != fitted.forecaster:
        tables = TableFunctions(fitted.forecaster)
        moved = tables.moved(LearntCounts(**before.tensors), TableFunctions(forecaster))
        before = before._replace(tensors=moved._asdict())
    told = later.told._replace(x=resized(task, later.told.x, known or vocabularies, vocabularies))
    new = later.new._replace(x=resized(task, later.new.x, rows.vocabularies, vocabularies))
    taken = told.followed_by(new)
    keep = taken.waiting(task, choice.proxy, until)
    learnt = learn_rows(forecaster, choice.seed, before, taken, keep)
    count = (fitted.rows if fitted else 0) + len(new.id)
    return FittedLog(vocabularies, forecaster, learnt, taken.taken(keep), count, until), later


def _moved(old: Forecaster, new: Forecaster, learnt: Learnt) -> Learnt | None:
    """What the default had learnt, laid out with more room; None if that cannot be."""
    assert isinstance(old.structure, ContextLayout)
    assert isinstance(new.structure, ContextLayout)
    wider = ContextFunctions(new.structure)
    state = ContextFunctions(old.structure).moved(ContextState(**learnt.tensors), wider)
    return state and learnt._replace(tensors=state._asdict())


def _until(task: Task, fitted: FittedLog | None, rows: LogRows, until: int | None) -> int:
    """Until when a model has learnt: the end of its log, or earlier where that is asked for."""
    known = [part[part != NEVER_AT] for part in (rows.proxies[0].known_at, rows.outcome.known_at)]
    known += [each.known_at[each.known_at != NEVER_AT] for each in rows.proxies[1:]]
    end = max(int(rows.shown_at[-1]), task.log.until or 0, *(int(part.max(initial=0)) for part in known))
    if fitted and until is not None and until < fitted.until:
        told = str(np.datetime64(fitted.until, "us"))
        raise DataError("until lies before what the model has learnt", told, "give a later time, or leave it out")
    found = end if until is None else min(until, end)
    return max(found, fitted.until) if fitted else found


def learnt_vocabularies(task: Task, read: Vocabularies, x: Instance, known: Vocabularies) -> dict[str, Vocabulary]:
    """The vocabularies that were `read`, without what rows later than those of `x` hold; never less than `known`."""
    found, slot = {}, len(task.symbols)
    for feature in task.instance:
        if isinstance(feature, Category):
            codes = x.symbols[:, task.symbols.index(feature.name)][:, None]
        elif isinstance(feature, SetFeature):
            width = feature.slots or read[feature.name].slots
            codes, slot = x.symbols[:, slot : slot + width], slot + width
        else:
            continue
        values, before = read[feature.name].values, known.get(feature.name, Vocabulary(()))
        if not feature.hashed and not feature.values:
            values = values[: max(int(codes.max(initial=EMPTY)) + 1, len(before.values))]
        fullest = int((codes >= 0).sum(axis=1).max(initial=1))
        slots = getattr(feature, "slots", None) or max(fullest, before.slots)
        found[feature.name] = Vocabulary(values, slots)
    return found


def resized(task: Task, x: Instance, read: Vocabularies, wanted: Vocabularies) -> Instance:
    """Instances encoded by the vocabularies that were `read`, as those that are `wanted` encode them."""
    symbols, slot = [x.symbols[:, : len(task.symbols)].copy()], len(task.symbols)
    for feature in task.instance:
        if isinstance(feature, Category) and not feature.hashed:
            column = symbols[0][:, task.symbols.index(feature.name)]
            column[column >= _size(feature, wanted)] = EMPTY
        elif isinstance(feature, SetFeature):
            width, room = (feature.slots or each[feature.name].slots for each in (read, wanted))
            codes, slot = x.symbols[:, slot : slot + width], slot + width
            codes = np.where(codes >= (feature.hashed or _size(feature, wanted)), EMPTY, codes)[:, :room]
            symbols.append(np.pad(codes, ((0, 0), (0, room - codes.shape[1])), constant_values=EMPTY))
    return Instance(np.concatenate(symbols, axis=1).astype(np.int32), x.dense)


def _size(feature: Category | SetFeature, vocabularies: Vocabularies) -> int:
    return len(vocabularies[feature.name].values)
