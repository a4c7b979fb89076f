"""What a refusal says, however large the request is made: it takes no longer than reading it."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.service.http.problems import RefusalError
from presage.service.http.requests import OutcomeEvent, PredictionsBody, Reader
from presage.service.http.strict_json import WORDS, check_keys, count_keys
from presage.service.limits import Limits
from tests.service.fake import FEATURES, books

LARGE = Limits().body_bytes


def refused(body: bytes) -> RefusalError:
    with pytest.raises(RefusalError) as caught:
        Reader(books(), Limits()).predictions(body)
    return caught.value


def test_a_key_twice_is_found_among_as_many_as_fit_into_a_body() -> None:
    many = b",".join(b'"%x":1' % number for number in range(LARGE // 11))
    body = b'{"id":"a","features":{%s},"features":%s}' % (many, json.dumps(FEATURES).encode())
    refusal = refused(body)
    assert refusal.what == "the key 'features' twice in one object"


@pytest.mark.parametrize("part", ["[", " - at `$", " - at `$[", " - at `$.a"])
def test_a_key_that_looks_like_a_path_is_only_a_key(part: str) -> None:
    refusal = refused(msgspec.json.encode({part * (LARGE // len(part) // 2): 1}))
    assert refusal.what.startswith("object contains unknown field")
    assert len(refusal.what) <= WORDS


@pytest.mark.parametrize(
    ("body", "where", "value"),
    [
        ({"candidates": [{"id": 3, "features": {}}]}, "$.candidates[0].id", 3),
        ({"id": "a", "features": {"title": {"x": 1}}}, "$.features[...]", None),
        ({"id": "a", "features": FEATURES, "colour": 1}, "$", None),
    ],
)
def test_a_refusal_names_the_place_and_what_stands_there(body: object, where: str, value: object) -> None:
    refusal = refused(msgspec.json.encode(body))
    assert refusal.where == where
    if value is not None:
        assert refusal.value == value


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(':"\\a\u00e9', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(':"\\a\u00e9', max_size=3), inner, max_size=3),
    max_leaves=8,
), st.booleans(), st.sampled_from([None, 1]))  # fmt: skip
def test_equal_keys_are_found_wherever_colons_and_quotes_stand(value: Any, escaped: bool, indent: int | None) -> None:
    sizes: list[int] = []
    body = json.dumps({"all": value}, ensure_ascii=escaped, indent=indent, separators=(" ,", "\n:")).encode()
    json.loads(body, object_pairs_hook=lambda pairs: sizes.append(len(pairs)))
    keys = sum(sizes)
    check_keys(body, keys)
    twice = body[:-1] + b',"all":":"}'
    with pytest.raises(RefusalError, match="'all' twice"):
        check_keys(twice, keys)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (PredictionsBody, {"id": "a", "features": {"x": 1, "y": 2}}),
        (PredictionsBody, {"id": "a", "features": {}, "at": 5}),
        (PredictionsBody, {"candidates": [{"id": "a", "features": {"x": 1}}, {"id": "b", "features": {}, "at": 1}]}),
        (PredictionsBody, {"candidates": [], "rank": True, "outcome": "left"}),
        (OutcomeEvent, {"kind": "outcome", "id": "a", "value": "left"}),
        (OutcomeEvent, {"kind": "outcome", "id": "a", "value": "left", "at": 1}),
    ],
)
def test_the_keys_of_a_body_are_counted_by_its_definition(kind: type[msgspec.Struct], body: dict[str, Any]) -> None:
    features = [body.get("features", {}), *(each["features"] for each in body.get("candidates", []))]
    sizes: list[int] = []
    sent = json.dumps(body)
    json.loads(sent, object_pairs_hook=lambda pairs: sizes.append(len(pairs)))
    assert count_keys(msgspec.json.decode(sent, type=kind)) == sum(sizes) - sum(map(len, features))
