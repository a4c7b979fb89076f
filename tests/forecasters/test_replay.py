"""Windows, cadence and keys."""

from typing import Any

import jax
import numpy as np
import pytest

from presage import Replay, Spaces
from presage.errors import SettingError
from presage.forecasters.random_keys import Purpose, key_for, root_key
from presage.forecasters.replay import Window, draw_positions


def test_positions_are_spread_evenly_over_the_last_rows() -> None:
    positions = np.asarray(draw_positions(jax.random.key(0), 1500, 1000, 200_000))
    assert (positions.min(), positions.max()) == (500, 1499)
    counts = np.bincount(positions - 500, minlength=1000)
    assert abs(counts - 200).max() < 6 * np.sqrt(200)


def test_positions_stay_inside_even_where_nothing_or_little_is_known() -> None:
    for known in (0, 1, 3):
        positions = np.asarray(draw_positions(jax.random.key(1), known, 1000, 500))
        assert positions.min() == 0
        assert positions.max() == max(known - 1, 0)


def test_steps_count_on_over_a_lifetime() -> None:
    replay = Replay(every=4, steps=3)
    due = [t for t in range(14) if replay.due(t)]
    assert due == [4, 8, 12]
    assert [replay.first_step(t) for t in due] == [0, 3, 6]


def test_keys_differ_by_purpose_and_counter_and_repeat_otherwise() -> None:
    root = root_key(7)
    keys = [key_for(root, purpose, counter) for purpose in Purpose for counter in range(3)]
    words = {tuple(jax.random.key_data(key).tolist()) for key in keys}
    assert len(words) == len(keys)
    assert (jax.random.key_data(key_for(root_key(7), max(Purpose), 2)) == jax.random.key_data(keys[-1])).all()
    assert root_key(root) is root


@pytest.mark.parametrize("seed", [-1, 1.5, "a", True, None])
def test_a_seed_must_be_a_whole_number(seed: Any) -> None:
    with pytest.raises(SettingError, match="seed"):
        root_key(seed)


@pytest.mark.parametrize("name", ["proxy_window", "outcome_window", "start", "every", "steps", "batch"])
def test_settings_below_one_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match=name):
        Replay(**{name: 0})


def test_a_window_keeps_the_last_rows_and_completes_late_proxies() -> None:
    spaces = Spaces(9, 3, 2)
    window = Window(3, spaces)
    for item in range(5):
        assert window.append(spaces.encode(item), -1, 1) == item
    window.complete(1, 2)  # left the window already
    window.complete(3, 2)
    x, z, y = window.rows(np.array([2, 3, 4]))
    assert x.symbols[:, 0].tolist() == [2, 3, 4]
    assert (z.tolist(), y.tolist()) == ([-1, 2, -1], [1, 1, 1])
