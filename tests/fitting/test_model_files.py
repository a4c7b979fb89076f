"""Models on disk: whole or not there, refused when damaged, and read by later versions."""

import json
from pathlib import Path

import numpy as np
import pytest

import presage
from presage import saved_states
from presage.errors import OutputError, StateFileError
from tests.fitting.logs import TASK, deal, known_by, write

FIXTURE = Path(__file__).parent.parent / "fixtures" / "model-1"
"""What the first version with models wrote; `python -m tests.fitting.test_model_files` writes it again."""


def model_of(folder: Path, rows: int = 120) -> presage.Model:
    return presage.fit(write(folder / "log.csv", deal(rows)), TASK)


def test_a_model_of_format_1_is_read_and_goes_on(tmp_path: Path) -> None:
    said = json.loads((FIXTURE / "said.json").read_text())
    model = presage.load_model(FIXTURE / "model")
    asked = write(tmp_path / "asked.csv", deal(20))
    assert model.digest == said["digest"]
    assert np.abs(model.predict(asked)["returned"] - said["returned"]).max() < 1e-6
    model.update(write(tmp_path / "log.csv", deal(120)))
    assert np.abs(model.predict(asked)["returned"] - said["later"]).max() < 1e-6


def test_a_saved_model_is_the_same(tmp_path: Path) -> None:
    model = model_of(tmp_path)
    again = presage.load_model(model.save(tmp_path / "model"))
    assert again.digest == model.digest
    assert again.as_json() == model.as_json()
    scores = again.predict(tmp_path / "log.csv")
    assert np.array_equal(scores["kept"], model.predict(tmp_path / "log.csv")["kept"])
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {"", ".json", ".safetensors"}


@pytest.mark.parametrize("suffix", ["json", "safetensors"])
def test_every_damage_is_noticed(suffix: str, tmp_path: Path) -> None:
    folder = model_of(tmp_path, 30).save(tmp_path / "model")
    (path,) = folder.glob(f"*.{suffix}")
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 97)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(StateFileError):
            presage.load_model(folder)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StateFileError):
        presage.load_model(folder)
    path.unlink()
    with pytest.raises(StateFileError):
        presage.load_model(folder)


def test_a_model_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(tmp_path)
    folder, before = model.save(tmp_path / "model"), model.digest

    def fails(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saved_states, "write_file", fails)
    with pytest.raises(OutputError, match="No space left on device"):
        model_of(tmp_path, 60).save(folder)
    assert presage.load_model(folder).digest == before


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    model = model_of(tmp_path, 30)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="was not made by presage"):
        model.save(theirs)
    assert [path.name for path in theirs.iterdir()] == ["thesis.txt"]
    with pytest.raises(StateFileError, match="there is no saved state"):
        presage.load_model(theirs)


def test_a_state_and_another_format_are_no_model(tmp_path: Path) -> None:
    spaces = presage.Spaces(3, 2, 2)
    table = presage.direct_table(spaces)
    presage.save_state(tmp_path / "state", table, presage.Learner(table).state)
    with pytest.raises(StateFileError, match="holds no model"):
        presage.load_model(tmp_path / "state")
    manifest = model_of(tmp_path, 30).save(tmp_path / "model") / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 2}))
    with pytest.raises(StateFileError, match="another format: found 2"):
        presage.load_model(tmp_path / "model")


def test_words_of_any_kind_are_kept(tmp_path: Path) -> None:
    dealt = [dict(row) | {"order": f'ö,"{n}\n', "item": f"\u4e2d'{row['item']}"} for n, row in enumerate(deal(40))]
    model = presage.fit(write(tmp_path / "log.csv", dealt), TASK)
    again = presage.load_model(model.save(tmp_path / "model"))
    assert again.digest == model.digest
    assert again.predict(tmp_path / "log.csv").unseen == {}


if __name__ == "__main__":
    import shutil

    part = known_by(deal(120), deal(120)[70]["shown_at"])
    shutil.rmtree(FIXTURE, ignore_errors=True)
    FIXTURE.mkdir()
    model = presage.fit(write(FIXTURE / "log.csv", part), TASK)
    model.logs = ("log.csv",)
    model.save(FIXTURE / "model")
    said = {"digest": model.digest}
    asked = write(FIXTURE / "asked.csv", deal(20))
    said |= {"returned": model.predict(asked)["returned"].tolist()}
    model.update(write(FIXTURE / "log.csv", deal(120)))
    said |= {"later": model.predict(asked)["returned"].tolist()}
    (FIXTURE / "said.json").write_text(json.dumps(said) + "\n")
    for name in ("log.csv", "asked.csv"):
        (FIXTURE / name).unlink()
