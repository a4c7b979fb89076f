"""Worlds whose p(x), h(z|x) and p(y|x,z) are known: many instances, most of them rare."""

from typing import NamedTuple

import numpy as np

from presage.spaces import Array


class Known(NamedTuple):
    """A world with all its truths."""

    px: Array  # [X]
    h: Array  # [X, Z]
    gx: Array  # [X, Z, Y]: p(y|x,z)

    @property
    def joint(self) -> Array:  # [X, Z, Y]
        return (self.px[:, None] * self.h)[..., None] * self.gx

    @property
    def information(self) -> float:
        """I(Y;Z)."""
        return mutual(self.joint.sum(axis=0))

    @property
    def total(self) -> float:
        """I(X;Y)."""
        return mutual(self.joint.sum(axis=1))

    @property
    def gap(self) -> float:
        """I(X;Y|Z) = I(Y;X,Z) - I(Y;Z)."""
        return mutual(self.joint.reshape(-1, self.gx.shape[-1])) - self.information

    @property
    def share(self) -> float:
        """1 - E KL(p(y|x) || sum_z g(y|z) h(z|x)) / I(X;Y)."""
        of_zy = self.joint.sum(axis=0)
        g = of_zy / of_zy.sum(axis=1, keepdims=True)
        p = (self.h[..., None] * self.gx).sum(axis=1)
        return float(1 - (self.px[:, None] * p * np.log(p / (self.h @ g))).sum() / self.total)

    def draw(self, rows: int, seed: int) -> tuple[Array, Array, Array]:
        """So many rows of x, z, y."""
        draw = np.random.default_rng([seed, 1])
        x = draw.choice(len(self.px), rows, p=self.px)
        z = (self.h[x].cumsum(axis=1) > draw.random((rows, 1))).argmax(axis=1)
        return x, z, (self.gx[x, z].cumsum(axis=1) > draw.random((rows, 1))).argmax(axis=1)


def mutual(joint: Array) -> float:
    """The mutual information of a joint distribution [A, B]."""
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / product[there])).sum())


def zipf(seed: int, *, instances: int = 1500, tilt: float = 0.5, proxies: int = 4, outcomes: int = 3) -> Known:
    """Instances as frequent as words; `tilt` is how far they differ in p(y|x,z), as normal logits."""
    draw = np.random.default_rng(seed)
    px = 1 / np.arange(1, instances + 1)
    h = softmax(draw.normal(0, 0.7, (instances, proxies)))
    shared = draw.normal(0, 1.2, (proxies, outcomes))
    return Known(px / px.sum(), h, softmax(shared + draw.normal(0, tilt, (instances, 1, outcomes))))


def softmax(logits: Array) -> Array:
    """Probabilities along the last axis."""
    odds = np.exp(logits)
    return odds / odds.sum(axis=-1, keepdims=True)
