"""Commands typed in this process: starting a new one for each test takes seconds."""

from typing import NamedTuple

import pytest

from presage.cli.entry import main


class Done(NamedTuple):
    """How a command ended."""

    code: int | str | None
    out: str
    err: str


class Presage:
    """`presage` followed by some words."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> None:
        self.monkeypatch, self.capsys, self.words = monkeypatch, capsys, words

    def __call__(self, *arguments: object) -> Done:
        """Type it with these arguments."""
        self.monkeypatch.setattr("sys.argv", ["presage", *map(str, (*self.words, *arguments))])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = self.capsys.readouterr()
        return Done(left.value.code, out, err)
