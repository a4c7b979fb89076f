"""The page on the task file: its examples load, and every key has a row."""

import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

from presage.cli.data import simulate
from presage.task import columns
from presage.task import features as instance
from presage.task import signals as feedback
from presage.task import task as forecaster
from presage.task.features import PARTS
from presage.task.task import KINDS, read_task

PAGE = (Path(__file__).parents[2] / "docs" / "task.md").read_text()
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def keys(module: ModuleType) -> set[str]:
    """The keys that a module of the task file asks for."""
    source = inspect.getsource(module)
    asked = r"\.(?:has|text|text_or_none|texts|number|whole_or_none|edges|flag|span|table_of)\(\"(\w+)\""
    return set(re.findall(asked, source))


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_is_a_task(example: str) -> None:
    assert read_task(example).symbols


def test_there_is_an_example_of_each_shape() -> None:
    logs = {type(read_task(example).log).__name__ for example in EXAMPLES}
    sources = {type(signal.source).__name__ for example in EXAMPLES for signal in read_task(example).signals}
    assert logs == {"PredictionColumns", "EventColumns"}
    assert sources == {"Labelled", "HappenedAt", "CountedEvents", "First"}
    assert any(read_task(example).in_rows for example in EXAMPLES)


@pytest.mark.parametrize("module", [columns, feedback, forecaster, instance], ids=lambda module: module.__name__)
def test_every_key_is_on_the_page(module: ModuleType) -> None:
    found = keys(module)
    assert len(found) > 2
    assert [key for key in found if f"`{key}`" not in PAGE] == []


def test_every_kind_and_part_is_on_the_page() -> None:
    names = [*instance.KINDS, *PARTS, *(kind for kind in KINDS if not kind.endswith("-shrunk"))]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_every_option_of_simulate_is_on_the_page() -> None:
    options = [option for one in simulate.params for option in one.opts if option.startswith("--")]
    assert [option for option in options if option not in PAGE and option not in ("--json", "--seed")] == []
