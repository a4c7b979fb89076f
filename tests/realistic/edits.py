"""How far a draft of a task file is from a right one, in lines to change, and the draft with those lines changed."""

import json
import tomllib
from typing import Any, NamedTuple

from presage.task.spans import span
from tests.realistic.world import RealisticLog


class Corrected(NamedTuple):
    """A draft made right: the text, and each edit in words."""

    text: str
    edits: list[str]


def corrected(draft: str, log: RealisticLog, proxy: str) -> Corrected:
    """The draft with the fewest lines changed that make it a right task of one proxy of the log."""
    found, right = tomllib.loads(draft), tomllib.loads(log.task)
    edits: list[str] = []
    found["instance"] = _instance(found.get("instance", {}), right["instance"], log, edits)
    given = _tables(found.get("proxy", {}))
    wanted = _tables(right["proxy"])[proxy]
    name = next(
        (name for name, table in given.items() if _source(table) == _source(wanted)), next(iter(given), "proxy")
    )
    found["proxy"] = _signal(f"proxy {name}", given.get(name, {}), wanted, edits)
    for other, table in given.items():
        if other != name and _source(table)[1] in (*log.leaks, log.signals["outcome"]):
            edits.append(f"- [proxy.{other}]: it reads {_source(table)[1]}")
    found["outcome"] = _signal("outcome", found.get("outcome", {}), right["outcome"], edits)
    found["log"] = _lines("log", found.get("log", {}), right["log"], ("time_zone", "until"), edits)
    return Corrected(as_toml(found), edits)


def _tables(proxies: dict[str, Any]) -> dict[str, Any]:
    """The candidates by name; one without a name is called proxy."""
    named = {name: table for name, table in proxies.items() if isinstance(table, dict)}
    return named or ({"proxy": proxies} if proxies else {})


def _source(table: dict[str, Any]) -> tuple[str, str]:
    """How a signal is given, and the column or the kind of event it comes from."""
    for key in ("happened_at", "count", "first", "column"):
        if key in table:
            return key, str(table[key])
    return "column", "proxy"


def _signal(where: str, found: dict[str, Any], right: dict[str, Any], edits: list[str]) -> dict[str, Any]:
    """The table with what is wrong replaced."""
    free: tuple[str, ...] = ()
    if _source(found) == _source(right):
        cuts = "edges" in right and "column" in right
        free = ("values", "edges") if cuts else ("values", "known") if "happened_at" in right else ()
    if "count" in right and len(found.get("values", ())) == len(right["values"]):
        free = ("values",)
    return _lines(where, found, right, free, edits)


def _lines(
    where: str, found: dict[str, Any], right: dict[str, Any], free: tuple[str, ...], edits: list[str]
) -> dict[str, Any]:
    """The table with what is wrong replaced; a line taken out and one put in are one edit."""
    wrong = [key for key in found if key not in free and not _alike(key, found.get(key), right.get(key))]
    lacking = [key for key in right if key not in found]
    gone = [key for key in wrong if key not in right]
    changed = [key for key in wrong if key in right]
    edits += [f"~ {where}.{key}: {found[key]!r} to {right[key]!r}" for key in changed]
    for place in range(max(len(gone), len(lacking))):
        out = f"- {where}.{gone[place]} = {found[gone[place]]!r}" if place < len(gone) else ""
        new = f"+ {where}.{lacking[place]} = {right[lacking[place]]!r}" if place < len(lacking) else ""
        edits.append(" ".join(part for part in (out, new) if part))
    kept = {key: value for key, value in found.items() if key not in wrong}
    return kept | {key: right[key] for key in (*changed, *lacking)}


def _alike(key: str, found: Any, right: Any) -> bool:
    if key in ("horizon", "within") and isinstance(found, str) and isinstance(right, str):
        return span(key, found).microseconds == span(key, right).microseconds
    if key == "values" and isinstance(found, list) and isinstance(right, list):
        return sorted(found) == sorted(right)
    return [found] == right or found == [right] or bool(found == right)


def _instance(found: dict[str, Any], right: dict[str, Any], log: RealisticLog, edits: list[str]) -> dict[str, Any]:
    """The features without those that leak, with those that matter, and with the right identity."""
    columns = {feature.get("column", name): name for name, feature in found.items()}
    kept = dict(found)
    for column in (*log.leaks, *log.signals.values(), log.shown_at):
        name = columns.get(column)
        if name is not None and not (column == log.shown_at and found[name]["kind"] == "timestamp"):
            edits.append(f"- instance.{name}: {column} leaks")
            del kept[name]
    for name, feature in right.items():
        column = feature.get("column", name)
        if columns.get(column) not in kept:
            edits.append(f"+ instance.{name} = {feature}")
            kept[name] = {key: value for key, value in feature.items() if key != "identity"}
            columns[column] = name
        mine = kept[columns[column]]
        if mine["kind"] != feature["kind"] or ("missing" in feature and "missing" not in mine):
            edits.append(f"~ instance.{columns[column]}: {mine} to {feature}")
            kept[columns[column]] = feature
    for name in list(kept):
        column = kept[name].get("column", name)
        if column in log.gappy and "missing" not in kept[name]:
            edits.append(f"~ instance.{name}: {column} has gaps, and nothing says what stands for them")
            kept[name] = kept[name] | {"missing": "none" if kept[name]["kind"] == "category" else 0}
    _identity(kept, columns[_identity_column(right)], edits)
    return kept


def _identity_column(right: dict[str, Any]) -> str:
    name = next(name for name, feature in right.items() if feature.get("identity"))
    return str(right[name].get("column", name))


def _identity(kept: dict[str, Any], right: str, edits: list[str]) -> None:
    categories = [name for name, feature in kept.items() if feature["kind"] == "category"]
    marked = [name for name in categories if kept[name].get("identity")]
    if (marked or categories[:1]) == [right]:
        return
    for name in marked:
        edits.append(f"~ instance.{name}: not the identity")
        kept[name] = {key: value for key, value in kept[name].items() if key != "identity"}
    edits.append(f"~ instance.{right}: the identity")
    kept[right] = kept[right] | {"identity": True}


def as_toml(task: dict[str, Any]) -> str:
    """The text of a task file."""
    text = [f"{key} = {_value(value)}" for key, value in task.items() if not isinstance(value, dict)]
    for table in (key for key, value in task.items() if isinstance(value, dict)):
        text += ["", f"[{table}]", *(f"{_key(key)} = {_value(value)}" for key, value in task[table].items())]
    return "\n".join([*text, ""])


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_value(one)}' for key, one in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)
