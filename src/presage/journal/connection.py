"""One connection to an SQLite file: the only one, synced at every commit, with a checksum on every page."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import apsw
import apsw.sqlite_extra

from presage.errors import LogDamagedError, StoreFailedError, StoreFullError, StoreInUseError

OLDEST = (3, 51, 3)
"""Before it, SQLite could damage a write-ahead log."""

CHECKSUM = 8
"""Bytes of each page that hold its checksum."""

PRAGMAS = (
    "locking_mode = EXCLUSIVE",
    "journal_mode = WAL",
    "synchronous = FULL",
    "cell_size_check = ON",
    "trusted_schema = OFF",
    "cache_size = -16000",  # KiB
    "journal_size_limit = 67108864",
    "temp_store = FILE",
)

_NO_CODE_FROM_FILES = (
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
)

_ALTERED = (apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS)


def connect(path: Path) -> apsw.Connection:
    """A connection that has the file for itself; the file is made if it is not there, for this user alone."""
    with suppress(OSError):  # SQLite says what it cannot open, and gives its other files the same permissions
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with sqlite_errors_as_ours(path):
        connection = apsw.Connection(str(path), vfs=_page_checks())
        try:
            connection.reserve_bytes("main", CHECKSUM)  # of a new file; others have it already
            for setting in _NO_CODE_FROM_FILES:
                connection.config(setting, 0)
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # or SQLite plans a query again for every value
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # leave a refused log as it was found
            for pragma in PRAGMAS:
                connection.execute(f"PRAGMA {pragma}").fetchall()
            connection.execute("BEGIN IMMEDIATE; COMMIT")  # takes the lock, and keeps it
            if connection.execute("PRAGMA checksum_verification").get != "1":
                raise LogDamagedError("the pages of the log have no checksums", str(path), "restore a backup")
        except BaseException:
            connection.close(True)
            raise
    return connection


@contextmanager
def sqlite_errors_as_ours(path: Path) -> Iterator[None]:
    """Errors of SQLite as ours."""
    try:
        yield
    except apsw.FullError as error:
        raise StoreFullError(
            "the disk is full", str(path), "free some space; the service continues by itself"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        remedy = "stop the other process, or use another folder"
        raise StoreInUseError("another process is using the folder", str(path.parent), remedy) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise _damaged(path, error) from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) in _ALTERED:  # its type has no such attribute, but its objects have
            raise _damaged(path, error) from error
        raise _failed(path, error) from error
    except apsw.Error as error:
        raise _failed(path, error) from error


def _damaged(path: Path, error: apsw.Error) -> LogDamagedError:
    return LogDamagedError(f"the log is damaged ({error})", str(path), "restore the folder from a backup")


def _failed(path: Path, error: apsw.Error) -> StoreFailedError:
    return StoreFailedError(f"the log could not be read or written ({error})", str(path), "check the disk and restart")


@cache
def _page_checks() -> str:
    """The name of the file system layer that adds and checks the checksums, loaded once."""
    found = tuple(map(int, apsw.sqlite_lib_version().split(".")))
    if found < OLDEST:
        raise StoreFailedError("this SQLite is too old", apsw.sqlite_lib_version(), "install a newer apsw")
    if not apsw.sqlite_extra.has("cksumvfs"):
        wrong = "this SQLite cannot check pages by checksums"
        raise StoreFailedError(wrong, apsw.apsw_version(), "install apsw from its wheel")
    loader = apsw.Connection(":memory:")
    apsw.sqlite_extra.load(loader, "cksumvfs")
    loader.close()
    return "cksmvfs"
