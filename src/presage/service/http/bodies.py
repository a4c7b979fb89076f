"""Bodies of requests, received within limits: nothing beyond them is kept."""

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from presage.service.http.problems import BUSY, MALFORMED, MEDIA, TOO_LARGE, RefusalError

DRAINED = 4
"""How many times the limit is read and discarded, so that a client that sends too much can read the answer."""


class BodyReader:
    """Receives bodies, and counts the bytes that all unfinished ones hold."""

    def __init__(self, held_bytes: int, retry_seconds: int) -> None:
        self.held_bytes, self.retry_seconds = held_bytes, retry_seconds
        self.held = 0

    async def receive(self, scope: Scope, receive: Receive, most: int, types: tuple[str, ...]) -> bytes:
        """The body of a request of one of these types, of at most this many bytes."""
        _check(scope, most, types)
        chunks: list[bytes] = []
        size = 0
        more = True
        try:
            while more:
                chunk, more = await _next(receive)
                size += len(chunk)
                if size > most:
                    break
                self.held += len(chunk)
                chunks.append(chunk)
                if more and self.held > self.held_bytes:
                    raise self._busy()
        finally:
            self.held -= sum(map(len, chunks))
        if size <= most:
            return b"".join(chunks)
        chunks.clear()
        while more and size <= (1 + DRAINED) * most:
            chunk, more = await _next(receive)
            size += len(chunk)
        raise _too_large(most)

    def _busy(self) -> RefusalError:
        refusal = RefusalError(BUSY, "too many large requests at once", "send the same again shortly", "body")
        refusal.headers = {"retry-after": str(self.retry_seconds), "connection": "close"}
        return refusal


def _check(scope: Scope, most: int, types: tuple[str, ...]) -> None:
    """Raise RefusalError if the head of a request announces a body that cannot be taken."""
    head: dict[bytes, bytes] = dict(scope["headers"])
    sent = head.get(b"content-type", b"").decode("latin-1")
    if sent not in types:
        kind, _, charset = sent.lower().partition(";")
        if kind.strip() not in types or charset.strip() not in ("", "charset=utf-8", 'charset="utf-8"'):
            raise RefusalError(
                MEDIA, "unsupported content type", f"send content-type: {types[0]}", "content-type", sent
            )
    encoding = head.get(b"content-encoding", b"identity").decode("latin-1")
    if encoding.strip().lower() != "identity":
        raise RefusalError(MEDIA, "unsupported content encoding", "send it unencoded", "content-encoding", encoding)
    transfer = head.get(b"transfer-encoding", b"chunked").decode("latin-1")
    if transfer.strip().lower() != "chunked":
        raise RefusalError(
            MALFORMED, "unsupported transfer encoding", "send it unencoded", "transfer-encoding", transfer
        )
    if b"expect" not in head:
        return
    length = head.get(b"content-length", b"")
    # A client that waits for permission to send gets its answer at once; the body of any other is read to its end.
    if length.isdigit() and int(length) > most:
        raise _too_large(most)


async def _next(receive: Receive) -> tuple[bytes, bool]:
    """The next part of a body, and whether there is more."""
    message = await receive()
    if message["type"] != "http.request":
        raise ClientDisconnect
    return message.get("body", b""), message.get("more_body", False)


def _too_large(most: int) -> RefusalError:
    wrong = f"the body has more than {most} bytes"
    refusal = RefusalError(TOO_LARGE, wrong, f"send at most {most} bytes at once", "body")
    refusal.headers = {"connection": "close"}
    return refusal
