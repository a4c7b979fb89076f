"""What each part of the default forecaster earns: log loss without it, on worlds with a known truth and on real logs.

`python -m benchmarks ablation [--seeds 0-2] [--worlds NAME,NAME | none] [LOG=TASK ...]`: worlds and each log with its
task file, a row each, with the parts as columns. On a world the losses are those to be expected under its truth, and
shown beside the truth's own, so that 0 could not be beaten. Differences are paired, with 95 % intervals over blocks of
time, those of several seeds together.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from presage.backtesting.backtest import spaces_of, to_episode
from presage.cli.output import Seeds
from presage.drivers.contexts.episodes import stretch_contexts
from presage.drivers.threads import over_cores
from presage.forecasters.catalogue import facts_of
from presage.forecasters.contexts.layout import PARTS, ContextLayout, ContextSettings
from presage.logs.rows import read_log
from presage.metrics.bootstrap import bootstrap_mean
from presage.metrics.intervals import Interval
from presage.metrics.losses import log_loss
from presage.spaces import Array, Features, Instance, Spaces
from presage.task.task import load_task
from presage.timeline.episode import Episode

ROWS, PROXY_DELAY, OUTCOME_DELAY = 40_000, 200, 3_000
PROXIES = OUTCOMES = 3
SIZES = (8, 6, 5)
"""The values of the features of a world, beside the identity's."""
USELESS = 30
"""How many useless features there are in the world of that name, of 5 values each."""


class Scene(NamedTuple):
    """A problem to play: a world, whose truth is known, or a log."""

    name: str
    spaces: Spaces
    episode: Episode
    truth: Array | None  # [T, Y]: p(y|x)
    same: tuple[int, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Array = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def _draw(likely: Array, draw: np.random.Generator) -> Array:
    drawn: Array = (likely.cumsum(axis=-1) < draw.random(len(likely))[:, None]).sum(axis=-1)
    return np.minimum(drawn, likely.shape[-1] - 1).astype(np.int32)


def world(name: str, seed: int, rows: int = ROWS) -> Scene:
    """One of the worlds: proxies that depend on instances, and outcomes on proxies, and a little on instances."""
    draw = np.random.default_rng(seed)
    users = 100_000 if name == "many users" else 400
    symbols = np.stack([draw.integers(0, size, rows) for size in (users, *SIZES)], axis=1).astype(np.int32)
    numbers = draw.normal(size=(rows, 1 if name == "threshold" else 0)).astype(np.float32)
    likely = _proxies(name, symbols, numbers, users, draw)  # [T, Z]
    leads = draw.dirichlet(np.full(OUTCOMES, 0.5), PROXIES)
    if name == "other labels":
        leads = 0.1 / OUTCOMES + 0.9 * np.roll(np.eye(PROXIES), 1, axis=1)
    elif name == "same labels":
        leads = 0.3 / OUTCOMES + 0.7 * np.eye(PROXIES)
    of = 0 if name == "identity only" else 1
    own = _softmax(draw.normal(size=((users, *SIZES)[of], OUTCOMES)))[symbols[:, of]]
    after = 0.85 * leads[None] + 0.15 * own[:, None]  # [T, Z, Y]
    z = _draw(likely, draw)
    y = _draw(after[np.arange(rows), z], draw)
    truth = (likely[..., None] * after).sum(axis=1)
    shape: tuple[int, ...] = (users, *SIZES)
    if name == "useless features":  # drawn last, so that everything else is as without them
        symbols = np.concatenate([symbols, draw.integers(0, 5, (rows, USELESS), np.int32)], axis=1)
        shape = (*shape, *[5] * USELESS)
    same = tuple(range(PROXIES)) if name in ("same labels", "other labels") else ()
    moments = np.arange(rows)
    seen = moments + PROXY_DELAY, moments + OUTCOME_DELAY
    episode = Episode.varying(Instance(symbols, numbers), z, y, *seen)
    return Scene(name, Spaces(Features(shape, dense=numbers.shape[1]), PROXIES, OUTCOMES), episode, truth, same)


def _proxies(name: str, symbols: Array, numbers: Array, users: int, draw: np.random.Generator) -> Array:
    """The probabilities of the proxies of each row, [T, Z]."""
    scale = {"identity only": 0.0, "features only": 1.0}.get(name, 0.7)
    effects = [draw.normal(size=(size, PROXIES)) * scale for size in SIZES]
    alone = draw.normal(size=(users, PROXIES)) * (0.0 if name == "features only" else 1.0)
    late = (np.arange(len(symbols)) / len(symbols))[:, None]
    late = (late >= 0.5).astype(float) if name == "shift" else late
    later = draw.normal(size=alone.shape) if name in ("shift", "drift") else alone
    scores = (1 - late) * alone[symbols[:, 0]] + late * later[symbols[:, 0]]
    for place, effect in enumerate(effects):
        scores = scores + effect[symbols[:, 1 + place]]
    if name == "interaction":
        scores = scores + (draw.normal(size=(8, 6, PROXIES)) * 1.5)[symbols[:, 1], symbols[:, 2]]
    if name == "threshold":
        scores = scores + np.where(numbers > 0.7, 2.0, -0.5) * np.array([1.0, 0.0, -1.0])
    return _softmax(scores)


WORLDS = (
    "features only", "identity only", "interaction", "threshold", "drift", "shift", "same labels", "other labels",
    "useless features", "many users",
)  # fmt: skip
MORE_ROWS = {"many users": 2 * ROWS}
"""So that users come back."""


def without_useless(scene: Scene) -> Scene:
    """The same world, its useless features not declared."""
    x, keep = scene.episode.x, 1 + len(SIZES)
    episode = Episode(Instance(x.symbols[:, :keep], x.dense), scene.episode.z, scene.episode.y, *_seen(scene.episode))
    features = Features(scene.spaces.features.symbols[:keep])
    return scene._replace(name="without them", spaces=Spaces(features, PROXIES, OUTCOMES), episode=episode)


def _seen(episode: Episode) -> tuple[Array, Array]:
    return episode.proxy_seen, episode.outcome_seen


def logged(path: str, task_file: str) -> Scene:
    """A real log with its task."""
    task = load_task(task_file)
    rows, _ = read_log(task, path)
    facts = facts_of(task)
    return Scene(task.name, spaces_of(task, rows, None), to_episode(rows), None, facts.same, facts.groups)


def losses(scene: Scene, settings: ContextSettings | None = None) -> Array:
    """The log loss of the default on each row whose outcome is known, or to be expected under the truth."""
    layout = ContextLayout(scene.spaces, settings or ContextSettings(), scene.same, scene.groups)
    said = np.concatenate([part.log_probabilities for part in stretch_contexts(layout, scene.episode)])
    return _expected(scene, said)


def _expected(scene: Scene, said: Array) -> Array:
    found: Array = log_loss(said, scene.episode.y) if scene.truth is None else -(scene.truth * said).sum(axis=1)
    return found


def ablate(scenes: Sequence[Scene]) -> str:
    """A row of the table: the whole, and what each part earns; of the same world for several seeds."""
    started = time.perf_counter()

    def play(job: tuple[Scene, str]) -> Array:
        scene, part = job
        return losses(scene, ContextSettings(**{part: False}) if part else None)

    jobs = [(scene, part) for part in ("", *PARTS) for scene in scenes]
    played = list(over_cores(play, jobs))
    each = [np.concatenate(played[at : at + len(scenes)]) for at in range(0, len(jobs), len(scenes))]
    cells = [scenes[0].name, f"{np.nanmean(each[0]):.4f}"]
    truths = [_expected(scene, np.log(scene.truth)) for scene in scenes if scene.truth is not None]
    cells.append(thousandths(bootstrap_mean(each[0] - np.concatenate(truths))) if truths else "")
    cells += [thousandths(bootstrap_mean(kept - each[0])) for kept in each[1:]]
    print(f"{scenes[0].name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return f"| {' | '.join(cells)} |"


def thousandths(found: Interval) -> str:
    """A difference of losses in thousandths of a nat, with half of its interval.

    >>> thousandths(Interval(0.0123, 0.0113, 0.0133))
    '12.3 ±1.0'
    """
    return f"{1000 * found.mean:.1f} ±{500 * (found.high - found.low):.1f}"


def report(arguments: list[str]) -> Iterator[str]:
    """The table, line by line."""
    given = _read(arguments)
    yield f"| | log loss | above the truth | {' | '.join(part.replace('_', ' ') for part in PARTS)} |"
    yield f"|---|---|---|{'---|' * len(PARTS)}"
    cost: list[Array] = []
    for name in given.worlds:
        scenes = [world(name, seed, MORE_ROWS.get(name, ROWS)) for seed in given.seeds]
        yield ablate(scenes)
        if name == "useless features":
            cost = [losses(scene) - losses(without_useless(scene)) for scene in scenes]
    for log in given.logs:
        yield ablate([logged(*log.split("=", 1))])
    if cost:
        yield f"\n{USELESS} useless features cost {thousandths(bootstrap_mean(np.concatenate(cost)))}."
    yield "\nIn thousandths of a nat per prediction; a part earns what the loss rises by without it."


def _read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ablation")
    parser.add_argument("logs", nargs="*", metavar="LOG=TASK")
    parser.add_argument("--seeds", default="0-2", help="of the worlds, such as 0-2")
    parser.add_argument("--worlds", default=",".join(WORLDS), help="none, or some of them, separated by commas")
    given = parser.parse_args(arguments)
    given.seeds = Seeds().convert(given.seeds, None, None)
    given.worlds = [] if given.worlds == "none" else given.worlds.split(",")
    unknown = [name for name in given.worlds if name not in WORLDS]
    if unknown:
        parser.error(f"no world is called {unknown[0]}; choose from {', '.join(WORLDS)}")
    return given
