"""Why DuckDB cannot read a log, in one line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from presage.errors import DataError

CHECK = "check the folder, the name and who may read it"
LINE = re.compile(r"CSV Error on Line: (\d+)")


def unreadable_log(name: str, form: str, error: duckdb.Error) -> DataError:
    """What to raise where DuckDB cannot read a log, in one line."""
    return DataError(f"{name} cannot be read as {form}", one_line(error), "write or export it again")


def one_line(error: duckdb.Error) -> str:
    """What DuckDB says, in one line; of a CSV the number of the line and the reason, if it tells them."""
    lines = [" ".join(line.split()) for line in str(error).splitlines()]
    for place, line in enumerate(lines):
        if number := LINE.search(line):
            reasons = [line for line in lines[place + 1 :] if line and not line.startswith("Original Line")]
            return f"line {int(number[1]):,}: {reasons[0]}" if reasons else line
    return " ".join(lines[:2])


def about_lines(error: duckdb.Error) -> bool:
    """Whether it is about what a file holds, rather than memory, the disk or a setting."""
    others = (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.PermissionException, duckdb.InternalException)
    return isinstance(error, duckdb.Error) and not isinstance(error, others)


@contextmanager
def reading_errors(name: str) -> Iterator[None]:
    """Nothing; what the system says of a file that it does not let us read is raised as one line."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise DataError(f"{name} cannot be read ({why.lower()})", error.filename or name, CHECK) from error
    except MemoryError as error:
        raise DataError(
            f"{name} needs more memory than there is", name, "give a part of it, or a larger machine"
        ) from error
    except ValueError as error:
        if not isinstance(error, UnicodeError) and "null byte" not in str(error):
            raise
        raise DataError(f"{name} cannot be read", str(error), CHECK) from error
