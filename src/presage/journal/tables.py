"""The tables of a log in SQLite, by format: their statements, and rows as entries and state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from presage.joining.counters import Bins, Counters
from presage.joining.entries import FORMAT, NOTHING, OLDEST_FORMAT, Entry, EntryKind
from presage.joining.join import Bin, Known

DERIVED = 1
"""The version of the tables that follow from the entries."""

_KNOWN = ", ".join(f"{name} {'BLOB' if name == 'features' else 'INTEGER'} NOT NULL" for name in Known._fields[1:])

_STATES = f"""
CREATE TABLE ids (id TEXT PRIMARY KEY, first INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE known (first INTEGER PRIMARY KEY, {_KNOWN}) STRICT;
CREATE INDEX awaits_proxy ON known (predicted) WHERE proxy_bin = 0 AND predicted > 0;
CREATE INDEX awaits_outcome ON known (predicted) WHERE outcome_bin = 0 AND predicted > 0;
"""
# Ids are random, so a row found by its id is on a page of its own. What is known of an id changes with its feedback,
# and lies where its neighbours in time are: most pages that a commit touches are touched by many of its events.

_LOGS = {
    1: """
CREATE TABLE about (format INTEGER NOT NULL, task BLOB NOT NULL) STRICT;
CREATE TABLE log (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  id TEXT NOT NULL,
  body BLOB NOT NULL,
  chain BLOB  -- of the last entry of each commit
) STRICT;
""",
    2: """
CREATE TABLE about (format INTEGER NOT NULL, task BLOB NOT NULL, derived INTEGER NOT NULL) STRICT;
CREATE TABLE log (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  version INTEGER NOT NULL,
  envelope BLOB NOT NULL,
  id TEXT NOT NULL,
  body BLOB,  -- NULL: erased
  seal BLOB  -- of the last entry of each commit
) STRICT;
CREATE TABLE kinds (
  kind INTEGER NOT NULL,
  version INTEGER NOT NULL,
  first INTEGER NOT NULL,  -- seq of the first entry of this kind and version
  PRIMARY KEY (kind, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX notes ON log (kind) WHERE kind > 6;
""",
}

NAME = "INSERT INTO ids VALUES (?, ?)"
ADD = f"INSERT INTO known VALUES ({', '.join('?' * len(Known._fields))})"
CHANGE = f"UPDATE known SET {', '.join(f'{name} = ?' for name in Known._fields[1:])} WHERE first = ?"
FIND = "SELECT ids.id, known.* FROM ids JOIN known USING (first) WHERE ids.id = ?"
COUNTERS = "SELECT * FROM counters"
ABOUT = "SELECT * FROM about"
NOTES = "SELECT seq, at, kind, id, body, envelope, version FROM log WHERE kind > 6 AND kind = ? ORDER BY seq"
NOTE_PLACES = "SELECT seq FROM log WHERE kind > 6 ORDER BY seq"
KINDS = "SELECT kind, version, first FROM kinds ORDER BY kind, version"
ADD_KIND = "INSERT INTO kinds VALUES (?, ?, ?)"

_DUE = (
    "SELECT log.id, predicted_at FROM known JOIN log ON log.seq = known.predicted "
    "WHERE {bin} = 0 AND known.predicted > 0 ORDER BY known.predicted LIMIT ?"
)
DUE = {EntryKind.PROXY: _DUE.format(bin="proxy_bin"), EntryKind.OUTCOME: _DUE.format(bin="outcome_bin")}

_NO_PREDICTION = "predicted = 0 AND (predicted_at != 0 OR features != x'')"
_NO_SIGNAL = (
    f"{{0}}_entry = 0 AND ({{0}} != {NOTHING} OR {{0}}_bin NOT IN ({Bin.NONE:d}, {Bin.ABSENT:d}) "
    f"OR ({{0}}_bin = {Bin.NONE:d} AND {{0}}_seq != 0))"
)
EMPTY_STATES = (
    f"SELECT count(*) FROM known WHERE ({_NO_PREDICTION}) "
    f"OR ({_NO_SIGNAL.format('proxy')}) OR ({_NO_SIGNAL.format('outcome')})"
)
"""How many states say something of a prediction or a signal that has not come."""

_MARKED = f"_bin IN ({Bin.ABSENT:d}, {Bin.LATE:d})"
_IMPLIES = ("predicted > 0", "proxy_entry > 0", "outcome_entry > 0", f"proxy{_MARKED}", f"outcome{_MARKED}")
IMPLIED = f"SELECT {', '.join(f'coalesce(sum({each}), 0)' for each in _IMPLIES)} FROM known"
"""How many entries of each kind the states imply: predictions, proxies, outcomes, and absences of both."""

_BINS = tuple(Bin)


@dataclass(frozen=True)
class Statements:
    """The statements for the tables of one format. An entry is selected in the order of its fields."""

    format: int
    create: str
    begin: str
    start: str
    count: str
    append: str
    entry: str
    after: str
    states: str
    last: str
    bound: str

    def rows(self, entries: Sequence[Entry], sealed: bytes) -> Iterator[tuple[Any, ...]]:
        """The rows of the entries of one commit."""
        last = len(entries) - 1
        if self.format == OLDEST_FORMAT:
            for place, entry in enumerate(entries):
                yield (*entry[:5], sealed if place == last else None)
            return
        for place, (seq, at, kind, id, body, envelope, version) in enumerate(entries):
            yield seq, at, kind, version, envelope, id, body, sealed if place == last else None

    def counted(self, counters: Counters) -> tuple[int, ...]:
        """Counters as a row."""
        return (*counters.bins, *counters[1:])[: len(_counted_names(self.format))]


def _counted_names(format: int) -> tuple[str, ...]:
    """The columns of the counters; a log of format 1 has no notes."""
    names = (*Bins._fields, *Counters._fields[1:])
    return names[:-1] if format == OLDEST_FORMAT else names


def _statements(format: int) -> Statements:
    counted, old = _counted_names(format), format == OLDEST_FORMAT
    counters = ", ".join(f"{name} INTEGER NOT NULL" for name in counted)
    sealed = "chain" if old else "seal"
    entry = "seq, at, kind, id, body, " + ("x'', 0" if old else "envelope, version")
    return Statements(
        format=format,
        create=f"{_LOGS[format]}{_STATES}CREATE TABLE counters ({counters}) STRICT;",
        begin="INSERT INTO about VALUES (?, ?)" if old else f"INSERT INTO about VALUES (?, ?, {DERIVED})",
        start=f"INSERT INTO counters VALUES ({', '.join('?' * len(counted))})",
        count=f"UPDATE counters SET {', '.join(f'{name} = ?' for name in counted)}",
        append=f"INSERT INTO log VALUES ({', '.join('?' * (6 if old else 8))})",
        entry=f"SELECT {entry} FROM log WHERE seq = ?",
        after=f"SELECT {entry}, {sealed} FROM log WHERE seq > ? ORDER BY seq",
        states=(
            f"SELECT {entry.replace(' id', ' log.id')}, {sealed}, known.* FROM log LEFT JOIN ids ON ids.id = log.id "
            "LEFT JOIN known ON known.first = ids.first ORDER BY log.seq"
        ),
        last=f"SELECT seq, {sealed}, at FROM log ORDER BY seq DESC LIMIT 1",
        bound=f"SELECT seq, {sealed} FROM log WHERE seq <= ? AND {sealed} IS NOT NULL ORDER BY seq DESC LIMIT 1",
    )


STATEMENTS = {format: _statements(format) for format in range(OLDEST_FORMAT, FORMAT + 1)}


def known_in(row: Any) -> Known:
    """The state in a row of `known`."""
    first, predicted, at, features, z, z_bin, z_entry, z_seq, y, y_bin, y_entry, y_seq = row
    proxy, outcome = (z, _BINS[z_bin], z_entry, z_seq), (y, _BINS[y_bin], y_entry, y_seq)
    return Known._make((first, predicted, at, features, *proxy, *outcome))


def counters_in(row: Any) -> Counters:
    """The counters in their row."""
    return Counters(Bins(*row[: len(Bins._fields)]), *row[len(Bins._fields) :])
