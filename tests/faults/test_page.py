"""The page of promises names tests that are there, and as many planted bugs as there are."""

from tests.faults.planted import PATCHES
from tests.test_docs import DOCS, REFERENCE, ROOT, missing

PAGE = DOCS / "guarantees.md"
NUMBERS = {22: "Twenty-two"}


def test_every_test_that_the_promises_name_exists() -> None:
    references = REFERENCE.findall(PAGE.read_text())
    assert missing(references, ROOT) == []
    assert sum(bool(test) for _, test in references) > 20


def test_the_page_says_how_many_bugs_are_planted() -> None:
    assert f"{NUMBERS[len(PATCHES)]} bugs are planted" in PAGE.read_text()
