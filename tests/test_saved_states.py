"""Saved states: whole or not at all, and only for the forecaster they came from."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from presage import (
    Forecaster,
    Spaces,
    direct_table,
    factored_table,
    load_state,
    mixture,
    residual_network,
    save_state,
)
from presage.errors import StateFileError
from presage.forecasters.contract import State
from presage.forecasters.state_files import StateFiles, pack_state, unpack_state
from tests.problems import PLAIN

FORECASTER = residual_network(PLAIN)


@pytest.fixture
def state() -> State:
    return FORECASTER.init(jax.random.key(4))


def test_a_state_comes_back_from_disk_to_the_bit(tmp_path: Path, state: State) -> None:
    loaded = load_state(save_state(tmp_path / "a" / "b", FORECASTER, state), FORECASTER)
    assert str(jax.tree.structure(loaded)) == str(jax.tree.structure(state))
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(state), strict=True))


def test_saving_again_replaces_the_old_state(tmp_path: Path, state: State) -> None:
    other = FORECASTER.init(jax.random.key(5))
    for each in (state, other, other):
        save_state(tmp_path, FORECASTER, each)
    assert len(list(tmp_path.iterdir())) == 2
    assert np.array_equal(load_state(tmp_path, FORECASTER).factors.outcomes, other.factors.outcomes)


def test_a_save_cut_short_leaves_the_old_state(tmp_path: Path, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    save_state(tmp_path, FORECASTER, state)

    def full(self: Path, target: Path) -> None:
        if target.name == "manifest.json":
            raise OSError("no space left")
        original(self, target)

    original = Path.replace
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        save_state(tmp_path, FORECASTER, FORECASTER.init(jax.random.key(5)))
    assert np.array_equal(load_state(tmp_path, FORECASTER).factors.outcomes, state.factors.outcomes)


@pytest.mark.parametrize(
    "other",
    [direct_table(PLAIN), residual_network(Spaces(8, 3, 2)), residual_network(PLAIN, l2=0.5)],
    ids=["kind", "spaces", "settings"],
)
def test_a_state_of_another_forecaster_is_refused(tmp_path: Path, state: State, other: Forecaster) -> None:
    save_state(tmp_path, FORECASTER, state)
    with pytest.raises(StateFileError, match="another forecaster"):
        load_state(tmp_path, other)


def as_first_saved(snapshot: StateFiles, *settings: str) -> StateFiles:
    """A snapshot as version 0.1.0 wrote it: without revisions, and without settings that came later."""
    manifest = json.loads(snapshot.manifest)
    del manifest["forecaster"]["revisions"]
    kept = [pair for pair in manifest["forecaster"]["settings"] if pair[0] not in settings]
    manifest["forecaster"]["settings"] = kept
    return snapshot._replace(manifest=json.dumps(manifest).encode())


@pytest.mark.parametrize("make", [factored_table, mixture])
def test_a_state_without_revisions_counts_as_the_first(make: Callable[[Spaces], Forecaster]) -> None:
    forecaster = make(PLAIN)
    state = jax.tree.map(np.asarray, forecaster.init(jax.random.key(0)))
    found = unpack_state(forecaster, as_first_saved(pack_state(forecaster, state)))
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(state), strict=True))
    with pytest.raises(StateFileError, match=f"revisions.{forecaster.name} 1 where 2 is expected"):
        unpack_state(replace(forecaster, revision=2), pack_state(forecaster, state))


def test_a_network_of_the_first_revision_is_refused_in_few_words(state: State) -> None:
    old = as_first_saved(pack_state(FORECASTER, state), "output_start", "h", "correction")
    with pytest.raises(StateFileError) as refused:
        unpack_state(FORECASTER, old)
    assert str(refused.value) == (
        "the state was learned by another revision of the forecaster: found 'revisions.residual-network 1 where 2 is "
        "expected'; train it again, or load it with the version of presage that saved it"
    )


def test_every_flipped_byte_is_noticed(state: State) -> None:
    counts = factored_table(Spaces(2, 2, 2))
    whole = pack_state(counts, counts.init(jax.random.key(0)))
    for part in ("tensors", "manifest"):
        data = getattr(whole, part)
        for place in range(len(data)):
            flipped = data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]
            with pytest.raises(StateFileError):
                unpack_state(counts, whole._replace(**{part: flipped}))


def test_every_truncation_is_noticed(tmp_path: Path, state: State) -> None:
    whole = pack_state(FORECASTER, state)
    for cut in (0, 1, 8, len(whole.tensors) // 2, len(whole.tensors) - 1):
        with pytest.raises(StateFileError):
            unpack_state(FORECASTER, whole._replace(tensors=whole.tensors[:cut]))
    for cut in (0, 1, len(whole.manifest) - 2):
        with pytest.raises(StateFileError):
            unpack_state(FORECASTER, whole._replace(manifest=whole.manifest[:cut]))


def test_files_that_are_not_states_are_refused(tmp_path: Path, state: State) -> None:
    with pytest.raises(StateFileError, match="no saved state"):
        load_state(tmp_path, FORECASTER)
    save_state(tmp_path, FORECASTER, state)
    for path in tmp_path.glob("*.safetensors"):
        path.unlink()
    with pytest.raises(StateFileError, match="missing"):
        load_state(tmp_path, FORECASTER)
    for manifest in (b"[]", b'{"format": 99}', b'{"format": 1}', b"\xff"):
        with pytest.raises(StateFileError):
            unpack_state(FORECASTER, StateFiles(manifest, b""))


def test_tensors_of_another_shape_are_refused_even_with_a_good_hash(state: State) -> None:
    manifest, _ = pack_state(FORECASTER, state)
    small = state._replace(factors=state.factors._replace(outcomes=np.zeros((1, 1), np.float32)))
    lying_manifest, tensors = pack_state(FORECASTER, small)
    assert json.loads(manifest)["forecaster"] == json.loads(lying_manifest)["forecaster"]
    with pytest.raises(StateFileError, match="do not fit"):
        unpack_state(FORECASTER, StateFiles(lying_manifest, tensors))
