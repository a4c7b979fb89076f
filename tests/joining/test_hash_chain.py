"""The chain of format 2: a body may be erased and the chain still holds; its page says what is on disk."""

import re
from pathlib import Path

from presage.joining.entries import (
    FORMAT,
    VERSIONS,
    Entry,
    EntryKind,
    FeedbackBody,
    Predicted,
    entry_with,
    predicted_in,
)
from presage.joining.hash_chain import CHAIN, SEED, body_digest, chain_start, commit_hash, salts_of, seal
from presage.joining.join import Bin

PAGE = Path("docs/log-format.md").read_text()
BODY = Predicted(b'{"title": 7}', b"\7\0\0\0", b"", 4, b"\0\0\0\0", b"memo")


def commit() -> list[Entry]:
    return [
        entry_with(2, (9, 100), EntryKind.PREDICTED, "a person", BODY),
        entry_with(2, (10, 100), EntryKind.PROXY, "a person", FeedbackBody(1)),
        entry_with(2, (11, 103), EntryKind.OUTCOME, "another", FeedbackBody(0)),
    ]


def test_an_erased_body_leaves_the_chain_whole() -> None:
    """What an erasure keeps of an entry is its envelope and a digest that the value cannot be guessed from."""
    before, seed = chain_start(b"books", 2), bytes(range(SEED))
    entries = commit()
    kept = seal(2, before, entries, seed)
    assert (len(kept), kept[CHAIN:]) == (CHAIN + SEED, seed)
    salts = salts_of(seed, len(entries))
    digests = list(map(body_digest, entries, salts))
    erased = [entry._replace(id="erased", body=b"") for entry in entries[:2]]
    left = [*erased, entries[2]]
    assert commit_hash(before, left, [*digests[:2], body_digest(entries[2], salts[2])]) == kept[:CHAIN]
    assert all(b"person" not in part and BODY.features not in part for part in (*digests, kept))
    guesses = [
        entries[1]._replace(body=entry_with(2, (10, 100), EntryKind.PROXY, "", FeedbackBody(symbol)).body)
        for symbol in range(4)
    ]
    assert digests[1] not in [body_digest(guess, b"") for guess in guesses], "without the salt no guess is confirmed"
    assert len(set(salts)) == len(salts)


def test_an_envelope_holds_nothing_that_an_erasure_must_remove() -> None:
    for entry in commit():
        assert BODY.features not in entry.envelope
        assert entry.kind == EntryKind.PREDICTED or not entry.envelope
    assert predicted_in(commit()[0]) == BODY


def test_the_page_has_every_kind_version_and_bin_and_reserves_no_number_twice() -> None:
    written, reserved = PAGE.split("### Room for what comes")
    rows = re.findall(r"^\| (\d+) \| ([A-Z_]+): .*? \| (\d+) \|", written, re.M)
    assert [(int(number), name, int(version)) for number, name, version in rows] == [
        (kind.value, kind.name, VERSIONS[kind]) for kind in EntryKind
    ]
    known = {(kind.value, version) for kind in EntryKind for version in range(1, VERSIONS[kind] + 1)}
    taken = [
        (int(number), int(version))
        for numbers, version in re.findall(r"^\| ([\d, ]+) \| (\d+) \| ", reserved.split("## Bins")[0], re.M)
        for number in numbers.split(", ")
    ]
    assert not known & set(taken)
    assert len(taken) == len(set(taken)) >= 8
    bins = re.findall(r"^\| (\d+) \| ([a-z]+) \|", reserved.split("## Bins")[1], re.M)
    assert [(int(number), name.upper()) for number, name in bins] == [(bin.value, bin.name) for bin in Bin]
    assert FORMAT == 2
