"""The page on delayed labels shows what its examples print, and each of them the wrong number beside the honest one."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "pitfalls.md"
BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def printed(text: str) -> list[tuple[str, str]]:
    """What each example that is followed by an output shows there, and what it prints."""
    namespace: dict[str, Any] = {"__name__": "example"}
    found = []
    for code, shown in BLOCKS.findall(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, PAGE.name, "exec"), namespace)
        if out.getvalue():
            found.append((shown, out.getvalue()))
    return found


@pytest.mark.long
def test_every_output_on_the_page_is_what_its_code_prints() -> None:
    found = printed(PAGE.read_text())
    assert len(found) == 11
    for shown, said in found:
        assert shown == said


def test_every_example_sets_an_honest_number_against_a_wrong_one() -> None:
    sections = PAGE.read_text().split("\n## ")[1:]
    assert len(sections) == 10
    for section in sections:
        outputs = "".join(re.findall(r"^```text\n(.*?)^```", section, re.MULTILINE | re.DOTALL))
        assert "wrong: " in outputs, section[:40]
        assert "honest: " in outputs, section[:40]
        assert "**Instead**" in section
