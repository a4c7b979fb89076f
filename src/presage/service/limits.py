"""The limits of the service: one table that the command line, the docs and the checks read."""

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from presage.settings import one_of, positive, whole

MEBIBYTE = 1 << 20


def _limit(default: Any, about: str) -> Any:
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True)
class Limits:
    """What the service takes at most, and whose clock it goes by.

    >>> Limits(id_bytes=64).id_bytes
    64
    """

    clock: str = _limit("wall", "whose time counts: wall, or events (requests carry `at`)")
    body_bytes: int = _limit(MEBIBYTE, "bytes of a body, except that of a bulk")
    bulk_bytes: int = _limit(8 * MEBIBYTE, "bytes of the body of a bulk")
    bulk_events: int = _limit(10_000, "events of a bulk, or of a list")
    candidates: int = _limit(1_000, "candidates of one request")
    id_bytes: int = _limit(200, "bytes of an id in UTF-8")
    features_bytes: int = _limit(16_384, "bytes of the features of one prediction")
    header_bytes: int = _limit(16_384, "bytes of the head of a request")
    held_bytes: int = _limit(64 * MEBIBYTE, "bytes of all bodies being received at once")
    connections: int = _limit(500, "connections at once; the next is closed")
    request_seconds: float = _limit(9.0, "seconds a request may take to arrive, and an answer to be read")
    idle_seconds: float = _limit(9.0, "seconds a connection may stay without a request")
    retry_seconds: int = _limit(1, "seconds to wait that are named when there is too much to do")
    shutdown_seconds: int = _limit(10, "seconds that requests under way have to end when the service stops")

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
