"""A browser that is told what to do: pages opened, asked, and photographed, through Chromium's own protocol."""

import base64
import itertools
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.charts.browser import CHROMIUM

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server",
)  # fmt: skip

PATIENCE = 120.0
"""Seconds after which a test gives up waiting."""


class Tab:
    """One page in a browser; `troubles` are what its console and its policy complained of, `fetched` what it loaded."""

    def __init__(self, connection: ClientConnection) -> None:
        self.troubles: list[str] = []
        self.fetched: list[str] = []
        self._connection, self._numbers, self._loaded = connection, itertools.count(1), set[str]()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What Chromium answers; what it tells meanwhile is noted."""
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (message := self._hear()).get("id") != number:
            pass
        assert "error" not in message, message
        return dict(message["result"])

    def open(self, url: str, width: int, height: int = 900, *, scale: float = 1.0) -> None:
        """Open a page in a window that is so many pixels wide; it has been loaded and its scripts have run."""
        self.widen(width, height, scale=scale)
        opened = self.call("Page.navigate", url=url)
        assert "errorText" not in opened, opened
        while opened["loaderId"] not in self._loaded:
            self._hear()

    def widen(self, width: int, height: int = 900, *, scale: float = 1.0) -> None:
        """Make the window so many pixels wide: a phone's is narrow."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str, patience: float = PATIENCE) -> Any:
        """The value of an expression, once it is true."""
        end = time.monotonic() + patience
        while not (found := self.ask(expression)):
            assert time.monotonic() < end, f"it never happened: {expression}\n{self.troubles}"
            time.sleep(0.05)
        return found

    def picture(self, path: Path, *, full: bool = True) -> Path:
        """The page as a PNG: all of it, or what the window shows."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def _hear(self) -> dict[str, Any]:
        """The next message."""
        message: dict[str, Any] = json.loads(self._connection.recv(timeout=PATIENCE))
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Page.lifecycleEvent" and parameters["name"] == "load":
            self._loaded.add(parameters["loaderId"])
        elif method == "Network.requestWillBeSent":
            self.fetched.append(str(parameters["request"]["url"]))
        elif method == "Runtime.exceptionThrown":
            self.troubles.append(str(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.troubles.append(str(parameters["entry"]["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.troubles.append(str(parameters["args"]))


class Browser:
    """A browser that runs, and reaches nothing but this machine."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/json"

    @contextmanager
    def tab(self) -> Iterator[Tab]:
        """A tab in front of all others."""
        made = httpx.put(f"{self._url}/new?about:blank", trust_env=False, timeout=PATIENCE).json()
        settings: dict[str, Any] = {"max_size": None, "compression": None, "proxy": None, "ping_interval": None}
        try:
            with connect(made["webSocketDebuggerUrl"], open_timeout=PATIENCE, **settings) as connection:
                yield Tab(connection)
        finally:
            httpx.get(f"{self._url}/close/{made['id']}", trust_env=False, timeout=PATIENCE)


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A browser whose profile lies in the folder."""
    assert CHROMIUM is not None
    profile = folder / "profile"
    process = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield Browser(_port(profile, process))
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _port(profile: Path, process: "subprocess.Popen[bytes]") -> int:
    told, end = profile / "DevToolsActivePort", time.monotonic() + PATIENCE
    while not told.exists() or "\n" not in told.read_text():
        assert process.poll() is None, "the browser ended"
        assert time.monotonic() < end, "the browser did not start"
        time.sleep(0.05)
    return int(told.read_text().splitlines()[0])
