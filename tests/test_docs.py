"""The documentation names what is there, and its examples run."""

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import click
import pytest

import presage
from benchmarks.structure import read_modules, repeated_basenames, repeated_classes
from presage.cli.entry import cli
from tests.api_page import api_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
READ = [ROOT / "README.md", *PAGES]
PUBLIC = ("presage", "presage.rivals", "presage.metrics", "presage.worlds", "presage.extend")
MAP = DOCS / "paper-to-code.md"

REFERENCE = re.compile(r"`((?:src|tests|docs|benchmarks)/[\w./-]+)(?:::(\w+))?`")
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n.*?^```", re.MULTILINE | re.DOTALL)
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
    """The pages in the nav of a mkdocs.yml, which lists one per line."""
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


@pytest.mark.parametrize("page", READ, ids=lambda page: page.name)
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    assert run_examples(text, page.name) == text.count("```python")


def private_imports(text: str) -> list[str]:
    """What the Python examples of a page import from inside Presage."""
    found = []
    for example in EXAMPLE.finditer(text):
        for node in ast.walk(ast.parse(example[1])):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "presage":
                public = importlib.import_module(node.module or "").__all__ if node.module in PUBLIC else []
                found += [f"{node.module}.{name.name}" for name in node.names if name.name not in public]
            elif isinstance(node, ast.Import):
                modules = [name.name for name in node.names]
                found += [name for name in modules if name.split(".")[0] == "presage" and name not in PUBLIC]
    return found


@pytest.mark.parametrize("page", READ, ids=lambda page: page.name)
def test_examples_import_public_names_only(page: Path) -> None:
    assert private_imports(page.read_text()) == []


def test_an_import_from_inside_is_noticed() -> None:
    inside = "import presage.cli\nfrom presage.metrics import regret, numbered\nfrom presage.errors import DataError\n"
    expected = ["presage.cli", "presage.metrics.numbered", "presage.errors.DataError"]
    assert private_imports(f"```python\n{inside}```\n") == expected


def test_an_example_that_fails_is_noticed() -> None:
    with pytest.raises(ZeroDivisionError):
        run_examples("# Page\n\n```python\nx = 1\n```\n\n```python\nx / 0\n```\n", "page")


def test_the_nav_lists_every_page_once() -> None:
    listed = nav_pages((ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == [page.name for page in PAGES]


def test_the_nav_has_five_groups() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    groups = re.findall(r"^  - (.+):$", nav, re.MULTILINE)
    assert groups == ["Start", "Guides", "Serving", "Reference", "The paper"]


def test_the_readme_has_at_most_900_words() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 900


def test_every_page_the_readme_links_to_is_there() -> None:
    links = [link for link in LINK.findall((ROOT / "README.md").read_text()) if not link.startswith("http")]
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert len(links) > 10


def test_the_page_of_commands_has_every_command() -> None:
    page = (DOCS / "commands.md").read_text()
    names = cli.list_commands(click.Context(cli))
    assert len(names) > 5
    assert [name for name in names if f"\npresage {name} " not in page] == []


def test_the_page_of_the_python_api_is_that_of_the_docstrings() -> None:
    assert (DOCS / "api.md").read_text() == api_page(), "run python -m tests.api_page"


def test_every_public_name_is_on_the_page_of_the_python_api() -> None:
    page = (DOCS / "api.md").read_text()
    assert [name for name in presage.__all__ if f"### `{name}" not in page] == []


def test_the_glossary_explains_every_name_that_occurs_twice() -> None:
    table = (DOCS / "glossary.md").read_text().partition("## Names that occur twice\n")[2]
    explained = re.findall(r"^\| `(\w+)` \| .+ \|$", table, re.MULTILINE)
    modules = read_modules(ROOT)
    assert sorted(explained) == sorted([*repeated_basenames(modules), *repeated_classes(modules)])


STAY_OUT = (
    "a night of outcomes",
    "a row for each",
    "a thread of its own",
    "after its own",
    "anew",
    "anybody",
    "are in hindsight",
    "are no text",
    "at their word",
    "built alike",
    "came too late into the log",
    "commits an hour",
    "count in an hour",
    "edges that the log told",
    "enough further",
    "equal bits",
    "events a second",
    "events in a second",
    "everything made",
    "family of processors",
    "fastest road",
    "for ever",
    "forbids itself",
    "from elsewhere",
    "goes into quarantine",
    "goes on learning that",
    "hash for hash",
    "hold these verdicts against",
    "holder of the token",
    "holds 0",
    "however busily",
    "in 4 to 12 times",
    "in bulks",
    "in no probability",
    "is called like",
    "is given x",
    "is kept: a",
    "is named by the proxy",
    "is no gain",
    "is no number",
    "is no time",
    "is told an equal share",
    "it is told",
    "it loses",
    "kept in a second",
    "kept so",
    "knows none of these",
    "least to most",
    "lived through",
    "lives through",
    "loses less",
    "make 70",
    "nats a prediction",
    "nats a purchase",
    "nats an event",
    "no legal opinion",
    "nobody",
    "of one instant",
    "of the same names do",
    "of the way back are made",
    "of the way is made",
    "one of your own",
    "or it looked ahead",
    "page to look at",
    "passes for",
    "people pick",
    "pools alike",
    "proxy told with",
    "rather than infinitely",
    "regret is to",
    "roads to",
    "says the running marginal",
    "score moves",
    "somebody",
    "something else of the same log",
    "stands in the same",
    "stays over the proxy",
    "stays your question",
    "still miss",
    "survival of the loss",
    "take this road",
    "taken over",
    "takes this road",
    "tells much",
    "tells nearly everything",
    "the default so has",
    "the least weight",
    "the loopback",
    "the oldest go",
    "the very",
    "there twice",
    "they had then",
    "to another state",
    "told otherwise",
    "two trainings",
    "water the gain down",
    "weigh the same",
    "what holds for all",
    "what it is made of",
    "what was learned from where",
    "whatever is malformed",
    "who is asked about",
    "who trusts",
    "who wins",
    "whoever",
    "whom the",
    "windows a repository",
    "with a word on top",
    "with the sign turned",
    "without a word",
    "wrote none",
)
"""Phrases that made a first reader stop. None of them comes back into the documentation."""


NOT_YET_READ = ("api.md",)
"""Pages that still hold such phrases: this one is made from docstrings."""

STAY_OUT_OF_SOURCE = (
    "a list of texts",
    "a page to look at",
    "a thread of its own",
    "an unfinished request",
    "at their word",
    "beyond the best possible",
    "commits an hour",
    "concerns one experiment",
    "does not hold a token",
    "enough further",
    "events a second",
    "exclude each other",
    "fastest road",
    "for nobody",
    "forbids itself",
    "goes into quarantine",
    "if proxies tell all",
    "in bulks",
    "is called like",
    "is no count",
    "is no gain",
    "it is called by",
    "it is told",
    "its name and rights",
    "keep the page",
    "kept so",
    "known already",
    "learn anew",
    "lived through",
    "lives through",
    "look after the disk",
    "look at it",
    "look for free memory",
    "loses less",
    "made if there is none",
    "make room or choose",
    "nats a purchase",
    "nats an event",
    "not what the log says",
    "nothing can be written there",
    "older frequencies",
    "one entry a round",
    "one group a row",
    "one number a trial",
    "one proxy a round",
    "other outcomes follow",
    "out of your own data",
    "passes for",
    "play on for longer",
    "roads to",
    "stands in the same",
    "take this road",
    "takes this road",
    "tell of outcomes",
    "the lower the better",
    "to know its names",
    "told otherwise",
    "two trainings",
    "way back is made",
    "what it is made of",
    "who is asked about",
    "who trusts",
    "who wins",
    "with what became of them",
    "without a word",
)
"""The same for the docstrings, messages and help texts of the source, where fewer are gone."""


def stale(text: str, phrases: tuple[str, ...]) -> list[str]:
    """Which of the phrases occur in a text, however its lines are broken; output of commands does not count."""
    words = " ".join(CONSOLE.sub("", text).lower().split())
    return [phrase for phrase in phrases if re.search(rf"\b{re.escape(phrase)}\b", words)]


@pytest.mark.parametrize(
    "page",
    [page for page in (*READ, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md") if page.name not in NOT_YET_READ],
    ids=lambda page: page.name,
)
def test_phrases_that_make_a_reader_stop_stay_out(page: Path) -> None:
    assert stale(page.read_text(), STAY_OUT) == []


def test_phrases_that_are_gone_from_the_source_stay_out() -> None:
    sources = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".py", ".js", ".html")]
    found = {path.name: stale(path.read_text(), STAY_OUT_OF_SOURCE) for path in sources}
    assert {path.suffix for path in sources} == {".py", ".js", ".html"}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


def test_a_phrase_that_came_back_is_noticed() -> None:
    assert stale("The charts are drawn\nanew.", STAY_OUT) == ["anew"]
    assert stale("renewed", STAY_OUT) == []


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
