"""The tables of the log, and how rows become what they say."""

from typing import Any

from presage.timeline.bins import Bins, Counters
from presage.timeline.entries import Kind
from presage.timeline.join import Bin, Known

FORMAT = 1

_NUMBERS = (*Bins._fields, *Counters._fields[1:])
_KNOWN = ", ".join(f"{name} {'BLOB' if name == 'features' else 'INTEGER'} NOT NULL" for name in Known._fields[1:])

TABLES = f"""
CREATE TABLE about (format INTEGER NOT NULL, task BLOB NOT NULL) STRICT;
CREATE TABLE log (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  id TEXT NOT NULL,
  body BLOB NOT NULL,
  chain BLOB  -- of the last entry of each commit
) STRICT;
CREATE TABLE ids (id TEXT PRIMARY KEY, first INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE known (first INTEGER PRIMARY KEY, {_KNOWN}) STRICT;
CREATE INDEX awaits_proxy ON known (predicted) WHERE proxy_bin = 0 AND predicted > 0;
CREATE INDEX awaits_outcome ON known (predicted) WHERE outcome_bin = 0 AND predicted > 0;
CREATE TABLE counters ({", ".join(f"{name} INTEGER NOT NULL" for name in _NUMBERS)}) STRICT;
"""
# Ids are random, so a row found by its id is on a page of its own. What is known of an id changes with its feedback,
# and lies where its neighbours in time are: most pages that a commit touches are touched by many of its events.

APPEND = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)"
NAME = "INSERT INTO ids VALUES (?, ?)"
ADD = f"INSERT INTO known VALUES ({', '.join('?' * len(Known._fields))})"
CHANGE = f"UPDATE known SET {', '.join(f'{name} = ?' for name in Known._fields[1:])} WHERE first = ?"
COUNT = f"UPDATE counters SET {', '.join(f'{name} = ?' for name in _NUMBERS)}"
START = f"INSERT INTO counters VALUES ({', '.join('?' * len(_NUMBERS))})"

FIND = "SELECT ids.id, known.* FROM ids JOIN known USING (first) WHERE ids.id = ?"
ENTRY = "SELECT seq, at, kind, id, body FROM log WHERE seq = ?"
AFTER = "SELECT seq, at, kind, id, body, chain FROM log WHERE seq > ? ORDER BY seq"
LAST = "SELECT seq, chain, at FROM log ORDER BY seq DESC LIMIT 1"
BOUND = "SELECT seq, chain FROM log WHERE seq <= ? AND chain IS NOT NULL ORDER BY seq DESC LIMIT 1"
COUNTERS = "SELECT * FROM counters"
ABOUT = "SELECT format, task FROM about"

_DUE = (
    "SELECT log.id, predicted_at FROM known JOIN log ON log.seq = known.predicted "
    "WHERE {bin} = 0 AND known.predicted > 0 ORDER BY known.predicted LIMIT ?"
)
DUE = {Kind.PROXY: _DUE.format(bin="proxy_bin"), Kind.OUTCOME: _DUE.format(bin="outcome_bin")}

_BINS = tuple(Bin)


def known_in(row: Any) -> Known:
    """What a row of `known` says."""
    first, predicted, at, features, z, z_bin, z_entry, z_seq, y, y_bin, y_entry, y_seq = row
    proxy, outcome = (z, _BINS[z_bin], z_entry, z_seq), (y, _BINS[y_bin], y_entry, y_seq)
    return Known._make((first, predicted, at, features, *proxy, *outcome))


def row_of(counters: Counters) -> tuple[int, ...]:
    """Counters as a row."""
    return (*counters.bins, *counters[1:])


def counters_in(row: Any) -> Counters:
    """What the row of counters says."""
    return Counters(Bins(*row[: len(Bins._fields)]), *row[len(Bins._fields) :])
