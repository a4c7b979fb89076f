"""The documentation names what is there, and its examples run."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
MAP = DOCS / "paper-to-code.md"

REFERENCE = re.compile(r"`((?:src|tests|docs|benchmarks)/[\w./-]+)(?:::(\w+))?`")
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def missing(references: list[tuple[str, str]], root: Path) -> list[str]:
    """What is named as (path, test) but is not under `root`."""
    found = []
    for path, test in references:
        file = root / path
        if not file.is_file():
            found.append(path)
        elif test and not re.search(rf"^def {test}\(", file.read_text(), re.MULTILINE):
            found.append(f"{path}::{test}")
    return found


def nav_pages(configuration: str) -> list[str]:
    """The pages in the nav of a mkdocs.yml, which lists one a line."""
    nav = configuration.partition("\nnav:\n")[2]
    return re.findall(r"^ +- .*?([\w-]+\.md)$", nav, re.MULTILINE)


def run_examples(text: str, name: str) -> int:
    """How many examples of a page ran, one after the other in one namespace."""
    namespace: dict[str, Any] = {"__name__": "example"}
    examples = list(EXAMPLE.finditer(text))
    for example in examples:
        lines = "\n" * text[: example.start(1)].count("\n")  # so that an error points at the line of the page
        exec(compile(lines + example[1], name, "exec"), namespace)
    return len(examples)


def test_every_file_and_test_on_the_map_from_paper_to_code_exists() -> None:
    references = REFERENCE.findall(MAP.read_text())
    assert missing(references, ROOT) == []
    assert sum(bool(test) for _, test in references) > 30


def test_every_row_of_the_map_names_a_file_and_a_test_or_says_planned() -> None:
    rows = [line for line in MAP.read_text().splitlines() if line.startswith("|")]
    heads = [at for at, row in enumerate(rows) if row.endswith("| tested by |")]
    assert len(heads) == 5
    for head in heads:
        for row in rows[head + 2 :]:
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            if cells[-1] in ("tested by", "why"):
                break
            assert len(cells) == 3, row
            assert "planned" in cells[1] or REFERENCE.search(cells[1]), row
            assert cells[2] == "planned" or "::" in cells[2], row


@pytest.mark.parametrize("number", range(1, 8))
def test_every_figure_of_the_paper_is_on_the_map(number: int) -> None:
    assert f"| Figure {number}," in MAP.read_text()


def test_a_file_or_test_that_is_not_there_is_noticed() -> None:
    here = "tests/test_docs.py"
    assert missing([("src/nothing.py", ""), (here, "test_nothing"), (here, "test_a_file")], ROOT) == [
        "src/nothing.py",
        f"{here}::test_nothing",
        f"{here}::test_a_file",
    ]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_every_example_runs(page: Path) -> None:
    text = page.read_text()
    assert run_examples(text, page.name) == text.count("```python")


def test_an_example_that_fails_is_noticed() -> None:
    with pytest.raises(ZeroDivisionError):
        run_examples("# Page\n\n```python\nx = 1\n```\n\n```python\nx / 0\n```\n", "page")


def test_the_nav_lists_every_page_once() -> None:
    listed = nav_pages((ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_and_picture_a_page_links_to_is_there(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text()) if not (DOCS / link).is_file()] == []


@pytest.mark.parametrize("picture", sorted((DOCS / "pictures").glob("*.svg")), ids=lambda picture: picture.name)
def test_a_picture_is_small_with_text_as_text_on_white_and_shown(picture: Path) -> None:
    svg = picture.read_text()
    assert len(svg.encode()) < 220_000
    assert "<text" in svg
    assert re.search(r'<rect width="[\d.]+" height="[\d.]+" fill="(#ffffff|white)"\s*/?>', svg)
    assert picture.name in "".join(page.read_text() for page in PAGES)
