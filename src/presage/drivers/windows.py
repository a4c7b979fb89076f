"""The two replay windows that a forecaster rehearses from, kept row by row."""

from functools import partial

import jax
import numpy as np

from presage.forecasters.contract import Rows
from presage.forecasters.random_keys import Purpose, key_for
from presage.forecasters.replay import Replay, Window, draw_positions
from presage.spaces import EMPTY, Array, Instance, Spaces


class Windows:
    """The last rows whose proxy, and the last whose outcome, became known."""

    def __init__(self, replay: Replay, spaces: Spaces) -> None:
        self.replay = replay
        self.proxies = Window(replay.proxy_window, spaces)
        self.outcomes = Window(replay.outcome_window, spaces)

    def proxy(self, x: Instance, z: int, position: int) -> None:
        """A proxy arrives; `position` is that of its outcome, where that came first (otherwise EMPTY)."""
        self.proxies.append(x, z, EMPTY)
        if position != EMPTY:
            self.outcomes.complete(position, z)

    def outcome(self, x: Instance, z: int, y: int) -> int:
        """The position of an outcome that arrives; z is EMPTY if its proxy is still out."""
        return self.outcomes.append(x, z, y)

    def draw(self, root: Array, step: int) -> tuple[Rows, Rows]:
        """The batches of one step."""
        return (
            self._batch(self.proxies, root, Purpose.PROXY_BATCH, step),
            self._batch(self.outcomes, root, Purpose.OUTCOME_BATCH, step),
        )

    def _batch(self, window: Window, root: Array, purpose: Purpose, step: int) -> Rows:
        batch = self.replay.batch
        positions = np.asarray(_draw(root, purpose, step, window.known, window.size, batch))
        weight = np.full(batch, window.known >= self.replay.start, np.int32)
        return Rows(*window.rows(positions), (), weight)


@partial(jax.jit, static_argnums=(1, 4, 5))
def _draw(root: Array, purpose: Purpose, step: int, known: int, window: int, batch: int) -> Array:  # noqa: PLR0917
    return draw_positions(key_for(root, purpose, step), known, window, batch)
