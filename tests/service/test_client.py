"""The client: what it sends, how often, and what it says when it gives up."""

import json
from collections.abc import Callable, Iterator

import httpx
import pytest

from presage import Client
from presage.client import Event
from presage.errors import ConflictError, InputError, RefusedError, SettingError, UnansweredError
from presage.service.http.access import Access
from tests.service.fake import FEATURES
from tests.service.running import Running, running

TOKEN = "right-right-right"
ACCEPTED = {"id": "a", "status": "accepted", "seq": 1, "bin": "parked"}


@pytest.fixture(scope="module")
def made() -> Iterator[Running]:
    with running(access=Access(TOKEN)) as server:
        yield server


@pytest.fixture
def client(made: Running) -> Iterator[Client]:
    with Client(made.url, TOKEN) as client:
        yield client


class Scripted:
    """A server that answers by a script, and remembers what it was sent."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.bodies: list[bytes] = []
        self.waits: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(request.content)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, tries: int = 6) -> Client:
        return Client("http://there", tries=tries, transport=httpx.MockTransport(self), sleep=self.waits.append)


def test_a_client_does_what_the_service_can(made: Running, client: Client) -> None:
    told = client.predict("one", FEATURES)
    assert (told.id, told.status, list(told.probabilities)) == ("one", "accepted", ["left", "finished"])
    assert client.predict("one", FEATURES).status == "repeated"
    assert client.proxy("one", "some").bin == "trained"
    assert client.outcome("later", "left").bin == "parked"
    assert client.look_up("one").proxy.value == "some"
    assert client.model()["forecaster"] == "fake"
    many = client.predict_many({str(each): FEATURES for each in range(20)}, rank="finished")
    assert many == sorted(many, key=lambda each: -each.probabilities["finished"])


@pytest.mark.parametrize("id", ["..", ".", "../x", "a/b?c#d", "%2e", "é 書", "x y"])
def test_any_id_comes_back_as_it_was_sent(client: Client, id: str) -> None:
    client.predict(id, FEATURES)
    assert client.look_up(id).id == id


def test_events_go_in_bulks_and_are_counted_together(made: Running) -> None:
    head = made.service.head
    events = [Event("prediction", f"bulk-{each}", FEATURES) for each in range(250)]
    events += [Event("proxy", f"bulk-{each}", value="some") for each in range(250)]
    events.insert(120, events[0])
    events.append(Event("proxy", "bulk-7", value="much"))
    with Client(made.url, TOKEN, batch=100) as client:
        reply = client.events(iter(events))
    assert (reply.accepted, reply.repeated, reply.conflicts) == (500, 1, 1)
    assert [(each.line, each.id) for each in reply.conflicting] == [(502, "bulk-7")]
    assert made.service.head == head + 500


def test_a_wrong_event_stops_a_bulk_and_says_how_far_it_came(made: Running) -> None:
    events = [Event("proxy", f"wrong-{each}", value="some" if each != 7 else "x") for each in range(10)]
    with Client(made.url, TOKEN, batch=5) as client, pytest.raises(RefusedError, match=r"line 3.*after 5 events"):
        client.events(events)


def test_a_refusal_says_what_where_and_what_to_do(client: Client) -> None:
    with pytest.raises(RefusedError) as refused:
        client.proxy("x", "unheard of")
    assert "$.value" in refused.value.wrong
    assert refused.value.found == "unheard of"
    assert "none, some, much" in refused.value.remedy
    client.outcome("x", "left")
    with pytest.raises(ConflictError):
        client.outcome("x", "finished")
    with pytest.raises(RefusedError, match="404"):
        client.look_up("never seen")


def test_a_wrong_token_is_refused_at_once(made: Running) -> None:
    client = Client(made.url, "wrong", sleep=lambda _: pytest.fail("it tried again"))
    with client, pytest.raises(RefusedError, match="401"):
        client.proxy("x", "some")


@pytest.mark.parametrize(
    "trouble",
    [
        httpx.Response(500), httpx.Response(503), httpx.Response(507), httpx.ConnectError("no"),
        httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut"), httpx.ReadError("reset"),
    ],
)  # fmt: skip
def test_the_same_bytes_are_sent_again_until_they_are_answered(trouble: httpx.Response | Exception) -> None:
    script = Scripted(trouble, trouble, trouble, httpx.Response(200, json=ACCEPTED))
    assert script.client().proxy("a", "some").status == "accepted"
    assert script.bodies == [b'{"id":"a","value":"some"}'] * 4
    assert [0.08 * 2**each <= wait <= 0.12 * 2**each for each, wait in enumerate(script.waits)] == [True] * 3


def test_it_waits_as_long_as_a_busy_service_asks_for_but_not_for_ever() -> None:
    busy = [httpx.Response(429, headers={"retry-after": seconds}) for seconds in ("7", "0", "86400")]
    script = Scripted(*busy, httpx.Response(200, json=ACCEPTED))
    script.client().proxy("a", "some")
    assert script.waits == [7.0, 0.0, 30.0]


def test_it_gives_up_and_says_that_nobody_knows() -> None:
    script = Scripted(*[httpx.Response(503, text="down")] * 3)
    with pytest.raises(UnansweredError, match=r"3 tries.*503 down"):
        script.client(tries=3).proxy("a", "some")
    script = Scripted(*[httpx.Response(429, json={"what": "too much", "where": "request"})] * 2)
    with pytest.raises(RefusedError, match="too much"):  # it is known that nothing was done
        script.client(tries=2).proxy("a", "some")


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 415, 421, 422])
def test_what_is_refused_is_not_tried_again(status: int) -> None:
    script = Scripted(httpx.Response(status, text="not even a problem"))
    with pytest.raises(RefusedError, match=str(status)):
        script.client().proxy("a", "some")
    assert script.waits == []


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.predict("a", {"price": float("nan")}),
        lambda client: client.predict("a", {"price": float("inf")}),
        lambda client: client.predict("a", {"price": object()}),
        lambda client: client.proxy("\ud800", "some"),
        lambda client: client.events([Event("prediction", "a", {"price": float("nan")})]),
    ],
)
def test_what_is_no_json_is_not_sent(call: Callable[[Client], object]) -> None:
    script = Scripted()
    with pytest.raises(InputError, match="JSON"):
        call(script.client())


def test_what_a_client_is_made_of_is_checked() -> None:
    with pytest.raises(SettingError, match="http://"):
        Client("localhost:8000")
    with pytest.raises(SettingError, match="tries"):
        Client("http://x", tries=0)
    with pytest.raises(SettingError, match="timeout"):
        Client("http://x", timeout=0)


def test_moments_are_sent_where_they_are_given() -> None:
    answer = httpx.Response(200, json={"id": "a", "status": "accepted", "seq": 1, "model": 0, "probabilities": {}})
    script = Scripted(answer, httpx.Response(200, json=ACCEPTED))
    client = script.client()
    client.predict("a", {}, at=5)
    client.outcome("a", "left", at=6)
    assert [json.loads(body)["at"] for body in script.bodies] == [5, 6]
