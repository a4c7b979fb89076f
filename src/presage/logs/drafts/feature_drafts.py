"""Lines of a draft task file for the features: what a column may be, and why another one is left out."""

import json
import math
from collections.abc import Iterable, Sequence

from presage.logs.columns import NUMBER
from presage.logs.drafts.column_looks import ColumnLook, LogLook
from presage.logs.tables import quoted

INSTANCES = (
    "instance", "item", "product", "sku", "article", "title", "repository", "repo", "campaign", "ad", "seller",
    "merchant", "listing", "offer", "video", "song", "course", "resource",
)  # fmt: skip
"""Words in the names of columns that say what is predicted for ..."""

SUBJECTS = (
    "subject", "user", "customer", "client", "account", "visitor", "session", "member", "subscriber", "buyer", "player",
    "patient", "student", "device", "person", "kunde", "kunden", "usuario",
)  # fmt: skip
"""... and for whom."""

ROWS_EACH = 10
"""Rows per value that an identity should have on average, for something to be learnt of each."""
IDS = ("id", "uuid", "guid", "key", "nr", "no", "num", "number", "nummer", "numero", "ref")
"""Last words of the names of ids."""

UNIQUE = 0.95
"""Different values per row from which on a column names the rows; those that come twice will be left out."""

LONG = 6
"""Digits that numbers which name something have at least, where their name does not say so."""

FEW = 12
"""Different whole numbers up to which they are a category, such as months, codes and small counts."""

LARGE = 100
"""Numbers as large, or as small as one part in it, get a scale: networks learn well from numbers around 1."""


def feature_lines(
    look: LogLook, free: Sequence[ColumnLook], refused: dict[str, str], identity: str | None = None
) -> list[str]:
    """A line per column: those that are offered, and those that are not with the reason."""
    keys = feature_keys(one.name for one in free)
    identity = next(iter(coarser_categories(look, [one for one in free if one.name not in refused], identity)), None)
    lines = []
    for one in free:
        key, text = keys[one.name], feature_text(look, one, keys[one.name])
        why = refused.get(one.name) or _doubtful(look, one)
        if one.name == identity:
            text = text.replace(" }", ", identity = true }", 1)
        lines.append(f"# {key} = {text}  # {why}" if why else f"{key} = {text}")
    return lines


def _doubtful(look: LogLook, one: ColumnLook) -> str | None:
    """Why a column is no feature by what it looks like; None where it may be one."""
    if one.name.startswith("truth_"):
        return "the truth is nothing to predict from"
    if one.kind == "time":
        return "was it known then?"
    if not one.filled:
        return "it is empty"
    if one.kind != "set" and one.different < 2 and one.filled == look.rows:
        return "always the same"
    if (
        one.kind in ("words", "whole")
        and look.rows > 100
        and one.different > look.rows / 2
        and not _is_number(look, one)
    ):
        return "nearly every row has another one"
    return None


def feature_text(look: LogLook, one: ColumnLook, key: str) -> str:
    """What stands behind the key of a feature, as TOML."""
    named = "" if key == one.name else f", column = {quoted_text(one.name)}"
    gaps = one.filled < look.rows
    number = _is_number(look, one)
    if number:
        kind = f'"number"{_scale(look, one)}{f", missing = {_middle(look, one)}" if gaps else ""}'
    elif one.kind == "time":
        kind = '"timestamp", parts = ["hour", "weekday"]'
    elif one.kind == "boolean":
        kind = f'"boolean"{", missing = false" if gaps else ""}'
    elif one.kind == "set":
        kind = '"set"'
    else:
        hashed = ", hashed = 65536" if look.rows > 100 and one.different > look.rows / 2 else ""
        kind = f'"category"{hashed}{_missing(one) if gaps else ""}'
    return f"{{ kind = {kind}{named} }}{'  # where it is missing: the median' if number and gaps else ''}"


def _middle(look: LogLook, one: ColumnLook) -> str:
    """The median of a number, which stands in where there is none: 0 may be a value like any other."""
    (middle,) = look.ask(f"SELECT coalesce(median({_value(one)}), 0) FROM rows")
    return _short(float(middle), 3)


def _scale(look: LogLook, one: ColumnLook) -> str:
    """The keys that bring a number near 1: where it begins, if far from 0, and the power of ten it reaches."""
    cut = f"quantile_disc({_value(one)}, [0.05, 0.95])"
    low, high = look.ask(f"SELECT {cut}[1], {cut}[2] FROM rows")
    if low is None:
        return ""
    centre = _begin(float(low), float(high))
    reach = max(abs(low - centre), abs(high - centre))
    scale = 1.0 if 1 / LARGE < reach < LARGE or not reach else float(f"1e{math.floor(math.log10(reach))}")
    keys = f", centre = {_short(centre)}" if centre else ""
    return keys + (f", scale = {_short(scale)}" if scale != 1 else "")


def _begin(low: float, high: float) -> float:
    """A round number below `low` where most numbers are larger than they differ, such as years; otherwise 0.

    >>> _begin(2013, 2024), _begin(0, 12), _begin(450, 700), _begin(1010.2, 1030)
    (2010.0, 0.0, 400.0, 1010.0)
    """
    if not 0 < high - low < low or low < LARGE:
        return 0.0
    unit = float(f"1e{math.floor(math.log10(high - low))}")
    return math.floor(low / unit) * unit


def _short(number: float, digits: int = 6) -> str:
    """A number as short as it can be written, whole ones without a point.

    >>> _short(0.001), _short(1000.0), _short(50.5), _short(1e7)
    ('0.001', '1000', '50.5', '10000000')
    """
    rounded = float(f"{number:.{digits}g}")
    return str(int(rounded)) if rounded == int(rounded) else repr(rounded)


def _value(one: ColumnLook) -> str:
    """SQL for the number in a column; NULL where there is none."""
    return NUMBER.value(quoted(one.name), "VARCHAR")


def _missing(one: ColumnLook) -> str:
    """What a category without a value is called: no value it has."""
    word = next(word for word in ("none", "missing", "(missing)", "?") if word not in one.values)
    return f", missing = {quoted_text(word)}"


def _is_number(look: LogLook, one: ColumnLook) -> bool:
    """Whether a column is read by its size: it holds fractions, or more whole numbers than could be told apart."""
    if one.kind == "whole":
        return not _like_an_id(look, one) and (one.different > FEW or not _plain(one))
    return one.kind == "number"


def _plain(one: ColumnLook) -> bool:
    """Whether whole numbers are written as such and not as "3.0", which elsewhere is another word."""
    return all(value.removeprefix("-").isdigit() for value in one.values)


def _like_an_id(look: LogLook, one: ColumnLook) -> bool:
    """Whether whole numbers are names: by what they are called, or as they are all different and equally long."""
    called = set(one.words[-1:]) & set(IDS) or set(one.words[:1]) & set(IDS[:3])
    lengths = {len(str(int(end))) for end in (one.low or 0, one.high or 0)}
    numbered = 2 * one.different > look.rows > 100 and len(lengths) == 1 and min(lengths) >= LONG
    return bool(called) or set(one.words) <= {*INSTANCES, *SUBJECTS} or numbered


def coarser_categories(look: LogLook, offered: Sequence[ColumnLook], identity: str | None = None) -> list[str]:
    """The names of the identity, where there is one, and of the categories coarser than it, the coarsest first."""
    found = {
        one.name: one for one in offered if not _doubtful(look, one) and '"category"' in feature_text(look, one, "")
    }
    names = {
        name: one for name, one in found.items() if one.kind != "whole" or one.different < 3 or _like_an_id(look, one)
    }
    found = names or found
    if identity not in found:
        items = [name for name, one in found.items() if set(one.words) & set(INSTANCES)]
        often = [name for name, one in found.items() if ROWS_EACH * one.different <= look.rows]
        named = items or [name for name in often if set(found[name].words) & set(SUBJECTS)]
        identity = max(named or often, key=lambda n: found[n].different, default=None)
        identity = identity or min(found, key=lambda n: found[n].different, default=None)
    if identity is None:
        return []
    coarser = [n for n in found if found[n].different < found[identity].different]
    return [identity, *sorted(coarser, key=lambda n: found[n].different)]


def row_identifier(look: LogLook, used: Iterable[str | None]) -> str | None:
    """The column that names each row, where one does: all different, and called like an id."""
    taken = set(used)
    unique = [
        one for one in look.columns.values() if one.name not in taken and one.words and one.kind in ("words", "whole")
        and one.different >= UNIQUE * look.rows
    ]  # fmt: skip
    named = [one for one in unique if one.words[-1] in IDS or one.words[0] in IDS[:3]]
    return min(named, key=lambda one: len(one.words)).name if named else None


def feature_keys(names: Iterable[str]) -> dict[str, str]:
    """The key of each column in a task file: its name with plain letters, and a number where two would be the same."""
    keys: dict[str, str] = {}
    for name in names:
        key = plain_key(name)
        while key in keys.values():
            key += "_"
        keys[name] = key
    return keys


def plain_key(name: str) -> str:
    """A name with plain letters only.

    >>> plain_key("größe (cm)")
    'gr__e__cm_'
    """
    return (
        "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in name) or "_"
    )


def quoted_text(text: str | None) -> str:
    """Words as TOML takes them."""
    return json.dumps(text or "", ensure_ascii=False)
