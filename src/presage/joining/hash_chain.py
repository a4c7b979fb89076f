"""The chain of hashes that binds each entry to all before it; a log keeps the hash at the end of each commit.

A commit of format 2 is hashed from the envelopes of its entries and a digest of the rest of each, so that a body can be
erased and the chain still be checked. The digest is salted, or the few values that a body may have could be tried out.
"""

import hashlib
import struct
from collections.abc import Iterable, Sequence

from presage.joining.entries import OLDEST_FORMAT, Entry

CHAIN, SEED = 32, 16
"""Bytes of a hash, and of the seed of a commit's salts."""

_PLACE_1 = struct.Struct("<QqBH")  # seq, at, kind, bytes of the id
_COMMIT = struct.Struct("<QI")  # seq of the first entry, number of entries
_PLACE = struct.Struct("<qHHI")  # at, kind, version, bytes of the envelope
_LENGTH = struct.Struct("<H")  # bytes of the id


def chain_start(task: bytes, format: int) -> bytes:
    """The hash before the first entry; logs of different tasks, or formats, never share one."""
    person = b"presage log" if format == OLDEST_FORMAT else b"presage log 2"
    return hashlib.blake2b(task, digest_size=CHAIN, person=person).digest()


def seal(format: int, previous: bytes, entries: Sequence[Entry], seed: bytes) -> bytes:
    """What a log keeps with the last entry of a commit: the hash of the log up to there, and the seed of the salts.

    >>> start = chain_start(b"books", 2)
    >>> one, other = (Entry(1, 0, 2, "a", body, b"", 1) for body in (b"3", b"4"))
    >>> sealed = seal(2, start, [one], bytes(16))
    >>> is_sealed(2, start, [one], sealed), is_sealed(2, start, [other], sealed)
    (True, False)
    """
    if format == OLDEST_FORMAT:
        for entry in entries:
            previous = _chain_1(previous, entry)
        return previous
    salts = salts_of(seed, len(entries))
    return commit_hash(previous, entries, map(body_digest, entries, salts)) + seed


def is_sealed(format: int, previous: bytes, entries: Sequence[Entry], kept: bytes) -> bool:
    """Whether a log keeps with the last entry of a commit what follows from its entries and the hash before them."""
    return seal(format, previous, entries, kept[CHAIN:]) == kept


def salts_of(seed: bytes, count: int) -> list[bytes]:
    """A salt for each entry of a commit."""
    drawn = hashlib.shake_128(seed).digest(CHAIN * count)
    return [drawn[place : place + CHAIN] for place in range(0, len(drawn), CHAIN)]


def body_digest(entry: Entry, salt: bytes) -> bytes:
    """The digest of what may be erased: the id and the body."""
    id = entry.id.encode()
    return hashlib.blake2b(b"".join((salt, _LENGTH.pack(len(id)), id, entry.body)), digest_size=CHAIN).digest()


def commit_hash(previous: bytes, entries: Sequence[Entry], digests: Iterable[bytes]) -> bytes:
    """The hash of the log up to the end of a commit of format 2, from the digests of its bodies."""
    parts = [previous, _COMMIT.pack(entries[0].seq, len(entries))]
    for (_, at, kind, _, _, envelope, version), digest in zip(entries, digests, strict=True):
        parts += (_PLACE.pack(at, kind, version, len(envelope)), envelope, digest)
    return hashlib.blake2b(b"".join(parts), digest_size=CHAIN).digest()


def _chain_1(previous: bytes, entry: Entry) -> bytes:
    id = entry.id.encode()
    place = _PLACE_1.pack(entry.seq, entry.at, entry.kind, len(id))
    return hashlib.blake2b(b"".join((previous, place, id, entry.body)), digest_size=CHAIN).digest()
