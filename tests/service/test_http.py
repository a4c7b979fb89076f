"""The service over HTTP: what is answered to what is right, and that nothing changes by what is wrong."""

import asyncio
import json
import re
import sys
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.errors import BusyError, StoreFailedError, StoreFullError
from presage.service.http.app import create_app
from presage.service.http.problems import RefusalError
from presage.service.http.requests import Reader
from presage.service.interface import PredictionRequest
from presage.service.limits import Limits
from tests.service.asking import JSON, NDJSON, Asking
from tests.service.corpus import PLACES, Place, malformed
from tests.service.fake import EMMA, FEATURES, FakeService, books


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_a_prediction_has_a_probability_for_each_outcome_and_names_its_model(ask: Asking) -> None:
    answer = ask.post("/v1/predictions", EMMA)
    assert answer.status_code == 200
    reply = answer.json()
    assert list(reply) == ["id", "status", "seq", "model", "probabilities"]
    assert (reply["id"], reply["status"], reply["seq"], reply["model"]) == ("emma", "accepted", 1, 0)
    assert list(reply["probabilities"]) == ["left", "finished"]
    assert sum(reply["probabilities"].values()) == pytest.approx(1)


def test_the_same_again_is_repeated_and_other_features_are_a_conflict(ask: Asking, service: FakeService) -> None:
    first = ask.post("/v1/predictions", EMMA).json()
    again = ask.post("/v1/predictions", EMMA)
    assert again.status_code == 200
    assert again.json() == first | {"status": "repeated"}
    other = ask.post("/v1/predictions", EMMA | {"features": FEATURES | {"gift": True}})
    assert other.status_code == 409
    assert other.headers["content-type"] == "application/problem+json"
    assert service.head == 1


def test_features_are_passed_on_as_the_very_bytes_that_were_sent(ask: Asking, service: FakeService) -> None:
    sent = json.dumps(FEATURES, indent=3).replace("Emma", "\\u0045mm\\u00e4 \u2028").encode()
    ask.post("/v1/predictions", content=b'{ "features" :  ' + sent + b' , "id":"emma"}', headers=JSON)
    event = b'{"kind":"prediction","id":"bulk","features":%b}' % sent.replace(b"\n", b" ")
    ask.post("/v1/events", content=event, headers=NDJSON)
    kept = [entry.features for entry in service.log if isinstance(entry, PredictionRequest)]
    assert kept == [sent, sent.replace(b"\n", b" ")]


@pytest.mark.parametrize("outcome", ["left", "finished"])
def test_candidates_are_ranked_by_the_probability_of_an_outcome(ask: Asking, outcome: str) -> None:
    candidates = [{"id": str(each), "features": FEATURES} for each in range(50)]
    plain = ask.post("/v1/predictions", {"candidates": candidates}).json()["predictions"]
    assert [each["id"] for each in plain] == [str(each) for each in range(50)]
    answer = ask.post("/v1/predictions", {"candidates": candidates, "rank": True, "outcome": outcome})
    ranked = answer.json()["predictions"]
    chances = [each["probabilities"][outcome] for each in ranked]
    assert chances == sorted(chances, reverse=True)
    assert {each["id"] for each in ranked} == {each["id"] for each in plain}
    assert len(set(chances)) > 10


def test_a_candidate_in_conflict_is_told_and_ranked_last_while_the_others_are_answered(ask: Asking) -> None:
    ask.post("/v1/predictions", EMMA)
    candidates = [EMMA | {"features": FEATURES | {"gift": True}}, EMMA | {"id": "other"}]
    answer = ask.post("/v1/predictions", {"candidates": candidates, "rank": True, "outcome": "left"})
    assert answer.status_code == 200
    last = answer.json()["predictions"][-1]
    assert (last["id"], last["status"], last["probabilities"]) == ("emma", "conflict", {})
    assert last["why"]


@pytest.mark.parametrize(
    ("path", "value", "other"), [("/v1/proxies", "some", "much"), ("/v1/outcomes", "left", "finished")]
)
def test_feedback_is_accepted_once_repeated_or_in_conflict(
    ask: Asking, service: FakeService, path: str, value: str, other: str
) -> None:
    first = ask.post(path, {"id": "emma", "value": value})
    assert (first.status_code, first.json()["status"], first.json()["bin"]) == (200, "accepted", "parked")
    again = ask.post(path, {"id": "emma", "value": value})
    assert (again.status_code, again.json()["status"]) == (200, "repeated")
    conflict = ask.post(path, {"id": "emma", "value": other})
    assert (conflict.status_code, conflict.json()["value"]) == (409, "emma")
    assert service.head == 1


def test_a_list_of_feedback_is_counted_and_its_conflicts_are_named(ask: Asking, service: FakeService) -> None:
    sent = [
        {"id": id, "value": value} for id, value in (("a", "left"), ("b", "left"), ("a", "left"), ("b", "finished"))
    ]
    reply = ask.post("/v1/outcomes", sent).json()
    assert (reply["accepted"], reply["repeated"], reply["conflicts"]) == (2, 1, 1)
    assert [(each["line"], each["id"]) for each in reply["conflicting"]] == [(4, "b")]
    assert service.head == 2


def test_a_bulk_takes_any_mix_and_names_conflicts_by_line(ask: Asking, service: FakeService) -> None:
    outcome = {"kind": "outcome", "id": "emma", "value": "left"}
    body = lines({"kind": "prediction"} | EMMA, {"kind": "proxy", "id": "emma", "value": "some"}, outcome, outcome)
    body = body + b"\r\n\n" + lines(outcome | {"value": "finished"})
    reply = ask.post("/v1/events", content=body, headers=NDJSON).json()
    assert reply["conflicting"] == [{"line": 7, "id": "emma", "why": "the value left"}]
    assert (reply["accepted"], reply["repeated"], reply["conflicts"]) == (3, 1, 1)
    assert service.head == 3


def test_a_bulk_with_wrong_lines_names_each_of_them_and_takes_nothing(ask: Asking, service: FakeService) -> None:
    right = {"kind": "proxy", "id": "emma", "value": "some"}
    body = lines(right, right | {"value": "x"}, right) + b"{\n" + lines(right | {"id": 3})
    answer = ask.post("/v1/events", content=body, headers=NDJSON)
    assert (answer.status_code, answer.json()["refused"]) == (422, 3)
    assert [each["line"] for each in answer.json()["lines"]] == [2, 4, 5]
    unfit = {"kind": "prediction", "id": "unfit", "features": FEATURES | {"gift": "yes"}}
    answer = ask.post("/v1/events", content=lines(right, unfit), headers=NDJSON)
    assert [(each["line"], each["where"]) for each in answer.json()["lines"]] == [(2, "$.features")]
    assert service.head == 0


def test_features_that_do_not_fit_are_refused_by_the_place_of_their_candidate(
    ask: Asking, service: FakeService
) -> None:
    unfit = EMMA | {"features": FEATURES | {"genres": ["war"]}}
    assert ask.post("/v1/predictions", unfit).json()["where"] == "$.features"
    answer = ask.post("/v1/predictions", {"candidates": [EMMA, unfit]})
    assert (answer.status_code, answer.json()["where"], answer.json()["value"]) == (
        422,
        "$.candidates[1].features",
        "war",
    )
    assert service.head == 0


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_whatever_is_malformed_is_answered_4xx_with_a_reason_and_changes_nothing(
    ask: Asking, service: FakeService, place: Place
) -> None:
    tried = dict(malformed(place))
    for name, body in tried.items():
        answer = ask.post(place.path, content=body, headers={"content-type": place.media})
        assert 400 <= answer.status_code < 500, (name, body[:200])
        assert answer.headers["content-type"] == "application/problem+json", name
        problem = answer.json()
        assert problem["status"] == answer.status_code
        assert all(problem[part] for part in ("what", "where", "remedy")), name
        assert "value" in problem
        assert len(answer.content) < 50_000, name
        assert service.head == 0, name
    assert len(tried) >= 60
    assert ask.post(place.path, content=place.body, headers={"content-type": place.media}).status_code == 200
    assert service.head >= 1


PATHS = [
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "C:\\x",
    "a/b",
    "%2e%2e",
    "file:///x",
    "a b?c#d",
    "~",
    "書/é",
    "x" * 200,
]


@pytest.mark.parametrize("id", PATHS)
def test_an_id_is_any_text_even_one_that_looks_like_a_path(ask: Asking, service: FakeService, id: str) -> None:
    assert ask.post("/v1/predictions", EMMA | {"id": id}).status_code == 200
    found = ask.get(f"/v1/predictions/{quote(id, safe='').replace('.', '%2E')}")
    assert (found.status_code, found.json()["id"]) == (200, id)


def test_no_request_names_a_file(ask: Asking) -> None:
    opened: list[str] = []
    listening = True

    def listen(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event in ("open", "os.listdir", "os.remove", "os.mkdir", "os.rename"):
            opened.append(str(arguments[0]))

    sys.addaudithook(listen)
    for id in PATHS:
        ask.post("/v1/predictions", EMMA | {"id": id})
        ask.post("/v1/proxies", {"id": id, "value": "some"})
        ask.get(f"/v1/predictions/{id.replace('?', '').replace('#', '')}")
        ask.get("/" + id.replace("?", "").replace("#", ""))
    listening = False
    assert opened == []


@pytest.mark.parametrize("path", ["%ff", "%ed%a0%80", "a%00b", "a%0A", "", "x" * 201, "%E6%9B%B8" * 67])
def test_a_look_up_of_what_cannot_be_an_id_is_refused(ask: Asking, path: str) -> None:
    answer = ask.get(f"/v1/predictions/{path}")
    assert 400 <= answer.status_code < 500
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_look_up_tells_what_is_known(ask: Asking) -> None:
    assert ask.get("/v1/predictions/emma").status_code == 404
    ask.post("/v1/proxies", {"id": "emma", "value": "some"})
    parked = ask.get("/v1/predictions/emma").json()
    assert (parked["predicted_at"], parked["probabilities"]) == (None, None)
    assert parked["proxy"] == {"value": "some", "bin": "parked"}
    told = ask.post("/v1/predictions", EMMA).json()
    known = ask.get("/v1/predictions/emma").json()
    assert known["probabilities"] == told["probabilities"]
    assert known["proxy"]["bin"] == "trained"
    assert known["outcome"] == {"value": None, "bin": "awaited"}
    assert list(known["nowcast"]) == ["left", "finished"]


def test_health_and_readiness_are_told_apart(ask: Asking, service: FakeService) -> None:
    service.why = "the log is being read"
    assert ask.get("/healthz").json() == {"status": "ok", "why": ""}
    answer = ask.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "unavailable", "why": "the log is being read"})
    service.error = StoreFailedError("the disk fails", "EIO", "replace it")
    assert ask.post("/v1/proxies", {"id": "a", "value": "some"}).status_code == 503
    assert ask.get("/healthz").status_code == 503


@pytest.mark.parametrize("error", [BusyError("busy", 1, "wait"), StoreFullError("full", 1, "make room")])
def test_back_pressure_and_a_full_disk_say_when_to_come_again(error: Exception) -> None:
    service = FakeService(books())
    ask = Asking(create_app(service, books(), Limits(retry_seconds=3)))
    for path, body in (("/v1/predictions", EMMA), ("/v1/proxies", {"id": "a", "value": "some"})):
        service.error = error
        assert ask.post(path, body).headers["retry-after"] == "3"
    assert service.head == 0


def test_where_events_carry_the_time_it_is_passed_on_and_required() -> None:
    service = FakeService(books())
    ask = Asking(create_app(service, books(), Limits(clock="events")))
    assert ask.post("/v1/predictions", EMMA).status_code == 422
    for at in (-1, 2**53, 1.5, "1", None):
        assert ask.post("/v1/predictions", EMMA | {"at": at}).status_code == 422
    assert ask.post("/v1/predictions", EMMA | {"at": 1_700_000_000_000_000}).status_code == 200
    assert ask.post("/v1/proxies", {"id": "a", "value": "some", "at": 5}).status_code == 200
    assert [entry.at for entry in service.log] == [1_700_000_000_000_000, 5]


def test_metrics_follow_the_conventions_of_prometheus(ask: Asking) -> None:
    ask.post("/v1/predictions", EMMA)
    ask.get("/nowhere")
    answer = ask.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.text
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(line.startswith("presage_") for line in samples)
    assert "_created" not in text
    assert 'presage_http_requests_total{method="POST",route="/v1/predictions",status="200"} 1.0' in samples
    assert 'presage_http_requests_total{method="GET",route="none",status="404"} 1.0' in samples
    assert 'presage_http_request_seconds_count{route="/v1/predictions"} 1.0' in samples
    assert 'presage_entries{bin="open"} 1.0' in samples
    assert "presage_log_entries 1.0" in samples
    assert text.count("# TYPE presage_entries gauge") == 1


FAMILIES = {
    "entries": ("gauge", "bin"),
    "refused_total": ("counter", "kind why"),
    "log_entries": ("gauge", ""),
    "predictions_total": ("counter", ""),
    "lessons_waiting": ("gauge", ""),
    "model_position": ("gauge", ""),
    "events_waiting": ("gauge", ""),
    "g_drift_alarm": ("gauge", ""),
    "g_drift_p": ("gauge", ""),
    "g_drift_nats": ("gauge", ""),
    "watch_missed_total": ("counter", ""),
    "http_requests_under_way": ("gauge", ""),
    "http_requests_total": ("counter", "method route status"),
    "http_request_seconds": ("histogram", "le route"),
}
"""Each metric by its name in the text format, with its type and its labels: dashboards of others depend on them."""


def test_metrics_keep_their_names_types_and_labels_and_each_is_explained(ask: Asking) -> None:
    ask.get("/healthz")
    text = ask.get("/metrics").text
    kinds = dict(re.findall(r"^# TYPE presage_(\S+) (\w+)$", text, re.M))
    labels: dict[str, set[str]] = {name: set() for name in kinds}
    for name, found in re.findall(r"^presage_(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$", text, re.M):
        labels[name] |= set(re.findall(r'(\w+)="', found))
    assert {name: (kinds[name], " ".join(sorted(labels[name]))) for name in kinds} == FAMILIES
    for name, about in re.findall(r"^# HELP presage_(\S+) (.+)$", text, re.M):
        further = set(re.findall(r"[a-z]+", about.lower())) - set(name.split("_"))
        assert len(further) > 5, f"{name}: {about}"


def test_a_bulk_names_every_wrong_line_whether_its_json_or_its_features_do_not_fit(
    ask: Asking, service: FakeService
) -> None:
    war = {"kind": "prediction", "id": "b", "features": FEATURES | {"genres": ["war"]}}
    answer = ask.post(
        "/v1/events", content=b'{"kind":"proxy"}\n' + lines({"kind": "prediction"} | EMMA, war), headers=NDJSON
    )
    found = [(each["line"], each["where"]) for each in answer.json()["lines"]]
    assert (answer.status_code, found) == (422, [(1, "$"), (3, "$.features")])
    assert service.head == 0


def test_features_that_do_not_fit_are_refused_by_the_candidate_that_has_them(ask: Asking, service: FakeService) -> None:
    candidates = [EMMA, EMMA | {"id": "b", "features": FEATURES | {"genres": ["war"]}}]
    problem = ask.post("/v1/predictions", {"candidates": candidates}).json()
    assert (problem["where"], problem["value"]) == ("$.candidates[1].features", "war")
    assert service.head == 0


def test_the_page_runs_and_fetches_nothing_but_what_the_service_itself_gives(ask: Asking) -> None:
    page = ask.get("/")
    assert not re.search(r"<script(?! type=\"module\" src=\"dashboard/\w+\.js\"></script>)", page.text)
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in page.headers["content-security-policy"]


def test_a_bulk_gives_others_a_turn_while_it_is_read(service: FakeService) -> None:
    app = create_app(service, books())
    bulk = b"".join(b'{"kind":"proxy","id":"%d","value":"some"}\n' % each for each in range(10_000))
    order: list[str] = []

    async def post(client: httpx.AsyncClient, path: str, body: bytes, headers: dict[str, str]) -> None:
        assert (await client.post(path, content=body, headers=headers)).status_code == 200
        order.append(path)

    async def both() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            large = asyncio.create_task(post(client, "/v1/events", bulk, NDJSON))
            await asyncio.sleep(0)
            await post(client, "/v1/predictions", json.dumps(EMMA).encode(), JSON)
            await large

    asyncio.run(both())
    assert order == ["/v1/predictions", "/v1/events"]


@pytest.mark.parametrize("filling", [b"\n", b" \n", b"\r\n", b" "], ids=["newlines", "blank", "line ends", "spaces"])
def test_other_requests_get_a_turn_within_every_few_bytes_of_blank_lines(service: FakeService, filling: bytes) -> None:
    """What is read in one turn of the loop; eight million newlines in one turn held it for a second."""
    event = b'{"kind":"proxy","id":"last","value":"some"}'
    body = filling * (1_000_000 // len(filling)) + b"\n" + event
    reader = Reader(books(), Limits())
    parts = list(reader.parts(body))
    assert parts[-1] == [(body.count(b"\n") + 1, event)]
    assert sum(map(len, parts)) == 1
    if filling != b" ":
        assert len(parts) > 14
    turns = 0

    async def ask() -> httpx.Response:
        nonlocal turns
        app = create_app(service, books())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            asked = asyncio.create_task(client.post("/v1/events", content=body, headers=NDJSON))
            while not asked.done():
                turns += 1
                await asyncio.sleep(0)
            return await asked

    assert asyncio.run(ask()).json()["accepted"] == 1
    assert turns > len(parts)


@given(st.lists(st.sampled_from([b"", b" ", b"\r", b"a", b"bb ", b"c" * 9]), max_size=30), st.integers(1, 12))
def test_lines_are_the_same_however_a_bulk_is_cut(lines: list[bytes], part: int) -> None:
    body = b"\n".join(lines)
    expected = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("presage.service.http.requests.PART", part)
        found = Reader(books(), Limits()).parts(body)
        if expected:
            assert [line for some in found for line in some] == expected
        else:
            with pytest.raises(RefusalError):
                list(found)


def test_a_bulk_of_too_many_lines_is_refused_before_it_is_read_to_its_end(service: FakeService) -> None:
    parts = Reader(books(), Limits(bulk_events=10)).parts(b"x\n" * 1_000_000)
    with pytest.raises(RefusalError, match="a bulk of more than 10"):
        next(parts)
