"""The dashboard: a page that is driven in a browser."""

import json
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.shop_service import DAY, START, shop_events, steps
from presage import Client
from presage.service.dashboard.columns import Subject
from presage.service.dashboard.watcher import Sample, WatchedNames, Watcher
from presage.service.http.access import Access
from presage.task.task import load_task
from tests.charts.browser import needs_browser
from tests.service.chromium import Browser, Tab, chromium
from tests.service.fake import FakeService, books
from tests.service.played import HORIZONS, SUBJECT, Played, happen, play, watched
from tests.service.running import PATIENCE, running

ROOT = Path(__file__).parents[2]
TOKEN = "right-right-right"
STATUS = "document.getElementById('status').textContent"
SHOWN = (
    "Number(document.querySelector('#lag .said')?.textContent.match(/(?:of|has) ([0-9,]+)/)?.[1].replaceAll(',', ''))"
)
"""How many entries the log has, by the page."""
CURVES = "[...document.querySelectorAll('#{} path.line')].map(line => line.getAttribute('d'))"

OF_THE_LOG = ("loss", "early", "known")  # what g is depends on when it was judged last, too
PANELS = ("loss", "early", "drift", "weights", "reliability", "known", "pending", "counts", "lag")


class WatchedService(FakeService):
    """A service in memory that was watched while a log was played."""

    def __init__(self, played: Played, subject: Subject = SUBJECT, names: WatchedNames | None = None) -> None:
        super().__init__(books())
        self.played = played
        names = names or WatchedNames(
            "books <b>", "mixture", "mixture", ("closed", "begun", "half"), ("left", "finished")
        )
        self.watcher = Watcher(watched(played, subject), names)
        self.lessons = 3

    def watched(self) -> tuple[int, bytes]:
        self.lessons += 1
        self.watcher.watched()
        counters = self.played.store.counters
        weights = {"direct": 0.3, "residual": 0.7}
        self.watcher.turn(Sample(self.played.store.head.seq, counters, {}, self.lessons, 5, weights, ""))
        return self.watcher.watched()


@pytest.fixture(scope="module")
def played() -> Played:
    return play(happen(1800))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    with browser.tab() as found:
        yield found


def fits(tab: Tab, width: int) -> bool:
    return bool(tab.ask("document.documentElement.scrollWidth") <= width)


def outside(tab: Tab, url: str) -> list[str]:
    """What a page fetched from elsewhere; it did fetch something."""
    assert f"{url}/dashboard/stream" in tab.fetched
    return [each for each in tab.fetched if not each.startswith((f"{url}/", "data:"))]


@needs_browser
@pytest.mark.long
def test_all_panels_are_drawn_at_any_width_and_move_without_complaints(played: Played, tab: Tab) -> None:
    with running(service=WatchedService(played)) as server:
        for width in (1280, 390, 320):
            tab.open(f"{server.url}/", width)
            tab.until("document.querySelector('#lag svg') !== null")
            assert fits(tab, width)
            for panel in PANELS:
                drawn = f"document.querySelectorAll('#{panel} svg path, #{panel} svg rect, #{panel} td').length"
                assert tab.ask(drawn) > 2, panel
        before = tab.ask("document.querySelector('#lag .said').textContent")
        tab.until(f"document.querySelector('#lag .said').textContent !== {json.dumps(before)}")
        assert tab.ask("document.getElementById('task').textContent") == "books <b> · mixture"
        assert tab.ask("document.getElementById('alarm').hidden")
        assert tab.troubles == []
        assert outside(tab, server.url) == []


@needs_browser
@pytest.mark.long
def test_lines_can_be_told_apart_without_colour(played: Played, tab: Tab) -> None:
    with running(service=WatchedService(played)) as server:
        tab.open(f"{server.url}/", 1280)
        tab.until("document.querySelector('#lag svg') !== null")
        for panel in ("loss", "early", "drift", "weights", "known"):
            lines = f"[...document.querySelectorAll('#{panel} path.line')]"
            dashes = tab.ask(f"{lines}.map(line => line.getAttribute('stroke-dasharray'))")
            names = tab.ask(f"[...document.querySelectorAll('#{panel} text.name')].map(text => text.textContent)")
            assert len(set(dashes)) == len(dashes) == len(set(names)) == len(names) >= 2, panel


@needs_browser
@pytest.mark.long
def test_a_single_forecaster_that_knows_nothing_yet_says_why_panels_are_empty(tab: Tab) -> None:
    names = WatchedNames("books", "residual-table", "residual", ("closed", "begun", "half"), ("left", "finished"))
    service = WatchedService(play([]), Subject(3, 2, HORIZONS), names)
    with running(service=service) as server:
        tab.open(f"{server.url}/", 390)
        tab.until("document.querySelector('#lag svg') !== null")
        assert "has no expert weights" in tab.ask("document.querySelector('#weights .said').textContent")
        assert "No outcomes yet" in tab.ask("document.querySelector('#loss .said').textContent")
        assert "Too little data: 0 predictions" in tab.ask("document.querySelector('#drift .said').textContent")
        assert tab.troubles == []


class OfThree(WatchedService):
    """The same with an outcome more, which came as often as the second."""

    def watched(self) -> tuple[int, bytes]:
        number, frame = super().watched()
        told = json.loads(frame)
        told["outcomes"].append("lent")
        told["reliability"].append(told["reliability"][1])
        told["drift"]["shares"].append(told["drift"]["shares"][1])
        return number, json.dumps(told).encode()


@needs_browser
@pytest.mark.long
def test_of_several_outcomes_one_can_be_chosen(played: Played, tab: Tab) -> None:
    with running(service=OfThree(played)) as server:
        tab.open(f"{server.url}/", 390)
        said = "document.querySelector('#reliability .said').textContent"
        tab.until("document.querySelector('#reliability select') !== null")
        assert "lent" in tab.ask(said)
        tab.ask("s = document.querySelector('select'); s.selectedIndex = 0; s.dispatchEvent(new Event('change'))")
        tab.until(f"{said}.includes('left')")
        assert "left" in tab.ask("document.querySelector('#drift .note').textContent")
        assert fits(tab, 390)
        assert tab.troubles == []


@needs_browser
@pytest.mark.long
def test_the_page_asks_for_a_token_and_shows_nothing_without(played: Played, tab: Tab) -> None:
    with running(access=Access(TOKEN), service=WatchedService(played)) as server:
        tab.open(f"{server.url}/", 1280)
        tab.until("!document.getElementById('token').hidden")
        assert tab.ask("document.getElementById('panels').hidden")
        send = "document.querySelector('#token input').value = '{}'; document.querySelector('#token button').click()"
        tab.ask(send.format("wrong-wrong-wrong"))
        tab.until("document.querySelector('#token span').textContent === 'Wrong token.'")
        tab.ask(send.format(TOKEN))
        tab.until(f"{STATUS}.startsWith('live')")
        assert tab.ask("document.getElementById('token').hidden")
        assert not tab.ask("document.getElementById('panels').hidden")
        assert all("401" in trouble for trouble in tab.troubles)


@contextmanager
def service_process(folder: Path, port: int = 0) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """`presage serve` on the shop, and the address it listens at."""
    command = [str(Path(sys.executable).parent / "presage"), "serve", "--task", "examples/shop.toml"]
    command += ["--data", str(folder), "--port", str(port), "--clock", "events"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stderr
    try:
        told = process.stderr.readline()
        address = re.search(r"http://\S+", told)
        assert address, told + process.stderr.read()
        yield process, address[0]
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def look(tab: Tab, url: str) -> dict[str, Any]:
    """What the page says, once it shows all that the service was sent; and what the metrics say."""
    with Client(url, timeout=PATIENCE) as client:
        tab.until(f"{SHOWN} >= {client.model()['log']['position']}")
    return {
        "curves": {
            name: tuple(tab.ask(CURVES.format(name))) for name in ("loss", "early", "drift", "weights", "known")
        },
        "loss": tab.ask("document.querySelector('#loss .said').textContent"),
        "drift": tab.ask("document.querySelector('#drift .said').textContent"),
        "alarm": tab.ask("(a => a.hidden ? null : a.lastElementChild.textContent)(document.getElementById('alarm'))"),
        "counted": re.findall(r"^presage_g_drift_alarm (\S+)", metrics(url), re.M),
    }


def metrics(url: str) -> str:
    return httpx.get(f"{url}/metrics", trust_env=False, timeout=PATIENCE).text


def steady(tab: Tab, url: str) -> dict[str, Any]:
    """What the page says once it says the same again: it draws itself about once a second."""
    said, deadline = look(tab, url), time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(3)
        before, said = said, look(tab, url)
        if before == said:
            return said
    raise TimeoutError("the page does not settle")


def size(picture: Path) -> tuple[int, int]:
    """The width and the height of a PNG."""
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    return width, height


def run_shop(tab: Tab, url: str) -> list[dict[str, Any]]:
    """What the page said after 20, 40 and 60 days of a shop whose g changes after 40."""
    events, looks = shop_events(days=60, purchases=60, drift_day=40, seed=0), []
    with Client(url, timeout=PATIENCE) as client:
        for days in ((0, 20), (20, 40), (40, 60)):
            first, last = (START + day * DAY for day in days)
            for step in steps([event for event in events if first <= (event.at or 0) < last], hours=6):
                client.events(step)
            looks.append(look(tab, url))
    return looks


@needs_browser
@pytest.mark.long
def test_in_two_months_of_a_shop_curves_move_a_change_of_g_raises_the_alarm_and_a_restart_forgets_neither(
    tab: Tab, tmp_path: Path
) -> None:
    with service_process(tmp_path / "data") as (process, url):
        tab.open(f"{url}/", 1280)
        looks = run_shop(tab, url)
        assert [each["alarm"] for each in looks] == [None, None, looks[2]["drift"]]
        assert [each["counted"] for each in looks] == [["0.0"], ["0.0"], ["1.0"]]
        assert len({each["loss"] for each in looks}) == 3
        for name in looks[0]["curves"]:
            assert len({each["curves"][name] for each in looks}) == 3, name
        for width in (1280, 390):
            tab.widen(width)
            tab.until(f"document.documentElement.scrollWidth === {width}")
            wide, high = size(tab.picture(tmp_path / f"{width}.png"))
            assert wide == width, "nothing lies beside the window"
            assert high > 900
        assert tab.ask("document.title").startswith("▲")
        assert tab.troubles == []
        assert outside(tab, url) == []
        before = steady(tab, url)
        process.terminate()
        tab.until(f"{STATUS}.startsWith('connection lost')")
        process.wait(PATIENCE)
        with service_process(tmp_path / "data", httpx.URL(url).port or 0):
            tab.until(f"{STATUS}.startsWith('live')")
            after = steady(tab, url)
    for name in OF_THE_LOG:
        assert after["curves"][name] == before["curves"][name], name
    assert all(after[name] == before[name] for name in ("loss", "counted"))
    for said in (before, after):
        named = re.search(r"since about (.+?) UTC", said["alarm"])
        assert named, said
        since = datetime.strptime(named[1], "%d %B %Y, %H:%M")
        assert abs(since - datetime(2026, 4, 11)) < timedelta(days=3), "it names the day on which g was changed"


def test_the_task_of_the_shop_can_be_served_and_is_what_the_shop_sends() -> None:
    task = load_task(ROOT / "examples/shop.toml")
    events = shop_events(days=12, purchases=20, drift_day=8, seed=0)
    assert {event.value for event in events if event.kind == "proxy"} == set(task.proxy().values)
    assert {event.value for event in events if event.kind == "outcome"} == set(task.outcome.values)
    assert [event.at for event in events] == sorted(event.at or 0 for event in events)
    assert [event for step in steps(events, 2.0) for event in step] == events
