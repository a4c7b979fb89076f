"""The residual network in eager PyTorch on one thread, trained for one trial after another.

Reads a number of trials from a line of stdin, plays them, answers with a line; and so on until stdin closes.
"""

import sys
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, one_hot

FEATURES, PROXIES, OUTCOMES = 51, 3, 2
WINDOW, BATCH, EVERY = 1000, 128, 4
RATE, PROXY_RATE, L2, CLIP, FLOOR = 0.1, 1.0, 0.01, 10.0, 1e-4


class Rows(NamedTuple):
    """A window of feedback."""

    x: Tensor
    z: Tensor
    y: Tensor


class Network(NamedTuple):
    """The parameters of one trial."""

    proxies: nn.Sequential  # h(z|x)
    outcomes: Tensor  # [Z, Y]: the logits of g(y|z)
    residual: nn.Sequential


def tower(inputs: int, outputs: int) -> nn.Sequential:
    """A tower of two hidden layers."""
    layers = (nn.Linear(inputs, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU(), nn.Linear(20, outputs))
    return nn.Sequential(*layers)


def new_network() -> Network:
    """Starting parameters; the residual starts by answering zeros."""
    residual = tower(FEATURES + PROXIES + OUTCOMES, OUTCOMES)
    for part in residual[-1].parameters():
        nn.init.zeros_(part)
    outcomes = torch.randn(PROXIES, OUTCOMES).requires_grad_()
    return Network(tower(FEATURES, PROXIES), outcomes, residual)


def optimizer_of(network: Network) -> torch.optim.SGD:
    """SGD with L2 on weights, not on biases, and a rate of its own for g."""
    parts = [*network.proxies.parameters(), *network.residual.parameters()]
    weights, biases = ([part for part in parts if part.ndim == ndim] for ndim in (2, 1))
    groups: list[dict[str, Any]] = [
        {"params": weights, "weight_decay": L2},
        {"params": biases},
        {"params": [network.outcomes], "lr": PROXY_RATE},
    ]
    return torch.optim.SGD(groups, lr=RATE)


def step(network: Network, optimizer: torch.optim.SGD, rows: Rows) -> None:
    """One training step on a batch of proxies and another of outcomes."""
    first, second = torch.randint(WINDOW, (BATCH,)), torch.randint(WINDOW, (BATCH,))
    z, y = rows.z[second], rows.y[second]
    logits = network.outcomes[z]
    fixed = logits.detach()
    delta = network.residual(torch.cat([rows.x[second], one_hot(z, PROXIES).float(), fixed], dim=1))
    loss = (
        cross_entropy(network.proxies(rows.x[first]), rows.z[first])
        + cross_entropy(logits, y)
        + cross_entropy(fixed + delta.clamp(-CLIP, CLIP), y)
    )
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()


def predict(network: Network, x: Tensor, every_proxy: Tensor) -> Tensor:
    """The log-probabilities of the outcomes of one instance."""
    table = network.outcomes
    proxies = log_softmax(network.proxies(x), dim=-1)
    delta = network.residual(torch.cat([x.expand(PROXIES, -1), every_proxy, table], dim=1))
    outcomes = log_softmax(table + delta.clamp(-CLIP, CLIP), dim=-1)
    mixed = torch.logsumexp(proxies[:, None] + outcomes, dim=0)
    return torch.log((1 - FLOOR) * mixed.exp() + FLOOR / OUTCOMES)


def play_trial(rows: Rows, steps: int) -> None:
    """One trial: four predictions, a step, and so on."""
    network = new_network()
    optimizer = optimizer_of(network)
    every_proxy = torch.eye(PROXIES)
    for number in range(steps):
        with torch.inference_mode():
            for at in range(EVERY):
                predict(network, rows.x[(EVERY * number + at) % WINDOW], every_proxy)
        step(network, optimizer, rows)


def main() -> None:
    """Answer each line of stdin."""
    seed, steps = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    x = torch.randint(2, (WINDOW, FEATURES)).float()
    rows = Rows(x, torch.randint(PROXIES, (WINDOW,)), torch.randint(OUTCOMES, (WINDOW,)))
    for line in sys.stdin:
        for _ in range(int(line)):
            play_trial(rows, steps)
        print("done", flush=True)


if __name__ == "__main__":
    main()
