"""Who may talk to the service: one token, and only under names that are its own."""

import functools
import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from starlette.types import Scope

from presage.errors import SettingError
from presage.service.dashboard.parts import PARTS
from presage.service.problems import HOST, MALFORMED, TOKEN, Refused

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PUBLIC = ("/", "/healthz", "/readyz", *(f"/dashboard/{name}" for name in PARTS))
"""What is answered without the token: a page without data, and whether the service lives."""

_AUTHORITY = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:@/\[\]]+))(?::\d{0,5})?")


@dataclass(frozen=True)
class Access:
    """The token, and the names by which the service may be called ("*": any)."""

    token: str | None = None
    hosts: tuple[str, ...] = LOOPBACK

    def check(self, scope: Scope) -> None:
        """Nothing, if a request may be answered."""
        hosts, tokens = [], []
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"authorization":
                tokens.append(value)
        if len(hosts) != 1:
            raise Refused(MALFORMED, f"{len(hosts)} host headers", "send one", "host")
        if not _meant(hosts[0], self.hosts):
            sent = hosts[0].decode("latin-1")
            raise Refused(HOST, "a request for another host", "call the service by a name it was given", "host", sent)
        if self.token is not None and scope["path"] not in PUBLIC:
            _check_token(tokens, self.token)


@functools.lru_cache(maxsize=100)
def _meant(sent: bytes, names: tuple[str, ...]) -> bool:
    """Whether a host header means one of these names, whatever the port.

    A page elsewhere, whose own name is made to point to this machine, does not; its scripts get no answer.
    """
    parts = _AUTHORITY.fullmatch(sent.decode("latin-1"))
    return parts is not None and ((parts[1] or parts[2]).lower() in names or "*" in names)


def _check_token(sent: list[bytes], token: str) -> None:
    scheme, _, given = sent[0].partition(b" ") if len(sent) == 1 else (b"", b"", b"")
    if not same(given.strip(), token.encode()) or scheme.lower() != b"bearer":
        what = "another token" if sent else "no token"
        refusal = Refused(TOKEN, what, "send authorization: Bearer TOKEN", "authorization")
        refusal.headers = {"www-authenticate": "Bearer"}
        raise refusal


def same(one: bytes, other: bytes) -> bool:
    """Whether two secrets are the same; how long that takes tells nothing of either."""
    return hmac.compare_digest(hashlib.sha256(one).digest(), hashlib.sha256(other).digest())


def read_token(file: Path) -> str:
    """The token in a file: one line of 16 to 500 printable ASCII characters without spaces."""
    try:
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("the token file cannot be read", str(file), "check its name and rights") from error
    if not re.fullmatch(r"[!-~]{16,500}", token):
        remedy = "write 16 to 500 printable characters without spaces into it"
        raise SettingError("the token file does not hold a token", str(file), remedy)
    return token


def called(host: str, further: Iterable[str]) -> tuple[str, ...]:
    """The names by which a service on this host may be called: those of the loopback, its own, and further ones."""
    names = tuple(name.lower().strip("[]") for name in further)
    if is_wildcard(host) and not names:
        remedy = "add --allowed-host NAME for each name it is called by, or --allowed-host '*'"
        raise SettingError("a service on all addresses needs to know its names", host, remedy)
    own = () if is_wildcard(host) else (host.lower().strip("[]"),)
    return tuple(dict.fromkeys((*LOOPBACK, *own, *names)))


def is_wildcard(host: str) -> bool:
    """Whether a host stands for all addresses of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def check_reach(addresses: Iterable[str], token: str | None) -> None:
    """Nothing, if there is a token or all addresses are of the loopback."""
    for address in addresses:
        if token is None and not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
            remedy = "give --token-file FILE, or keep to --host 127.0.0.1"
            raise SettingError("without a token only this machine is served", address, remedy)
