"""The GitHub experiment's three networks in eager PyTorch on one thread, for one trial after another.

The work of a trial is that of the driver: in each block of four rounds the networks train if their feedback has come,
then predict the four rounds; the mixture's judge now-casts what arrives, and the experts predict it again. Rows are
predicted four at a time, as the driver does, and networks without feedback are not trained, which the driver cannot
leave out. Reads a number of trials from a line of stdin, plays them, answers with a line, until stdin closes.
"""

import sys
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, one_hot

from benchmarks.torch_worker import BATCH, CLIP, EVERY, L2, OUTCOMES, PROXIES, PROXY_RATE, RATE, WINDOW, Rows, tower


class Networks(NamedTuple):
    """The three networks of a trial."""

    direct: nn.Sequential
    proxies: nn.Sequential  # h(z|x) of the factored one
    outcomes: Tensor
    residual_proxies: nn.Sequential  # h(z|x) of the residual one
    residual_outcomes: Tensor
    residual: nn.Sequential


def new_networks(features: int) -> Networks:
    """Starting parameters."""
    tables = [torch.zeros(PROXIES, OUTCOMES).requires_grad_() for _ in range(2)]
    towers = [tower(features, PROXIES) for _ in range(2)]
    residual = tower(features + PROXIES + OUTCOMES, OUTCOMES)
    return Networks(tower(features, OUTCOMES), towers[0], tables[0], towers[1], tables[1], residual)


def optimizer_of(towers: list[nn.Sequential], tables: list[Tensor]) -> torch.optim.SGD:
    """SGD with L2 on weights, not on biases, and a rate of its own for g."""
    parts = [part for one in towers for part in one.parameters()]
    weights, biases = ([part for part in parts if part.ndim == ndim] for ndim in (2, 1))
    groups: list[dict[str, Any]] = [{"params": weights, "weight_decay": L2}, {"params": biases}]
    if tables:
        groups.append({"params": tables, "lr": PROXY_RATE})
    return torch.optim.SGD(groups, lr=RATE)


def corrected(networks: Networks, x: Tensor, z: Tensor) -> Tensor:
    """The log-probabilities of outcomes for rows whose proxy is known."""
    logits = networks.residual_outcomes.detach()[z]
    delta = networks.residual(torch.cat([x, one_hot(z, PROXIES).float(), logits], dim=-1))
    bent: Tensor = logits + delta.clamp(-CLIP, CLIP)
    return bent


def train(networks: Networks, early: torch.optim.SGD, late: torch.optim.SGD, rows: Rows, outcomes_known: bool) -> None:
    """One step of every network whose feedback has come."""
    first, second = torch.randint(WINDOW, (BATCH,)), torch.randint(WINDOW, (BATCH,))
    x, z = rows.x[first], rows.z[first]
    loss = cross_entropy(networks.proxies(x), z) + cross_entropy(networks.residual_proxies(x), z)
    used = [early]
    if outcomes_known:
        x, z, y = rows.x[second], rows.z[second], rows.y[second]
        loss = loss + cross_entropy(networks.direct(x), y) + cross_entropy(networks.outcomes[z], y)
        loss = loss + cross_entropy(networks.residual_outcomes[z], y) + cross_entropy(corrected(networks, x, z), y)
        used.append(late)
    for one in used:
        one.zero_grad()
    torch.autograd.backward(loss)
    for one in used:
        one.step()


def predict(networks: Networks, x: Tensor) -> list[Tensor]:
    """What each of the three says of some rows."""
    direct = log_softmax(networks.direct(x), dim=-1)
    given = log_softmax(networks.outcomes, dim=-1)  # [Z, Y]
    factored = torch.logsumexp(log_softmax(networks.proxies(x), dim=-1)[..., None] + given, dim=-2)
    every = torch.arange(PROXIES).expand(len(x), PROXIES)
    bent = log_softmax(corrected(networks, x[:, None].expand(-1, PROXIES, -1), every), dim=-1)  # [n, Z, Y]
    h = log_softmax(networks.residual_proxies(x), dim=-1)
    return [direct, factored, torch.logsumexp(h[..., None] + bent, dim=-2)]


def play_trial(rows: Rows, blocks: int, proxies_from: int, outcomes_from: int) -> None:
    """One trial of so many blocks, with feedback from these blocks on."""
    networks = new_networks(rows.x.shape[1])
    early = optimizer_of([networks.proxies, networks.residual_proxies], [])
    late = optimizer_of([networks.direct, networks.residual], [networks.outcomes, networks.residual_outcomes])
    for block in range(blocks):
        if block >= proxies_from:
            train(networks, early, late, rows, block >= outcomes_from)
        with torch.inference_mode():
            at = torch.arange(EVERY * block, EVERY * (block + 1)) % WINDOW
            predict(networks, rows.x[at])
            if block >= proxies_from:
                likely = log_softmax(corrected(networks, rows.x[at], rows.z[at]), dim=-1).exp()
                [-(likely * said).sum(-1) for said in predict(networks, rows.x[at])]
            if block >= outcomes_from:
                log_softmax(corrected(networks, rows.x[at], rows.z[at]), dim=-1)


def main() -> None:
    """Answer each line of stdin."""
    seed, features, *blocks = (int(word) for word in sys.argv[1:])
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    x = torch.randn(WINDOW, features)
    rows = Rows(x, torch.randint(PROXIES, (WINDOW,)), torch.randint(OUTCOMES, (WINDOW,)))
    for line in sys.stdin:
        for _ in range(int(line)):
            play_trial(rows, *blocks)
        print("done", flush=True)


if __name__ == "__main__":
    main()
