"""JSON schemas of request bodies, for a task and its limits."""

from typing import Any

from presage.service.http.strict_json import EXACT
from presage.service.limits import Limits
from presage.task.features import Boolean, Category, Count, Feature, Number, SetFeature
from presage.task.signals import Signal
from presage.task.task import Task

Schema = dict[str, Any]


def request_schemas(task: Task, limits: Limits) -> dict[str, Schema]:
    """The schemas by name."""
    moment = {"at": {"type": "integer", "minimum": 0, "maximum": EXACT}} if limits.clock == "events" else {}
    id = {"id": _ref("Id")} | moment
    candidates = {"type": "array", "items": _ref("Candidate"), "minItems": 1, "maxItems": limits.candidates}
    outcome = {"type": "string", "enum": list(task.outcome.values)}
    prediction, plain = id | {"features": _ref("Features")}, {"candidates": candidates}
    proxy, reached = id | {"value": _value(task.proxy())}, id | {"value": _value(task.outcome)}
    ranked = plain | {"rank": {"const": True}, "outcome": outcome}
    return {
        "Id": _id(limits),
        "Features": _features(task),
        "Candidate": _object(prediction, "A request for a prediction."),
        "Candidates": _object(plain | {"rank": {"const": False}}, "A batch of candidates.", optional=("rank",)),
        "RankedCandidates": _object(ranked, "A batch of candidates, ranked by the probability of an outcome."),
        "Proxy": _object(proxy, "A proxy that became known."),
        "Outcome": _object(reached, "An outcome that became known."),
        "PredictionEvent": _object({"kind": {"const": "prediction"}} | prediction, "A prediction in a bulk."),
        "ProxyEvent": _object({"kind": {"const": "proxy"}} | proxy, "A proxy in a bulk."),
        "OutcomeEvent": _object({"kind": {"const": "outcome"}} | reached, "An outcome in a bulk."),
        "Event": {"oneOf": [_ref("PredictionEvent"), _ref("ProxyEvent"), _ref("OutcomeEvent")]},
    }


def _id(limits: Limits) -> Schema:
    about = f"Any text of at most {limits.id_bytes} bytes of UTF-8 without control characters; compared byte by byte."
    pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"
    return {"type": "string", "minLength": 1, "maxLength": limits.id_bytes, "pattern": pattern, "description": about}


def _features(task: Task) -> Schema:
    required = [feature.name for feature in task.instance if feature.missing is None]
    properties = {feature.name: _feature(feature) for feature in task.instance}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _feature(feature: Feature) -> Schema:
    if isinstance(feature, Category):
        found = _text(feature.values)
    elif isinstance(feature, SetFeature):
        found = {"type": "array", "items": _text(feature.values)}
        if feature.slots is not None and not 0 < len(feature.values) <= feature.slots:
            found["maxItems"] = feature.slots
    elif isinstance(feature, Number | Count):
        least, most = (
            (feature.least, feature.most) if isinstance(feature, Number) and not feature.clips else (None, None)
        )
        found = {
            "type": "number",
            "minimum": -EXACT if least is None else max(least, -EXACT),
            "maximum": EXACT if most is None else min(most, EXACT),
        }
    elif isinstance(feature, Boolean):
        found = {"type": "boolean"}
    else:
        found = {"type": "string", "format": "date-time"}
    return found if feature.missing is None else {"anyOf": [found, {"type": "null"}]}


def _text(values: tuple[str, ...]) -> Schema:
    return {"type": "string", "enum": list(values)} if values else {"type": "string", "pattern": r"^[^\u0000]*$"}


def _value(signal: Signal) -> Schema:
    label = {"type": "string", "enum": list(signal.values)}
    return {"anyOf": [label, {"type": "number", "description": "Cut by the task's edges."}]} if signal.cuts else label


def _object(properties: Schema, about: str, optional: tuple[str, ...] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object", "properties": properties, "required": required, "additionalProperties": False,
        "description": about,
    }  # fmt: skip


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
