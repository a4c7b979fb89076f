"""Why a file cannot be read, in one line: what DuckDB says of it, and what it does not say of a CSV."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from presage.errors import DataError

LOOK = 2**24
"""How many bytes of a CSV are looked through for what is wrong; DuckDB looks at less before it begins to read."""

LINE = re.compile(r"CSV Error on Line: (\d+)")
UNCLOSED = "unexpected end of data"
"""What csv says of a quote that is open at the end."""
ENDS = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


def unreadable_log(name: str, form: str, error: duckdb.Error, files: Sequence[Path] = ()) -> DataError:
    """What to raise where DuckDB cannot read a log, in one line."""
    why = one_line(error)
    if form == "CSV" and "sniffing" in why:
        found = ((file, first_wrong_line(file)) for file in files)
        why = next((wrong if len(files) == 1 else f"{file.name}: {wrong}" for file, wrong in found if wrong), why)
    return DataError(f"{name} cannot be read as {form}", why, "write or export it again")


def one_line(error: duckdb.Error) -> str:
    """What DuckDB says, in one line; of a CSV the number of the line and the reason, if it tells them."""
    lines = [" ".join(line.split()) for line in str(error).splitlines()]
    for place, line in enumerate(lines):
        if number := LINE.search(line):
            reasons = [line for line in lines[place + 1 :] if line and not line.startswith("Original Line")]
            return f"line {int(number[1]):,}: {reasons[0]}" if reasons else line
    return " ".join(lines[:2])


def first_wrong_line(path: Path) -> str | None:
    """The first line of a CSV that does not fit the others, and why; None if all of those looked at do.

    DuckDB looks at the beginning of a file before it reads it. If that is out of order it does not tell where.
    """
    try:
        with path.open("rb") as file:
            found = file.read(LOOK)
            whole = not file.read(1)
    except OSError:
        return None
    if b"\0" in found:  # no text, whatever its name says
        return None
    text = found.decode("utf-8-sig", "replace")
    text = text if whole else text[: text.rfind("\n") + 1]
    return _row(text, "\t" if path.suffix == ".tsv" else ",", whole) or _line_end(text)


def _row(text: str, delimiter: str, whole: bool) -> str | None:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    read = 0  # lines
    try:
        head = len(next(rows, []))
        for row in rows:
            read = rows.line_num
            if row and len(row) != head:
                wrong = f"line {read:,} has {len(row):,} columns, the first {head:,}"
                last = whole and len(row) < head and next(rows, None) is None
                return f"{wrong}; it is the last: was the file cut?" if last else wrong
    except csv.Error as error:
        if whole and str(error) == UNCLOSED:
            return f"line {read + 1:,} has a quote that is not closed"
    return None


def _line_end(text: str) -> str | None:
    ends = re.finditer(r"\r\n|\r|\n", text)
    first = next(ends, None)
    for number, end in enumerate(ends, 2):
        if first and end[0] != first[0]:
            return f"line {number:,} ends in {ENDS[end[0]]}, the first in {ENDS[first[0]]}"
    return None
