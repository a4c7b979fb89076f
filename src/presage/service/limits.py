"""The limits of the service: one table for the command line, the docs and the checks."""

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from presage.settings import one_of, positive, whole

MEBIBYTE = 1 << 20


def _limit(default: Any, about: str) -> Any:
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True)
class Limits:
    """The limits of a service, and its clock.

    >>> Limits(id_bytes=64).id_bytes
    64
    """

    clock: str = _limit("wall", "clock of the log: wall, or events (requests carry `at`)")
    body_bytes: int = _limit(MEBIBYTE, "bytes in a request body, unless it is a bulk request")
    bulk_bytes: int = _limit(8 * MEBIBYTE, "bytes in the body of a bulk request")
    bulk_events: int = _limit(10_000, "events in a bulk request, or in a list")
    candidates: int = _limit(1_000, "candidates in one request")
    id_bytes: int = _limit(200, "bytes in an id, as UTF-8")
    features_bytes: int = _limit(16_384, "bytes in the features of one prediction")
    header_bytes: int = _limit(16_384, "bytes in the headers of a request")
    held_bytes: int = _limit(64 * MEBIBYTE, "bytes in all unfinished request bodies together")
    connections: int = _limit(500, "open connections; further ones are answered about the health only")
    connections_per_address: int = _limit(200, "open connections from one address, unless it is a declared proxy's")
    request_seconds: float = _limit(9.0, "seconds for a request to arrive, and for a response to be read")
    idle_seconds: float = _limit(9.0, "seconds that a connection may be idle")
    retry_seconds: int = _limit(1, "seconds in Retry-After when the service is busy")
    grace: float = _limit(10.0, "seconds from a signal to stop to the end of the process, whatever is unfinished")

    def __post_init__(self) -> None:
        one_of("clock", self.clock, ("wall", "events"))
        for limit in limits()[1:]:
            check = whole if limit.kind is int else positive
            check(limit.name, getattr(self, limit.name))


class Limit(NamedTuple):
    """A limit by name: the type of its value, its default, and what it bounds."""

    name: str
    kind: type
    default: Any
    about: str


def limits() -> list[Limit]:
    """Every limit, in the order of the table."""
    return [Limit(each.name, type(each.default), each.default, each.metadata["about"]) for each in fields(Limits)]
