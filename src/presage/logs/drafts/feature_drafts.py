"""Lines of a draft task file for the features: what a column may be, and why another one is left out."""

import json
from collections.abc import Iterable, Sequence

from presage.logs.columns import NUMBER
from presage.logs.drafts.column_looks import ColumnLook, LogLook
from presage.logs.drafts.signal_guesses import rounded_edges
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

QUANTILES = "[0.2, 0.4, 0.6, 0.8, 0.95]"


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
        and not _is_count(look, one)
    ):
        return "nearly every row has another one"
    return None


def feature_text(look: LogLook, one: ColumnLook, key: str) -> str:
    """What stands behind the key of a feature, as TOML."""
    named = "" if key == one.name else f", column = {quoted_text(one.name)}"
    gaps = one.filled < look.rows
    if _is_count(look, one):
        kind = f'"count", edges = {json.dumps(_edges(look, one))}{", missing = 0" if gaps else ""}'
    elif one.kind == "time":
        kind = '"timestamp", parts = ["hour", "weekday"]'
    elif one.kind == "number":
        kind = f'"number"{f", missing = {_middle(look, one)}" if gaps else ""}'
    elif one.kind == "boolean":
        kind = f'"boolean"{", missing = false" if gaps else ""}'
    elif one.kind == "set":
        kind = '"set"'
    else:
        hashed = ", hashed = 65536" if look.rows > 100 and one.different > look.rows / 2 else ""
        kind = f'"category"{hashed}{_missing(one) if gaps else ""}'
    return f"{{ kind = {kind}{named} }}" + (
        "  # where it is missing: the median" if one.kind == "number" and gaps else ""
    )


def _middle(look: LogLook, one: ColumnLook) -> str:
    """The median of a number, which stands in where there is none: 0 may be a value like any other."""
    number = NUMBER.value(quoted(one.name), "VARCHAR")
    return f"{float(look.ask(f'SELECT coalesce(median({number}), 0) FROM rows')[0]):.3g}"


def _missing(one: ColumnLook) -> str:
    """What a category without a value is called: no value it has."""
    word = next(word for word in ("none", "missing", "(missing)", "?") if word not in one.values)
    return f", missing = {quoted_text(word)}"


def _is_count(look: LogLook, one: ColumnLook) -> bool:
    return one.kind == "whole" and one.different > 2 and not _like_an_id(look, one)


def _like_an_id(look: LogLook, one: ColumnLook) -> bool:
    """Whether whole numbers are names: by what they are called, or as they are all different and equally long."""
    called = set(one.words[-1:]) & set(IDS) or set(one.words[:1]) & set(IDS[:3])
    lengths = {len(str(int(end))) for end in (one.low or 0, one.high or 0)}
    numbered = 2 * one.different > look.rows > 100 and len(lengths) == 1 and min(lengths) >= LONG
    return bool(called) or set(one.words) <= {*INSTANCES, *SUBJECTS} or numbered


def _edges(look: LogLook, one: ColumnLook) -> tuple[float, ...]:
    """Rounded quantiles that differ; where most values are the same, the next number."""
    number = f"try_cast({quoted(one.name)} AS DOUBLE)"
    cut, least = f"quantile_disc({number}, {QUANTILES})", f"min({number}) FILTER ({number} > {one.low})"
    quantiles, above = look.ask(f"SELECT {cut}, {least} FROM rows WHERE {number} IS NOT NULL")
    return rounded_edges(quantiles, one.low) or (int(above),)


def coarser_categories(look: LogLook, offered: Sequence[ColumnLook], identity: str | None = None) -> list[str]:
    """The names of the identity, where there is one, and of the categories coarser than it, the coarsest first."""
    found = {
        one.name: one for one in offered if not _doubtful(look, one) and '"category"' in feature_text(look, one, "")
    }
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
