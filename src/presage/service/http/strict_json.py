"""Strict JSON: anything ambiguous is refused.

msgspec refuses NaN, Infinity, 1e999, lone surrogates, wrong types, unknown fields and anything after the value. But it
takes the last of two equal keys, and raises another error for what is not UTF-8; both are handled here.
"""

import json
import re
from collections import Counter
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from presage.service.http.problems import INVALID, MALFORMED, RefusalError

T = TypeVar("T")

EXACT = 2**53 - 1
"""Beyond this a number may differ from the double it becomes by one or more."""

WORDS = 200
"""Characters of a message of msgspec that are passed on."""

Value = str | bool | int | float | list[str] | None
"""The JSON types of a feature."""

_NUMBERS = (int, float)
_FEATURES = msgspec.json.Decoder(dict[str, Value])
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_AT = " - at `"
_PATH = re.compile(r"(?:key in )?(\$(?:\.\w+|\[(?:\d+|\.\.\.)\])*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_BYTE = re.compile(r"\(byte (\d+)\)")


def decode(decoder: "msgspec.json.Decoder[T]", body: bytes, where: str = "$") -> T:
    """A decoded body; raise RefusalError with the place of an error. Equal keys are left to `check_keys`."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _invalid(error, body, where) from None
    except msgspec.DecodeError as error:
        found = _BYTE.search(str(error))
        around = body[max(int(found[1]) - 20, 0) :][:40] if found else body[-40:]
        raise _malformed(f"not JSON: {error}", around, where) from None
    except UnicodeDecodeError as error:
        raise _malformed("not UTF-8", error.object[error.start :][:20], where) from None
    except RecursionError:
        raise _malformed("nested too deep", body[:40], where, "nest objects less deeply") from None


def decode_features(sent: bytes, where: str) -> dict[str, Value]:
    """The features by name. A number so large that a double would change it is refused."""
    values = decode(_FEATURES, sent, where)
    for name, value in values.items():
        if isinstance(value, _NUMBERS) and not -EXACT <= value <= EXACT:
            remedy = f"send at most {EXACT} in size (2^53 - 1), or text"
            raise RefusalError(INVALID, "the number is too large to be exact", remedy, f"{where}.{name}", value)
    if b"\\u0000" in sent and any("\0" in text for pair in values.items() for text in _texts(*pair)):
        raise RefusalError(INVALID, "the text has a NUL character", "leave it out", where)
    return values


def count_keys(sent: msgspec.Struct | list[Any]) -> int:
    """How many keys a decoded body has, by the definition of its structs; those inside of a Raw field do not count."""
    if isinstance(sent, list):
        return sum(map(count_keys, sent))
    found, optional = _keys_of(type(sent))
    for name in optional:
        value = getattr(sent, name)
        if value is not UNSET:
            found += 1 + (count_keys(value) if isinstance(value, list) else 0)
    return found


@cache
def _keys_of(kind: type[msgspec.Struct]) -> tuple[int, tuple[str, ...]]:
    """How many keys an object of a kind always has, its tag among them, and the fields that it may have besides."""
    fields = msgspec.structs.fields(kind)
    always = sum(field.required for field in fields) + (kind.__struct_config__.tag is not None)
    return always, tuple(field.name for field in fields if not field.required)


def check_keys(body: bytes, keys: int) -> None:
    """Raise RefusalError if an object of `body`, which was decoded into `keys` keys in all, has a key twice.

    >>> check_keys(b'{"a": {"b": "c:d"}}', 2)
    """
    # A valid text has one colon for each key, and those inside of strings, which are taken out only if there are any.
    if body.count(b":") == keys or _outside(body).count(b":") == keys:
        return
    raise _malformed(f"the key {_repeated(body)!r} twice in one object", body[:80], "$", "send each key once")


def _outside(body: bytes) -> bytes:
    """The parts of a valid text outside of its strings."""
    return _STRINGS.sub(b"", body) if b"\\" in body else b"".join(body.split(b'"')[::2])


def _texts(name: str, value: Value) -> list[str]:
    return [name, *(value if isinstance(value, list) else [value] if isinstance(value, str) else [])]


def _repeated(body: bytes) -> str:
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        found.extend(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)

    json.loads(body, object_pairs_hook=note)
    return found[0] if found else ""


def _malformed(what: str, around: bytes, where: str, remedy: str = "send JSON in UTF-8") -> RefusalError:
    return RefusalError(MALFORMED, what, remedy, where, around.decode("utf-8", "backslashreplace"))


def _invalid(error: msgspec.ValidationError, body: bytes, where: str) -> RefusalError:
    """The refusal of a value of the wrong type: the message of msgspec has the type it expected, and mostly the path.

    The message repeats keys as they were sent, however long: nothing here takes longer than reading them.
    """
    message, _, rest = str(error).rpartition(_AT)
    found = _PATH.fullmatch(rest)
    what, path = (message, found[1]) if found else (str(error), "$")
    remedy = "leave it out" if "unknown field" in what[:WORDS] else "send what /openapi.json describes"
    what = what.replace("`", "")[:WORDS]
    return RefusalError(INVALID, what[:1].lower() + what[1:], remedy, f"{where}{path[1:]}", _value_at(path, body))


def _value_at(path: str, body: bytes) -> Any:
    """The value at a path such as $.candidates[3].id; None where the path is ambiguous."""
    try:
        value: Any = msgspec.json.decode(body)
        for name, place in _STEP.findall(path):
            value = value[name] if name else value[int(place)]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return value
