"""The page about HTTP: its limits are those of the code, and its examples are answered as it says."""

import asyncio
import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from presage.service.http.app import create_app
from presage.service.http.openapi import openapi
from presage.service.http.problems import KINDS
from presage.service.limits import Limits, limits
from presage.service.opening import open_service
from presage.task.task import load_task
from tests.service.fake import books

PAGE = Path(__file__).parent.parent.parent / "docs" / "http.md"
CHANGING = ("predicted_at", "seq", "chain", "position", "model", "nowcast", "weights")
"""What depends on the time, or on how far the learner has come."""


class Example(NamedTuple):
    """A request on the page, and the answer below it."""

    path: str
    headers: dict[str, str]
    body: bytes | None
    answer: str


def examples(text: str) -> list[Example]:
    found = []
    for command, answer in re.findall(r"^```sh\n(curl .*?)^```\n\n```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        words = shlex.split(command.replace("\\\n", ""))
        options = dict(zip(words[2::2], words[3::2], strict=True))
        headers = dict([options["-H"].split(": ")]) if "-H" in options else {}
        body = options.get("-d", options.get("--data-binary"))
        found.append(Example(words[1].removeprefix("localhost:8000"), headers, body.encode() if body else None, answer))
    return found


def table() -> str:
    rows = (f"| `{limit.name}` | {limit.default:,} | {limit.about} |" if limit.kind is int else
            f"| `{limit.name}` | {limit.default} | {limit.about} |" for limit in limits())  # fmt: skip
    return "| limit | default | bounds |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def steady(value: Any) -> Any:
    """An answer without what changes."""
    if isinstance(value, dict):
        return {name: None if name in CHANGING else steady(part) for name, part in value.items()}
    return [steady(part) for part in value] if isinstance(value, list) else value


def answered(text: str, folder: Path) -> list[str]:
    """What a new service answers to the examples, one after the other."""
    task = re.search(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert task
    (folder / "books.toml").write_text(task[1])
    service = open_service(folder / "books.toml", folder / "data", Limits(), lambda: 1_790_000_000_000_000)
    app = create_app(service, load_task(folder / "books.toml"))

    async def ask() -> list[str]:
        found = []
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost:8000") as client:
            for each in examples(text):
                method = "POST" if each.body else "GET"
                found.append((await client.request(method, each.path, content=each.body, headers=each.headers)).text)
        return found

    try:
        return asyncio.run(ask())
    finally:
        service.close()


@pytest.mark.long
def test_every_example_is_answered_as_the_page_says(tmp_path: Path) -> None:
    text = PAGE.read_text()
    told = [each.answer for each in examples(text)]
    assert len(told) == text.count("```sh") == text.count("```json") > 8
    found = answered(text, tmp_path)
    assert [steady(json.loads(answer)) for answer in found] == [steady(json.loads(answer)) for answer in told]


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    assert table() in PAGE.read_text()


def test_every_kind_of_problem_is_on_the_page() -> None:
    text = PAGE.read_text()
    assert [kind.name for kind in KINDS if f"| {kind.status} | `urn:presage:{kind.name}` |" not in text] == []


def test_every_address_of_the_service_is_on_the_page() -> None:
    text = PAGE.read_text()
    assert [path for path in openapi(books(), Limits())["paths"] if path.replace("{id}", "visit-1") not in text] == []
