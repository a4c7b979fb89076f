"""The symbol of a category that is hashed: the same in every log, process and version."""

import hashlib


def hashed_symbol(value: str, size: int) -> int:
    """The symbol below `size` of `value`: the last eight bytes of its MD5 as a little-endian number, modulo `size`.

    >>> hashed_symbol("abc", 1000)
    838
    """
    digest = hashlib.md5(value.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little") % size
