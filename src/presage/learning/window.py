"""A replay window kept row by row: the last rows that arrived, each under its position over arrival order."""

import numpy as np

from presage.settings import whole
from presage.spaces import Array, Instance, Spaces


class Window:
    """The last `size` rows that arrived; positions count every row that ever did.

    >>> window = Window(2, Spaces(instances=9, proxies=2, outcomes=2))
    >>> for item in (4, 5, 6):
    ...     position = window.append(window.spaces.encode(item), z=1, y=0)
    >>> window.known, window.rows(np.array([1, 2]))[0].symbols[:, 0].tolist()
    (3, [5, 6])
    """

    def __init__(self, size: int, spaces: Spaces) -> None:
        self.spaces = spaces
        self.size = whole("size", size)
        self.known = 0
        features = spaces.features
        self._x = Instance(np.zeros((size, features.slots), np.int32), np.zeros((size, features.dense), np.float32))
        self._z = np.zeros(size, np.int32)
        self._y = np.zeros(size, np.int32)

    def append(self, x: Instance, z: int, y: int) -> int:
        """The position of a row that arrives now."""
        position = self.known
        place = position % self.size
        self._x.symbols[place], self._x.dense[place] = x.symbols, x.dense
        self._z[place], self._y[place] = z, y
        self.known += 1
        return position

    def complete(self, position: int, z: int) -> None:
        """Fill in a proxy that came after the outcome, if the row is still in the window."""
        if position >= self.known - self.size:
            self._z[position % self.size] = z

    def rows(self, positions: Array) -> tuple[Instance, Array, Array]:
        """x, z and y of the rows at `positions`."""
        places = positions % self.size
        return Instance(self._x.symbols[places], self._x.dense[places]), self._z[places], self._y[places]

    def arrays(self) -> dict[str, Array]:
        """All that the window holds, by name."""
        known = np.array(self.known, np.int64)
        return {"symbols": self._x.symbols, "dense": self._x.dense, "z": self._z, "y": self._y, "known": known}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Hold what another window of the same size held."""
        self._x = Instance(arrays["symbols"].copy(), arrays["dense"].copy())
        self._z, self._y, self.known = arrays["z"].copy(), arrays["y"].copy(), int(arrays["known"])
