"""What must be true of a log after any fault, given the ledger of its clients."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from presage.errors import PresageError
from presage.joining.entries import Entry, EntryKind, LogEvent, encode, entry_with, feedback_in, predicted_in
from presage.joining.join import Horizons
from presage.journal.head_marker import HeadMarker
from presage.journal.readers import read_lessons
from presage.journal.sqlite import SqliteLog
from presage.journal.verify import verify_log
from tests.faults.ledger import Asked
from tests.joining.reference_joiner import OUTCOME, PROXY, ReferenceJoiner
from tests.journal.events import NAMES, TASK, rules

ABSENT = {EntryKind.ABSENT_PROXY: PROXY, EntryKind.ABSENT_OUTCOME: OUTCOME}


def violations(folder: Path, asked: Iterable[Asked], horizons: Horizons) -> list[str]:
    """Every promise that the log in a folder breaks."""
    requests = list(asked)
    acknowledged = max((reply.seq for each in requests for reply in each.replies), default=0)
    try:
        marked = _marked(folder) if acknowledged else 0
        log = SqliteLog(folder, TASK)
    except PresageError as error:
        return [f"it does not open: {error}"]
    try:
        verify_log(log, horizons)
        entries = log.read(0, 10**9)
        found = [f"the marker says {marked}, {acknowledged} was answered"] if marked < acknowledged else []
        return [*found, *_lost(entries, requests), *_strange(entries, requests), *_trained(log, entries, horizons)]
    except PresageError as error:
        return [f"it is not whole: {error}"]
    finally:
        log.close()


def _marked(folder: Path) -> int:
    marker = HeadMarker(folder)
    marker.close()
    return marker.marked.seq


def _lost(entries: list[Entry], requests: list[Asked]) -> Iterator[str]:
    """Answers that the log does not bear out."""
    named = {(entry.id, entry.kind): entry for entry in entries}
    for each in requests:
        for event, reply in zip(each.events, each.replies, strict=bool(each.replies)):
            entry = named.get((event.id, event.kind))
            if entry is None:
                yield f"lost: {event.kind.name} of {event.id}, answered {reply}"
            elif reply.decision == "conflict":
                if _says(entry) == _says_event(event):
                    yield f"no conflict: {event.kind.name} of {event.id}"
            elif entry.seq != reply.seq or _says(entry) != _says_event(event):
                yield f"altered: {event.kind.name} of {event.id}, answered {reply}, kept as {entry}"
            elif reply.decision == "accepted" and _body(entry) != encode(event.body):
                yield f"other bytes: {event.kind.name} of {event.id}"


def _strange(entries: list[Entry], requests: list[Asked]) -> Iterator[str]:
    """Entries that nobody sent, or that are there twice."""
    sent: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    for each in requests:
        for event in each.events:
            sent[event.id, event.kind].add(encode(event.body))
    seen = set()
    for entry in entries:
        if entry.kind == EntryKind.LEARN:
            continue
        if (entry.id, entry.kind) in seen:
            yield f"twice: {EntryKind(entry.kind).name} of {entry.id}"
        seen.add((entry.id, entry.kind))
        if entry.kind in NAMES and _body(entry) not in sent[entry.id, entry.kind]:
            yield f"never sent: {EntryKind(entry.kind).name} of {entry.id}"


def _trained(log: SqliteLog, entries: list[Entry], horizons: Horizons) -> Iterator[str]:
    """Lessons other than the reference joiner finds in the same entries."""
    reference, decided = ReferenceJoiner(rules(horizons)), set()
    for entry in entries:
        if entry.kind in ABSENT:
            decided.add((entry.id, ABSENT[EntryKind(entry.kind)]))
        elif entry.kind in NAMES:
            reference.arrive(entry.at, NAMES[EntryKind(entry.kind)], entry.id, _says(entry))
    end = log.head.at
    expected = {
        (id, kind): symbol
        for (id, kind), symbol in reference.trained(end).items()
        if (id, kind) in decided or reference.fate(id, kind, end)[0] == "trained"
    }
    at = {entry.seq: entry.id for entry in entries}
    lessons = [lesson for part, _ in read_lessons(log, horizons) for lesson in part]
    learnt = [
        ((at[each.seq], NAMES[each.kind]), each.z if each.kind == EntryKind.PROXY else each.y) for each in lessons
    ]
    if len(dict(learnt)) != len(learnt):
        yield "something is trained twice"
    if dict(learnt) != expected:
        yield f"trained otherwise: {sorted(set(learnt) ^ set(expected.items()))[:3]}"


def _says(entry: Entry) -> object:
    if entry.kind == EntryKind.PREDICTED:
        return int.from_bytes(predicted_in(entry).symbols, "little")
    return feedback_in(entry).symbol


def _says_event(event: LogEvent) -> object:
    return _says(entry_with(1, (0, 0), event.kind, event.id, event.body))


def _body(entry: Entry) -> bytes:
    """The body of an entry as its client wrote it down."""
    return encode(predicted_in(entry) if entry.kind == EntryKind.PREDICTED else feedback_in(entry))
