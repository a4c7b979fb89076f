"""Tables, and mixtures of them, played by counting: the numbers of the compiled driver, several times faster.

What experts predict does not depend on how they are weighed. So one loop over the events counts, and notes down what
each table says; logarithms are taken of all of it at once; and a second loop weighs. A count is kept once, however
many experts read it.
"""

import numpy as np

from presage.drivers.cores import over_cores
from presage.drivers.kernels import (
    OUTCOMES,
    PAIRS,
    PROXIES,
    Feedback,
    Levels,
    Tables,
    counting_loop,
    scoring_loop,
)
from presage.drivers.losses import Losses, Progress
from presage.drivers.weighed import arrivals_in, feedback_of, weigh
from presage.errors import SettingError, ShapeError
from presage.forecasters.contract import Forecaster
from presage.forecasters.counts import Chain, Chains
from presage.forecasters.keys import TableKey
from presage.forecasters.mixture import Pool
from presage.forecasters.weights import EarlyWeights
from presage.spaces import Array, Spaces
from presage.timeline.episode import Episode

CELLS = 4_000_000
"""How many predicted probabilities a thread holds at a time."""


def can_count(forecaster: Forecaster) -> bool:
    """Whether a forecaster is a table or a mixture of tables."""
    return all(isinstance(expert.made_of, Chains) for expert in _experts(forecaster))


def count_experts(forecaster: Forecaster, episodes: Episode, progress: Progress | None = None) -> Losses:
    """The log losses of a table, or of a mixture and each of its tables; `play_experts` gives the same.

    >>> from presage import Delays, Spaces, factored_table
    >>> episode = Episode.fixed([[0, 0, 0]], [[0, 0, 0]], [[1, 1, 1]], Delays(proxy=0, outcome=1))
    >>> count_experts(factored_table(Spaces(1, 2, 2)), episode).own.round(3)
    array([[0.693, 0.693, 0.47 ]])
    """
    if not can_count(forecaster):
        raise SettingError("only tables can be played by counting", forecaster.name, "use play_experts")
    if episodes.trials is None:
        raise ShapeError("trials need a leading axis", episodes.z.shape, "use Episode.stack([episode])")
    x, z, y = episodes.encode(forecaster.spaces)
    arriving = arrivals_in(episodes)
    pool = forecaster.made_of if isinstance(forecaster.made_of, Pool) else None
    keys, tables, levels = _lay_out(forecaster.spaces, [e.made_of for e in _experts(forecaster)], pool)

    def play_some(trials: Array) -> Losses:
        rows = np.stack([key.row(x.symbols[trials]) for key in keys]).astype(np.int32)
        feedback = feedback_of(trials, z, y, arriving)
        losses = _play(forecaster.spaces, (tables, levels), rows, feedback, pool)
        if progress:
            progress(len(trials))
        return losses

    size = max(1, CELLS // (episodes.rounds * len(levels.experts) * forecaster.spaces.outcomes))
    blocks = [np.arange(first, min(first + size, len(z))) for first in range(0, len(z), size)]
    played = over_cores(play_some, blocks)
    own = np.concatenate([losses.own for losses in played])
    return Losses(own, np.concatenate([losses.experts for losses in played]) if pool else None)


def count_nowcasts(forecaster: Forecaster, episodes: Episode) -> Array:  # [R, T, Y]
    """What a table tells of each row's outcome, as log-probabilities, at the moment the row's proxy has come.

    Without delays that is at the end of the row's own round, before its outcome is learnt.
    """
    laid = _lay_out(forecaster.spaces, [forecaster.made_of], None)
    keys, tables, levels = laid
    path = [int(levels.experts[0, 1])]
    while levels.parents[path[0]] >= 0:
        path.insert(0, int(levels.parents[path[0]]))
    levels = levels._replace(judge=np.array(path))
    x, z, y = episodes.encode(forecaster.spaces)
    rows = np.stack([key.row(x.symbols) for key in keys]).astype(np.int32)
    trials, rounds = z.shape
    said = np.empty((trials, rounds, 1, forecaster.spaces.outcomes), np.float32)
    told = np.ones((trials, 2, rounds, forecaster.spaces.outcomes), np.float32)
    loop = counting_loop(forecaster.spaces.proxies, forecaster.spaces.outcomes)
    loop(tables, levels, rows, feedback_of(np.arange(trials), z, y, arrivals_in(episodes)), said, said[:, :0], told)
    return np.log(told[:, 0])


def _play(spaces: Spaces, laid: tuple[Tables, Levels], rows: Array, feedback: Feedback, pool: Pool | None) -> Losses:
    tables, levels = laid
    trials, rounds = feedback.z.shape
    judged = rounds if len(levels.judge) else 0
    # What is said of a row when its proxy comes was said already if that is at the end of its own round.
    at_once = bool((feedback.proxy_seen == np.arange(rounds)).all())
    shape = len(levels.experts), spaces.outcomes
    said = np.empty((trials, rounds, *shape), np.float32)
    again = np.ones((trials, 0 if at_once else judged, *shape), np.float32)
    told = np.zeros((trials, 2, judged, spaces.outcomes), np.float32)
    counting_loop(spaces.proxies, spaces.outcomes)(tables, levels, rows, feedback, said, again, told)
    logs = np.log(said, out=said)
    then = logs if at_once else np.log(again, out=again)
    experts = np.empty((trials, shape[0], rounds), np.float32)
    expected = np.empty((trials, judged, shape[0]), np.float32)
    scoring_loop(spaces.outcomes)(logs, feedback.y, then, told[:, 0], experts, expected)
    if pool is None:
        return Losses(experts[:, 0], None)
    return Losses(weigh(pool, feedback, logs, expected, told[:, 1]), experts)


def _experts(forecaster: Forecaster) -> tuple[Forecaster, ...]:
    return forecaster.made_of.experts if isinstance(forecaster.made_of, Pool) else (forecaster,)


def _lay_out(spaces: Spaces, experts: list[Chains], pool: Pool | None) -> tuple[list[TableKey], Tables, Levels]:
    """The distinct tables that the experts read, the keys of their rows, and the levels of the experts' chains."""
    tables: dict[tuple[TableKey, int], int] = {}
    levels: dict[tuple[int, int, float], int] = {}  # table, parent and strength

    def path(chain: Chain | None, kind: int) -> list[int]:
        found = [-1]
        if chain is None:
            return found
        for key in chain.keys:
            table = tables.setdefault((key, kind), len(tables))
            strength = chain.alpha if found[-1] < 0 else chain.kappa
            found.append(levels.setdefault((table, found[-1], strength), len(levels)))
        return found

    paths = [(path(h, PROXIES), path(g, PAIRS if h else OUTCOMES)) for h, g in experts]
    widths = {PROXIES: spaces.proxies, OUTCOMES: spaces.outcomes, PAIRS: spaces.proxies * spaces.outcomes}
    width = np.array([widths[kind] for _, kind in tables])
    ends = np.cumsum([key.rows * widths[kind] for key, kind in tables])
    of_table, parents, strengths = (np.array(part) for part in zip(*levels, strict=True))
    judge = paths[pool.judge][1][1:] if pool and isinstance(pool.rule, EarlyWeights) else []
    return (
        [key for key, _ in tables],
        Tables(np.array([kind for _, kind in tables]), width, np.r_[0, ends[:-1]], int(ends[-1])),
        Levels(of_table, parents, strengths, np.array([(h[-1], g[-1]) for h, g in paths]), np.array(judge, np.int64)),
    )
