"""What every request passes first: who may ask, and how long the answer took."""

import time
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from presage.service.access import Access
from presage.service.problems import MALFORMED, NOT_FOUND, Refused, answer
from presage.service.prometheus import Traffic


class Gate:
    """The application behind it, for those who may ask."""

    def __init__(self, app: ASGIApp, access: Access, traffic: Traffic) -> None:
        self.app, self.access, self.traffic = app, access, traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500
        self.traffic.under_way += 1

        async def told(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, receive, told)
        except Refused as refusal:
            await answer(refusal)(scope, receive, told)
        finally:
            self.traffic.under_way -= 1
            route = scope["route"].path if "route" in scope else "none"
            self.traffic.count(route, _known(scope["method"]), status, time.perf_counter() - started)

    def _check(self, scope: Scope) -> None:
        self.access.check(scope)
        if scope["path"].endswith("\n"):  # a pattern that ends in $ takes a line end for the end
            raise Refused(NOT_FOUND, "no such address", "see /openapi.json", "path", scope["path"])
        if scope["query_string"] and scope["path"].startswith("/v1/"):
            raise Refused(MALFORMED, "a query", "leave it out: everything is said in the body", "query")


def _known(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST") else "other"
