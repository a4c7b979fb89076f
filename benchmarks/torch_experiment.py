"""The three networks of an experiment in eager PyTorch on one thread, for one trial after another.

The work of a trial is that of the driver: in each block of rounds the networks train if their feedback has come, then
predict the rounds of the block; the mixture's judge now-casts what arrives, and the experts predict it again. Rows of a
block are predicted at once, as the driver does, and networks without feedback are not trained, which the driver cannot
leave out. Reads a number of trials from a line of stdin, plays them, answers with a line, until stdin closes.
"""

import json
import sys
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, one_hot

from benchmarks.torch_worker import BATCH, CLIP, L2, Rows


class Shape(NamedTuple):
    """The sizes of an experiment."""

    inputs: int  # features, or items as one-hot codes
    proxies: int
    outcomes: int
    hidden: list[int]
    window: int
    every: int  # rounds of a block
    steps: int  # before each block
    blocks: int
    proxies_from: int  # the first block with feedback
    outcomes_from: int
    rate: float
    proxy_rate: float


class Networks(NamedTuple):
    """The three networks of a trial."""

    direct: nn.Sequential
    proxies: nn.Sequential  # h(z|x) of the factored one
    outcomes: Tensor
    residual_proxies: nn.Sequential  # h(z|x) of the residual one
    residual_outcomes: Tensor
    residual: nn.Sequential


def tower(shape: Shape, inputs: int, outputs: int) -> nn.Sequential:
    """A tower of hidden layers."""
    layers: list[nn.Module] = []
    for above, below in pairwise((inputs, *shape.hidden, outputs)):
        layers += [nn.Linear(above, below), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def new_networks(shape: Shape) -> Networks:
    """Starting parameters."""
    tables = [torch.zeros(shape.proxies, shape.outcomes).requires_grad_() for _ in range(2)]
    towers = [tower(shape, shape.inputs, shape.proxies) for _ in range(2)]
    residual = tower(shape, shape.inputs + shape.proxies + shape.outcomes, shape.outcomes)
    return Networks(tower(shape, shape.inputs, shape.outcomes), towers[0], tables[0], towers[1], tables[1], residual)


def optimizer_of(shape: Shape, towers: list[nn.Sequential], tables: list[Tensor]) -> torch.optim.SGD:
    """SGD with L2 on weights, not on biases, and a rate of its own for g."""
    parts = [part for one in towers for part in one.parameters()]
    weights, biases = ([part for part in parts if part.ndim == ndim] for ndim in (2, 1))
    groups: list[dict[str, Any]] = [{"params": weights, "weight_decay": L2}, {"params": biases}]
    if tables:
        groups.append({"params": tables, "lr": shape.proxy_rate})
    return torch.optim.SGD(groups, lr=shape.rate)


def corrected(networks: Networks, x: Tensor, z: Tensor) -> Tensor:
    """The log-odds of outcomes for rows whose proxy is known."""
    logits = networks.residual_outcomes.detach()[z]
    coded = one_hot(z, len(networks.outcomes)).float()
    delta = networks.residual(torch.cat([x, coded, logits], dim=-1))
    bent: Tensor = logits + delta.clamp(-CLIP, CLIP)
    return bent


def train(networks: Networks, optimizers: list[torch.optim.SGD], rows: Rows) -> None:
    """One step of the networks whose feedback has come: those of h, and with a second optimiser the others."""
    first, second = torch.randint(len(rows.z), (BATCH,)), torch.randint(len(rows.z), (BATCH,))
    x, z = rows.x[first], rows.z[first]
    loss = cross_entropy(networks.proxies(x), z) + cross_entropy(networks.residual_proxies(x), z)
    if len(optimizers) > 1:
        x, z, y = rows.x[second], rows.z[second], rows.y[second]
        loss = loss + cross_entropy(networks.direct(x), y) + cross_entropy(networks.outcomes[z], y)
        loss = loss + cross_entropy(networks.residual_outcomes[z], y) + cross_entropy(corrected(networks, x, z), y)
    for one in optimizers:
        one.zero_grad()
    torch.autograd.backward(loss)
    for one in optimizers:
        one.step()


def predict(networks: Networks, x: Tensor) -> list[Tensor]:
    """What each of the three says of some rows."""
    direct = log_softmax(networks.direct(x), dim=-1)
    given = log_softmax(networks.outcomes, dim=-1)  # [Z, Y]
    factored = torch.logsumexp(log_softmax(networks.proxies(x), dim=-1)[..., None] + given, dim=-2)
    symbols = len(networks.outcomes)
    every = torch.arange(symbols).expand(len(x), symbols)
    bent = log_softmax(corrected(networks, x[:, None].expand(-1, symbols, -1), every), dim=-1)  # [n, Z, Y]
    h = log_softmax(networks.residual_proxies(x), dim=-1)
    return [direct, factored, torch.logsumexp(h[..., None] + bent, dim=-2)]


def play_trial(shape: Shape, rows: Rows) -> None:
    """One trial."""
    networks = new_networks(shape)
    early = optimizer_of(shape, [networks.proxies, networks.residual_proxies], [])
    tables = [networks.outcomes, networks.residual_outcomes]
    late = optimizer_of(shape, [networks.direct, networks.residual], tables)
    for block in range(shape.blocks):
        if block >= shape.proxies_from:
            for _ in range(shape.steps):
                train(networks, [early, late] if block >= shape.outcomes_from else [early], rows)
        with torch.inference_mode():
            at = torch.arange(shape.every * block, shape.every * (block + 1)) % shape.window
            x, z = rows.x[at], rows.z[at]
            predict(networks, x)
            if block >= shape.proxies_from:
                likely = log_softmax(corrected(networks, x, z), dim=-1).exp()
                [-(likely * said).sum(-1) for said in predict(networks, x)]
            if block >= shape.outcomes_from:
                log_softmax(corrected(networks, x, z), dim=-1)


def main() -> None:
    """Answer each line of stdin."""
    seed, shape = int(sys.argv[1]), Shape(**json.loads(sys.argv[2]))
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    x = one_hot(torch.randint(shape.inputs, (shape.window,)), shape.inputs).float()
    y = torch.randint(shape.outcomes, (shape.window,))
    rows = Rows(x, torch.randint(shape.proxies, (shape.window,)), y)
    for line in sys.stdin:
        for _ in range(int(line)):
            play_trial(shape, rows)
        print("done", flush=True)


if __name__ == "__main__":
    main()
