"""Access to the service: the host, origin and token of every request, checked before anything else."""

import functools
import hashlib
import hmac
import ipaddress
import re
import time
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from presage.errors import SettingError
from presage.service.dashboard.page import PARTS
from presage.service.http.metrics import Metrics
from presage.service.http.problems import HOST, MALFORMED, NOT_FOUND, ORIGIN, TOKEN, RefusalError, answer

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PUBLIC = ("/", "/healthz", "/readyz", *(f"/dashboard/{name}" for name in PARTS))
"""Addresses that need no token: a page without data, and the health of the service."""

PORTS = {"http": ":80", "https": ":443"}
"""Schemes of pages, and the ports that browsers leave out."""

_AUTHORITY = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:@/\[\]]+))(?::\d{0,5})?")


@dataclass(frozen=True)
class Access:
    """The token, the host names that the service accepts ("*": any), and origins of pages besides its own."""

    token: str | None = None
    hosts: tuple[str, ...] = LOOPBACK
    origins: tuple[str, ...] = ()

    def check(self, scope: Scope) -> None:
        """Raise RefusalError unless a request has an accepted host and origin, and the token."""
        hosts, origins, tokens = [], [], []
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origins.append(value)
            elif name == b"authorization":
                tokens.append(value)
        if len(hosts) != 1:
            raise RefusalError(MALFORMED, f"{len(hosts)} host headers", "send exactly one", "host")
        if not _is_ours(hosts[0], self.hosts):
            sent = hosts[0].decode("latin-1")
            raise RefusalError(
                HOST, "wrong host", "use a host name that the service accepts (--allowed-host)", "host", sent
            )
        if origins and not (len(origins) == 1 and _is_from_here(origins[0], hosts[0], self.origins)):
            sent = b", ".join(origins).decode("latin-1")
            remedy = "ask from a page of this service, or allow the origin (--allow-origin)"
            raise RefusalError(ORIGIN, "a page of another origin", remedy, "origin", sent)
        if self.token is not None and scope["path"] not in PUBLIC:
            _check_token(tokens, self.token)


@functools.lru_cache(maxsize=100)
def _is_ours(sent: bytes, names: tuple[str, ...]) -> bool:
    """Whether a host header has one of these names, whatever the port.

    A page from another site whose domain points to this machine does not, so its scripts get no answer.
    """
    parts = _AUTHORITY.fullmatch(sent.decode("latin-1"))
    return parts is not None and ((parts[1] or parts[2]).lower() in names or "*" in names)


@functools.lru_cache(maxsize=100)
def _is_from_here(origin: bytes, host: bytes, allowed: tuple[str, ...]) -> bool:
    """Whether a page is from the host that it asks, or of an allowed origin.

    The scheme does not count: a TLS proxy in front of the service takes it away. A page that hides where it is from,
    with the origin null, is from elsewhere.
    """
    sent = origin.decode("latin-1")
    scheme, _, authority = sent.lower().partition("://")
    port = PORTS.get(scheme, "")
    same_host = authority.removesuffix(port) == host.decode("latin-1").lower().removesuffix(port)
    return (scheme in PORTS and same_host) or sent in allowed


def _check_token(sent: list[bytes], token: str) -> None:
    scheme, _, given = sent[0].partition(b" ") if len(sent) == 1 else (b"", b"", b"")
    if not same(given.strip(), token.encode()) or scheme.lower() != b"bearer":
        what = "wrong token" if sent else "no token"
        refusal = RefusalError(TOKEN, what, "send authorization: Bearer TOKEN", "authorization")
        refusal.headers = {"www-authenticate": "Bearer"}
        raise refusal


def same(one: bytes, other: bytes) -> bool:
    """Whether two secrets are equal; the time that takes reveals nothing about either."""
    return hmac.compare_digest(hashlib.sha256(one).digest(), hashlib.sha256(other).digest())


def read_token(file: Path) -> str:
    """The token in a file: one line of 16 to 500 printable ASCII characters without spaces."""
    try:
        mode = file.stat().st_mode & 0o777
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("the token file cannot be read", str(file), "check its name and permissions") from error
    if mode & 0o006:
        wrong = "every user of this machine can read or change the token file"
        raise SettingError(wrong, f"{file}, mode {mode:04o}", f"run chmod 600 {file}, and change the token")
    if not re.fullmatch(r"[!-~]{16,500}", token):
        remedy = "write 16 to 500 printable characters without spaces into it"
        raise SettingError("the token file has no valid token", str(file), remedy)
    return token


def called(host: str, further: Iterable[str]) -> tuple[str, ...]:
    """The host names that a service accepts: those of localhost, its own, and further ones."""
    names = tuple(name.lower().strip("[]") for name in further)
    if is_wildcard(host) and not names:
        remedy = "add --allowed-host NAME for each name that clients use, or --allowed-host '*'"
        raise SettingError("a service that listens on all addresses needs its host names", host, remedy)
    own = () if is_wildcard(host) else (host.lower().strip("[]"),)
    return tuple(dict.fromkeys((*LOOPBACK, *own, *names)))


def read_origins(sent: Iterable[str]) -> tuple[str, ...]:
    """Origins as browsers send them, such as https://shop.example."""
    origins = tuple(sent)
    for origin in origins:
        if not re.fullmatch(r"https?://[^\s/@A-Z]+", origin):
            remedy = "give the scheme, host and port, in small letters and with nothing behind, as https://shop.example"
            raise SettingError("not the origin of a page", origin, remedy)
    return origins


def is_wildcard(host: str) -> bool:
    """Whether a host stands for all addresses of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def check_reach(addresses: Iterable[str], token: str | None) -> None:
    """Raise SettingError unless there is a token or all addresses are loopback addresses."""
    for address in addresses:
        if token is None and not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
            remedy = "give --token-file FILE, or keep to --host 127.0.0.1"
            raise SettingError("without a token the service listens on this machine only", address, remedy)


class Gate:
    """Checks access, then passes a request on to the application and counts it."""

    def __init__(self, app: ASGIApp, access: Access, metrics: Metrics) -> None:
        self.app, self.access, self.metrics = app, access, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500
        self.metrics.under_way.inc()

        async def send_and_note(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, receive, send_and_note)
        except RefusalError as refusal:
            await answer(refusal)(scope, receive, send_and_note)
        finally:
            self.metrics.under_way.dec()
            route = scope["route"].path if "route" in scope else "none"
            self.metrics.count(route, _known(scope["method"]), status, time.perf_counter() - started)

    def _check(self, scope: Scope) -> None:
        self.access.check(scope)
        if scope["path"].endswith("\n"):  # a pattern that ends in $ takes a line end for the end
            raise RefusalError(NOT_FOUND, "unknown address", "see /openapi.json", "path", scope["path"])
        if scope["query_string"] and scope["path"].startswith("/v1/"):
            raise RefusalError(MALFORMED, "a query string is not accepted", "put everything into the body", "query")


def _known(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST") else "other"
