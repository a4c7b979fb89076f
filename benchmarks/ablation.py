"""What each part of the default forecaster earns: log loss without it, on worlds with a known truth and on real logs.

`python -m benchmarks ablation [LOG=TASK ...]`: worlds always, and each log with its task file. A loss is shown beside
the truth's own on a world, so that 0 could not be beaten; differences are paired, with 95 % intervals over blocks of
time.
"""

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from presage.backtesting.backtest import spaces_of, to_episode
from presage.drivers.contexts.episodes import stretch_contexts
from presage.drivers.threads import over_cores
from presage.forecasters.catalogue import facts_of
from presage.forecasters.contexts.layout import PARTS, ContextLayout, ContextSettings
from presage.logs.rows import read_log
from presage.metrics.bootstrap import bootstrap_mean
from presage.metrics.losses import log_loss
from presage.spaces import Array, Features, Instance, Spaces
from presage.task.task import load_task
from presage.timeline.episode import Episode

ROWS, PROXY_DELAY, OUTCOME_DELAY = 40_000, 200, 3_000
PROXIES = OUTCOMES = 3


class Scene(NamedTuple):
    """A problem to play: a world, whose truth is known, or a log."""

    name: str
    spaces: Spaces
    episode: Episode
    truth: Array | None  # [T]: the loss of the truth
    same: tuple[int, ...] = ()


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Array = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def _draw(likely: Array, draw: np.random.Generator) -> Array:
    drawn: Array = (likely.cumsum(axis=-1) < draw.random(len(likely))[:, None]).sum(axis=-1)
    return np.minimum(drawn, likely.shape[-1] - 1).astype(np.int32)


def world(name: str, seed: int) -> Scene:
    """One of the worlds: proxies that depend on instances, and outcomes on proxies, and a little on instances."""
    draw = np.random.default_rng(seed)
    users = 100_000 if name == "many users" else 400
    shape = (users, 8, 6, 5)
    useless = 30 if name == "useless features" else 0
    symbols = np.stack([draw.integers(0, size, ROWS) for size in (*shape, *[5] * useless)], axis=1).astype(np.int32)
    numbers = draw.normal(size=(ROWS, 1 if name == "threshold" else 0)).astype(np.float32)
    scale = {"identity only": 0.0, "features only": 1.0}.get(name, 0.7)
    effects = [draw.normal(size=(size, PROXIES)) * scale for size in shape[1:]]
    alone = draw.normal(size=(users, PROXIES)) * (0.0 if name == "features only" else 1.0)
    late = (np.arange(ROWS) / ROWS)[:, None]
    if name == "shift":
        alone_later, late = draw.normal(size=alone.shape), (np.arange(ROWS) >= ROWS // 2)[:, None].astype(float)
    elif name == "drift":
        alone_later = draw.normal(size=alone.shape)
    else:
        alone_later = alone
    who = symbols[:, 0]
    scores = (1 - late) * alone[who] + late * alone_later[who]
    for place, effect in enumerate(effects):
        scores = scores + effect[symbols[:, 1 + place]]
    if name == "interaction":
        scores = scores + (draw.normal(size=(8, 6, PROXIES)) * 1.5)[symbols[:, 1], symbols[:, 2]]
    if name == "threshold":
        scores = scores + np.where(numbers > 0.7, 2.0, -0.5) * np.array([1.0, 0.0, -1.0])
    likely = _softmax(scores)  # [T, Z]
    leads = draw.dirichlet(np.full(OUTCOMES, 0.5), PROXIES)
    if name == "other labels":
        leads = 0.1 / OUTCOMES + 0.9 * np.roll(np.eye(PROXIES), 1, axis=1)
    elif name == "same labels":
        leads = 0.3 / OUTCOMES + 0.7 * np.eye(PROXIES)
    own = _softmax(draw.normal(size=(8, OUTCOMES)))[symbols[:, 1]]
    after = 0.85 * leads[None] + 0.15 * own[:, None]  # [T, Z, Y]
    z = _draw(likely, draw)
    y = _draw(after[np.arange(ROWS), z], draw)
    truth = -np.log((likely[..., None] * after).sum(axis=1)[np.arange(ROWS), y])
    rounds = np.arange(ROWS)
    seen = rounds + PROXY_DELAY, rounds + OUTCOME_DELAY
    features = Features(symbols=(*shape, *[5] * useless), dense=numbers.shape[1])
    same = tuple(range(PROXIES)) if name in ("same labels", "other labels") else ()
    episode = Episode.varying(Instance(symbols, numbers), z, y, *seen)
    return Scene(name, Spaces(features, PROXIES, OUTCOMES), episode, truth, same)


WORLDS = (
    "features only", "identity only", "interaction", "threshold", "drift", "shift", "same labels", "other labels",
    "useless features", "many users",
)  # fmt: skip


def logged(path: str, task_file: str) -> Scene:
    """A real log with its task."""
    task = load_task(task_file)
    rows, _ = read_log(task, path)
    return Scene(task.name, spaces_of(task, rows, None), to_episode(rows), None, facts_of(task).same)


def losses(scene: Scene, settings: ContextSettings) -> Array:
    """The log loss of the default on each row whose outcome is known."""
    layout = ContextLayout(scene.spaces, settings, scene.same)
    said = np.concatenate([part.log_probabilities for part in stretch_contexts(layout, scene.episode)])
    found: Array = log_loss(said, scene.episode.y)
    return found


def ablate(scene: Scene, tell: Callable[[str], None]) -> Iterator[str]:
    """A line for the whole, and one for each part that is left out."""
    full = losses(scene, ContextSettings())
    above = "" if scene.truth is None else f", {np.nanmean(full - scene.truth):.4f} above the truth"
    yield f"| {scene.name} | everything | {np.nanmean(full):.4f}{above} | |"

    def without(part: str) -> str:
        kept = losses(scene, ContextSettings(**{part: False}))
        earns = bootstrap_mean(kept - full)
        tell(f"{scene.name} without {part}")
        interval = f"{earns.mean:+.4f} ({earns.low:+.4f} to {earns.high:+.4f})"
        return f"| {scene.name} | without {part} | {np.nanmean(kept):.4f} | {interval} |"

    yield from over_cores(without, PARTS)


def report(arguments: list[str]) -> Iterator[str]:
    """The table, line by line."""
    yield "| problem | the default | log loss | what the part earns |"
    yield "|---|---|---|---|"
    logs = [argument.split("=", 1) for argument in arguments]
    for name in WORLDS:
        yield from ablate(world(name, 0), lambda line: print(line, file=sys.stderr))
    for path, task_file in logs:
        yield from ablate(logged(path, task_file), lambda line: print(line, file=sys.stderr))
