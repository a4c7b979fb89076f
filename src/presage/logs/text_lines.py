"""The lines of a text log, one by one: the first that cannot be read and why, or a copy of the file without them.

DuckDB reads a file far faster, and is asked first. This is for files that it refuses: it does not always say where
they are wrong, takes no mixed line ends, and skips lines without saying which.
"""

import csv
import gzip
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec

from presage.errors import DataError
from presage.logs.file_forms import packed_as

LONGEST_LINE = 2**24
LONGEST_RECORD = 1000
"""How many lines a quoted value may span before its quote counts as one that is not closed."""
SHOWN = 3
UNCLOSED = "unexpected end of data"
"""What csv says of a quote that is open at the end."""
BOM = b"\xef\xbb\xbf"


class BadLines(NamedTuple):
    """How many lines could not be read, and what is wrong with the first of them."""

    total: int = 0
    first: tuple[str, ...] = ()  # such as "line 9 has 7 columns, the first 8"

    def plus(self, other: "BadLines", name: str = "") -> "BadLines":
        """Both together; `name` tells the file of the others."""
        more = tuple(f"{name}: {words}" if name else words for words in other.first)
        return BadLines(self.total + other.total, (*self.first, *more)[:SHOWN])


class _Record(NamedTuple):
    """A row of the file as it is written, without its line end; or what is wrong with the line it begins in."""

    line: int
    text: bytes = b""
    wrong: str = ""


NOT_UTF8 = "is not UTF-8"
AS_UTF8 = "save the file as UTF-8, such as by iconv -f latin1 -t utf8"


def clean_lines(path: Path, form: str, delimiter: str, target: BinaryIO | None, skip: bool) -> BadLines:
    """What was wrong with the lines of a file; the others now stand in `target`, with plain line ends.

    Without `skip` the first line that cannot be read is refused.
    """
    bad, good = BadLines(), 0
    try:
        with closing(_opened(path)) as file:
            numbered = enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1)
            records = _csv_records(numbered, delimiter) if form == "CSV" else _json_records(numbered)
            for record in records:
                if record.wrong:
                    words = f"line {record.line:,} {record.wrong}"
                    if not skip or good == 0 or len(record.text) > LONGEST_LINE:
                        remedy = "correct it, or skip such lines (--skip-bad-lines)"
                        remedy = remedy if target and not skip else "correct it, or export it again"
                        remedy = AS_UTF8 if NOT_UTF8 in words else remedy
                        raise DataError(f"{path.name} cannot be read as {form}", words, remedy)
                    bad = bad.plus(BadLines(1, (words,)))
                    continue
                good += 1
                if target:
                    target.write(record.text + b"\n")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path.name} cannot be unpacked", str(error), "copy or export the file again") from error
    if bad.total > good:
        raise DataError(f"most lines of {path.name} cannot be read as {form}", bad.first[0], "export the file again")
    return bad


def _opened(path: Path) -> BinaryIO:
    if packed_as(path) == "zstd":
        remedy = "unpack it, or correct and export it again"
        raise DataError(f"{path.name} has lines that cannot be read", "a file packed with zstd", remedy)
    return cast("BinaryIO", gzip.open(path)) if packed_as(path) == "gzip" else path.open("rb")


def _wrong_bytes(line: bytes) -> str:
    """What is wrong with a line whatever its columns are."""
    if len(line) > LONGEST_LINE:
        return f"is longer than {LONGEST_LINE:,} bytes"
    if b"\0" in line:
        return "holds a zero byte: it is no text"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"{NOT_UTF8}: byte 0x{line[error.start]:02X} in place {error.start + 1:,}"
    return ""


def _json_records(lines: Iterator[tuple[int, bytes]]) -> Iterator[_Record]:
    decode: Callable[[bytes], object] = msgspec.json.Decoder(dict[str, object]).decode
    for number, line in lines:
        text = line.removeprefix(BOM).strip()
        if text:
            wrong = _wrong_bytes(line)
            try:
                decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                wrong = wrong or f"is no JSON object ({error})"
            yield _Record(number, line if wrong else text, wrong)


def _csv_records(lines: Iterator[tuple[int, bytes]], delimiter: str) -> Iterator[_Record]:
    """The rows of a CSV; a line that opens a quote and never closes it is one bad line, not the rest of the file."""
    waiting: deque[tuple[int, bytes]] = deque()
    width, mark = 0, delimiter.encode()
    while True:
        number, line = waiting.popleft() if waiting else next(lines, (0, b""))
        if not line:
            return
        text = (line.removeprefix(BOM) if number == 1 else line).rstrip(b"\r\n")
        wrong = _wrong_bytes(line)
        if not text.strip() and width != 1:
            continue
        columns, taken = text.count(mark) + 1, 0
        if b'"' in text and not wrong:
            text, columns, taken, wrong = _quoted_record(text, delimiter, lines, waiting)
        if not width and not wrong:
            width = columns
        elif not wrong and columns == width + 1 and text.endswith(mark):
            text = text[: -len(mark)]  # a delimiter at the end of rows but not of the header
        elif not wrong and columns != width:
            wrong = f"has {columns:,} column{'s' * (columns > 1)}, the first {width:,}"
            if columns < width and not waiting:
                waiting.extend([following] if (following := next(lines, None)) else [])
                wrong += "" if waiting else "; it is the last: was the file cut?"
        for _ in range(0 if wrong else taken):
            waiting.popleft()
        yield _Record(number, line if wrong else text, wrong)


def _quoted_record(
    text: bytes, delimiter: str, lines: Iterator[tuple[int, bytes]], waiting: deque[tuple[int, bytes]]
) -> tuple[bytes, int, int, str]:
    """A row that holds quotes, its columns, how many of the waiting lines it spans, and what is wrong with it."""
    found, taken = text, 0
    while True:
        try:
            row = next(csv.reader([found.decode()], delimiter=delimiter, strict=True))
            return found, len(row), taken, ""
        except csv.Error as error:
            if str(error) != UNCLOSED:
                wrong = (
                    "has text after a closing quote" if "expected after" in str(error) else f"cannot be read ({error})"
                )
                return text, 0, 0, wrong
        while True:  # the quote is open: up to the next line that may close it
            if taken == len(waiting):
                waiting.extend([following] if (following := next(lines, None)) else [])
            if taken == len(waiting) or taken >= LONGEST_RECORD or _wrong_bytes(waiting[taken][1]):
                return text, 0, 0, "has a quote that is not closed"
            line = waiting[taken][1]
            found, taken = found + b"\n" + line.rstrip(b"\r\n"), taken + 1
            if b'"' in line:
                break
