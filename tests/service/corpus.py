"""Bodies that cannot be right, for every address that takes one."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.service.fake import FEATURES


class Place(NamedTuple):
    """An address, the type it takes, and a body that is right."""

    name: str
    path: str
    media: str
    body: bytes

    @property
    def lines(self) -> bool:
        return self.media == "application/x-ndjson"


def _bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


ASKED = {"id": "new", "features": FEATURES}
JSON, NDJSON = "application/json", "application/x-ndjson"
PLACES = [
    Place("one prediction", "/v1/predictions", JSON, _bytes(ASKED)),
    Place("candidates", "/v1/predictions", JSON, _bytes({"candidates": [ASKED | {"id": "first"}, ASKED]})),
    Place("one proxy", "/v1/proxies", JSON, _bytes({"id": "new", "value": "some"})),
    Place("proxies", "/v1/proxies", JSON, _bytes([{"id": "first", "value": "some"}, {"id": "new", "value": "some"}])),
    Place("one outcome", "/v1/outcomes", JSON, _bytes({"id": "new", "value": "left"})),
    Place("outcomes", "/v1/outcomes", JSON, _bytes([{"id": "first", "value": "left"}, {"id": "new", "value": "left"}])),
    Place("bulk prediction", "/v1/events", NDJSON, _bytes({"kind": "prediction"} | ASKED)),
    Place(
        "bulk outcome", "/v1/events", NDJSON,
        b'{"kind":"proxy","id":"first","value":"some"}\n{"kind":"outcome","id":"new","value":"left"}\n',
    ),
]  # fmt: skip

NOT_JSON = {
    "empty": b"",
    "blank": b" \n",
    "cut off": b'{"id":',
    "word": b"nonsense",
    "nan": b"NaN",
    "infinity": b"-Infinity",
    "too large a number": b"1e999",
    "single quotes": b"{'id':'a'}",
    "comment": b'{"id":"a"} // no',
    "two values": b"{} {}",
    "byte order mark": b"\xef\xbb\xbf{}",
    "utf-16": '{"id":"a"}'.encode("utf-16"),
    "bad utf-8": b'{"id":"\xff\xfe"}',
    "nul": b'{"id":"a"}\x00',
    "deep arrays": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep and open": b"[" * 100_000,
    "null": b"null",
    "number": b"17",
    "text": b'"text"',
    "empty object": b"{}",
    "empty list": b"[]",
    "list of lists": b"[[]]",
    "gzip": bytes.fromhex("1f8b08000000000000ff"),
}

IDS = {
    "id of nothing": b'""',
    "id with NUL": b'"a\\u0000b"',
    "id with a line end": b'"new\\n"',
    "id with DEL": b'"a\\u007f"',
    "id with a control": b'"a\\u0085"',
    "lone surrogate": b'"\\ud800"',
    "low surrogate": b'"\\udc00x"',
    "surrogates reversed": b'"\\udc00\\ud800"',
    "surrogate in utf-8": b'"\xed\xa0\x80"',
    "overlong utf-8": b'"\xc0\x80"',
    "raw control": b'"a\x01"',
    "bad escape": b'"\\x41"',
    "id of 201 bytes": b'"%b"' % (b"x" * 201),
    "id of 201 bytes in 67 characters": f'"{"書" * 67}"'.encode(),
    "id as number": b"7",
    "id as null": b"null",
    "id as object": b"{}",
    "id as list": b'["a"]',
    "id as true": b"true",
}

FEATURE_VALUES = {
    "nan": (b"7.5", b"NaN"),
    "infinity": (b"7.5", b"Infinity"),
    "1e999": (b"7.5", b"1e999"),
    "-1e999": (b"7.5", b"-1e999"),
    "2^53": (b"7.5", b"9007199254740992"),
    "2^53+1": (b"7.5", b"9007199254740993"),
    "2^53+1 with a point": (b"7.5", b"9007199254740993.0"),
    "1e308": (b"7.5", b"1e308"),
    "400 digits": (b"7.5", b"9" * 400),
    "5000 digits": (b"7.5", b"9" * 5000),
    "number with a zero in front": (b"7.5", b"07.5"),
    "number as text": (b"7.5", b'"7.5"'),
    "number as true": (b"7.5", b"true"),
    "number as list": (b"7.5", b"[7.5]"),
    "number as object": (b"7.5", b'{"a":1}'),
    "deep": (b"7.5", b"[" * 100_000 + b"]" * 100_000),
    "text as number": (b'"Emma"', b"7"),
    "text as null": (b'"Emma"', b"null"),
    "text with NUL": (b'"Emma"', b'"Em\\u0000ma"'),
    "text with lone surrogate": (b'"Emma"', b'"\\ud83d"'),
    "text that is not utf-8": (b'"Emma"', b'"\xff"'),
    "true as number": (b"false", b"1"),
    "true as text": (b"false", b'"false"'),
    "set with an unknown value": (b'"love"', b'"war"'),
    "set of numbers": (b'["love"]', b"[1]"),
    "set of sets": (b'["love"]', b'[["love"]]'),
    "no date": (b"2026-11-16T", b"2026-02-30T"),
    "date without a zone": (b"09:30:00Z", b"09:30:00"),
    "unknown feature": (b'"gift"', b'"gilt"'),
    "missing feature": (b'"gift":false,', b""),
    "feature twice": (b'"gift":false', b'"gift":false,"gift":false'),
    "feature twice, escaped": (b'"gift":false', b'"gift":false,"\\u0067ift":true'),
    "features too large": (b'"Emma"', b'"%b"' % (b"x" * 20_000)),
    "features as list": (b'"features":{', b'"features":[{'),
    "features as text": (b'"features":{', b'"features":"{'),
    "features twice": (b'"features":{', b'"features":{},"features":{'),
}

FEEDBACK_VALUES = {
    "unknown value": b'"unheard of"',
    "value in capitals": b'"SOME"',
    "value with a line end": b'"some\\n"',
    "value as number": b"1",
    "value as null": b"null",
    "value as list": b'["some"]',
    "value twice": b'"some","value":"some"',
    "value as lone surrogate": b'"\\ud800"',
}

FIELDS = {
    "unknown field": b'"extra":1,',
    "id twice": b'"id":"new",',
    "id twice, differing": b'"id":"other",',
    "id twice, escaped": b'"\\u0069d":"new",',
    "moment of its own": b'"at":1,',
    "moment as text": b'"at":"now",',
    "moment as fraction": b'"at":1.5,',
    "rank of one": b'"rank":true,',
}


def malformed(place: Place) -> Iterator[tuple[str, bytes]]:
    """Names and bodies, each wrong in one way, for one address."""
    yield from NOT_JSON.items()
    for name, id in IDS.items():
        yield name, place.body.replace(b'"id":"new"', b'"id":' + id)
    for name, field in FIELDS.items():
        yield name, place.body.replace(b'"id":"new"', field + b'"id":"new"')
    yield "no id", place.body.replace(b'"id":"new",', b"")
    if b"features" in place.body:
        for name, (right, wrong) in FEATURE_VALUES.items():
            yield name, wrong.join(place.body.rsplit(right, 1))
    else:
        for name, value in FEEDBACK_VALUES.items():
            yield name, _with(place.body, b'"value":', value, b"}")
    yield from _lines(place) if place.lines else _objects(place)


def _objects(place: Place) -> Iterator[tuple[str, bytes]]:
    yield "a comma at the end", place.body[:-1] + b"," + place.body[-1:]
    yield "something after", place.body + b"x"
    yield "twice", place.body + place.body
    if place.name == "candidates":
        for name, extra in _RANKS.items():
            yield name, place.body[:-1] + b"," + extra + b"}"
        yield "more candidates than the limit", _bytes({"candidates": [ASKED] * 1001})
        yield "candidates of nothing", b'{"candidates":[]}'


def _lines(place: Place) -> Iterator[tuple[str, bytes]]:
    right = place.body.strip()
    for name, body in NOT_JSON.items():
        if body.strip():
            yield f"{name} as a line", right + b"\n" + body
    for name, kind in {"unknown kind": b'"guess"', "kind as number": b"1", "kind as null": b"null"}.items():
        yield name, _with(place.body, b'"kind":', kind, b",")
    yield "no kind", right.replace(b'"kind":"prediction",', b"").replace(b'"kind":"outcome",', b"")
    yield "kind twice", right.replace(b'"kind"', b'"kind":"outcome","kind"')
    yield "all in one line", right.replace(b"\n", b" ") + b' {"kind":"proxy","id":"z","value":"some"}'
    yield "as a list", b"[" + right.replace(b"\n", b",") + b"]"
    yield "more lines than the limit", b'{"kind":"proxy","id":"new","value":"some"}\n' * 10_001


def _with(body: bytes, key: bytes, value: bytes, until: bytes) -> bytes:
    """A body with another value for the last of these keys."""
    start, _, end = body.rpartition(key)
    return start + key + value + end[end.index(until) :]


_RANKS = {
    "rank by nothing": b'"rank":true',
    "rank by an unknown outcome": b'"rank":true,"outcome":"burnt"',
    "rank by a proxy": b'"rank":true,"outcome":"some"',
    "rank as text": b'"rank":"true","outcome":"finished"',
    "rank as number": b'"rank":1,"outcome":"finished"',
    "rank twice": b'"rank":true,"rank":true,"outcome":"finished"',
    "outcome without rank": b'"outcome":"finished"',
    "id beside candidates": b'"id":"a"',
    "features beside candidates": b'"features":{}',
}
