"""Admission of connections: so many in all and per address; those beyond are answered about the service's health only.

So idle sockets do not shut others out: an address that holds all it may leaves room for the rest, and a probe of the
health is answered however many connections there are.
"""

import ipaddress
import resource
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from presage.errors import SettingError
from presage.service.limits import Limits

HEALTH = (b"/healthz", b"/readyz")
"""Addresses that are answered on every connection."""

SPARE = 2048
"""Connections beyond the limits that are kept open for a probe of the health; beyond them the oldest is closed.

It is as many as may wait to be accepted: those that come in one turn of the loop do not displace each other.
"""

OWN = 64
"""Descriptors that the service itself needs, and some more."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Connection(Protocol):
    """A connection, as far as it is admitted here."""

    def cut(self) -> None:
        """Close it at once."""
        ...


class Admission:
    """Counts connections, and decides which of them may make any request.

    >>> admission = Admission(Limits(connections_per_address=1), ["10.0.0.0/8"])
    >>> [admission.admit(address) for address in ("192.0.2.1", "192.0.2.1", "10.0.0.1", "10.0.0.1")]
    [True, False, True, True]
    """

    def __init__(self, limits: Limits, proxies: Iterable[str] = ()) -> None:
        self.most, self.per_address = limits.connections, limits.connections_per_address
        self.proxies = tuple(map(read_network, proxies))
        self.open: Counter[str] = Counter()
        self.spare: dict[Connection, None] = {}  # the oldest first
        self.spare_most = max(OWN, min(SPARE, _descriptors(self.most + SPARE + OWN) - self.most - OWN))

    def admit(self, address: str) -> bool:
        """Count one more connection from an address, unless that is too many."""
        source = _source(address)
        if self.open.total() >= self.most or (
            self.open[source] >= self.per_address and not is_within(address, self.proxies)
        ):
            return False
        self.open[source] += 1
        return True

    def leave(self, address: str) -> None:
        """A connection that was admitted ended."""
        source = _source(address)
        self.open[source] -= 1
        if not self.open[source]:
            del self.open[source]

    def keep_spare(self, connection: Connection) -> None:
        """Keep a connection that was not admitted, for a probe of the health."""
        self.spare[connection] = None
        while len(self.spare) > self.spare_most:
            oldest = next(iter(self.spare))
            del self.spare[oldest]
            oldest.cut()


def read_network(text: str) -> Network:
    """The network of a proxy: an address, or a range such as 10.0.0.0/8."""
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise SettingError("not the address of a proxy", text, "give an address, or a range as 10.0.0.0/8") from error


@lru_cache(maxsize=1000)
def is_within(address: str, networks: tuple[Network, ...]) -> bool:
    """Whether an address is in one of some networks."""
    return bool(networks) and any(ipaddress.ip_address(address) in each for each in networks)


@lru_cache(maxsize=1000)
def _source(address: str) -> str:
    """What connections are counted by: an address, or for IPv6 the network that one customer gets."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))


def _descriptors(wanted: int) -> int:
    """How many files and connections this process may have open; more than it had been given, if the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return wanted if soft == resource.RLIM_INFINITY else soft
