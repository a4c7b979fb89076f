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

from websockets.sync.client import ClientConnection, connect

from tests.charts.browser import CHROMIUM

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server",
)  # fmt: skip

PATIENCE = 60.0
"""Seconds after which a test gives up waiting."""


class Tab:
    """One page in a browser; `troubles` are what its console and its policy complained of."""

    def __init__(self, connection: ClientConnection) -> None:
        self.troubles: list[str] = []
        self._connection, self._numbers = connection, itertools.count(1)
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What Chromium answers; what it tells meanwhile is noted."""
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv(timeout=PATIENCE))
            if message.get("id") == number:
                assert "error" not in message, message
                return dict(message["result"])
            self._note(message)

    def open(self, url: str, width: int, height: int = 900, *, scale: float = 1.0) -> None:
        """Open a page in a window that is so many pixels wide."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=url)

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
            time.sleep(0.1)
        return found

    def picture(self, path: Path, *, full: bool = True) -> Path:
        """The page as a PNG: all of it, or what the window shows."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.troubles.append(str(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.troubles.append(str(parameters["entry"]["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.troubles.append(str(parameters["args"]))


@contextmanager
def chromium(folder: Path) -> Iterator[Tab]:
    """A tab of a browser that reaches nothing but this machine; its profile lies in the folder."""
    assert CHROMIUM is not None
    profile = folder / "profile"
    process = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = _port(profile, process)
        with connect(_page(port), max_size=None, compression=None, proxy=None) as connection:
            yield Tab(connection)
    finally:
        process.terminate()
        process.wait(20)


def _port(profile: Path, process: "subprocess.Popen[bytes]") -> int:
    told, end = profile / "DevToolsActivePort", time.monotonic() + PATIENCE
    while not told.exists() or "\n" not in told.read_text():
        assert process.poll() is None, "the browser ended"
        assert time.monotonic() < end, "the browser did not start"
        time.sleep(0.05)
    return int(told.read_text().splitlines()[0])


def _page(port: int) -> str:
    import httpx

    pages = httpx.get(f"http://127.0.0.1:{port}/json/list", trust_env=False).json()
    return str(next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page"))
