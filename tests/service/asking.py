"""Requests put to an application in this process."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
from starlette.types import ASGIApp

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}


class Asking:
    """Somebody who asks an application."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str] | None = None) -> None:
        self.app, self.headers = app, dict(headers or {})

    def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The answer to one request."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost", headers=self.headers
            ) as client:
                return await client.request(method, path, **options)

        return asyncio.run(ask())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self("GET", path, **options)

    def post(self, path: str, json: Any = None, **options: Any) -> httpx.Response:
        return self("POST", path, **options) if json is None else self("POST", path, json=json, **options)
