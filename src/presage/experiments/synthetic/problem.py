"""The synthetic experiment played: settings to tables of regret."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from presage.drivers.counting.episodes import count_experts, count_tables
from presage.drivers.threads import over_cores
from presage.experiments.synthetic.settings import SyntheticSettings
from presage.forecasters.direct_table import direct_table
from presage.forecasters.factored_table import factored_table
from presage.forecasters.mixture import mixture
from presage.forecasters.residual_table import residual_table
from presage.metrics.bounds import direct_bound, factored_bound, quoted_lower_bound
from presage.metrics.losses import factorisation_bias, log_loss, regret, split_regret
from presage.spaces import Array, Spaces
from presage.timeline.episode import Delays, Episode
from presage.worlds.factored import FactoredWorld, Trials

Progress = Callable[[int], None]
"""Called with the number of further episodes played."""


class Point(NamedTuple):
    """One point of the second figure."""

    along: str  # what is varied: delay, instances or both
    schedule: str  # adversarial or uniform
    delay: int
    instances: int
    forecaster: str
    regrets: Array  # [trials]
    bound: float
    quoted: float | None  # the quoted lower bound, for direct


class RegretParts(NamedTuple):
    """What the mean regret of a forecaster is made of."""

    forecaster: str
    mix: float
    useful: float
    learning: float
    delay: float
    factorisation: float  # within learning
    lemma_2: tuple[float, float] | None  # the terms of g and of h that bound factored's regret


def regret_by_mix(settings: SyntheticSettings, progress: Progress) -> tuple[Array, dict[str, Array]]:
    """Figure 2: the regret of each forecaster at each mix, [M, trials]."""
    mixes = np.linspace(0, 1, settings.mixes)
    played = over_cores(lambda mix: _regrets_at(settings, float(mix), progress), mixes)
    return mixes, {name: np.stack([regrets[name] for regrets in played]) for name in played[0]}


def _regrets_at(settings: SyntheticSettings, mix: float, progress: Progress) -> dict[str, Array]:
    """The regret of each forecaster at one mix, [trials].

    The mixture's own experts are the direct, factored and residual tables, so one run gives all four.
    """
    dealt = _deal(settings, mix)
    truth = dealt.true_loss
    regrets: dict[str, Array] = {}
    for useful in settings.useful:
        episode = dealt.obscured(useful, _seed(settings, 2)).episode
        losses = count_experts(mixture(_world(settings).spaces), episode, progress)
        assert losses.experts is not None
        percent = round(100 * useful)
        # Outcomes do not depend on how useful proxies are, so direct is the same for each.
        names = ("direct", f"factored-{percent}", f"residual-{percent}")
        regrets |= {name: regret(losses.experts[:, k], truth) for k, name in enumerate(names)}
        regrets[f"mixture-{percent}"] = regret(losses.own, truth)
    return regrets


def regret_by_size(settings: SyntheticSettings, progress: Progress) -> list[Point]:
    """The second figure: regret as the delay grows, as the instances grow, and as both do.

    Episodes have the same number of rounds, and where both grow, the same number for each instance.
    """
    sizes = [("delay", delay, settings.instances) for delay in settings.delays]
    sizes += [("instances", settings.delay, size) for size in settings.sizes]
    sizes += [("both", scale * settings.scaled_delay, scale * settings.scaled_instances) for scale in settings.scales]
    return [
        point
        for along, delay, instances in sizes
        for schedule in ("adversarial", "uniform")
        for point in _grown(settings, (along, schedule), delay, instances, progress)
    ]


def _grown(
    settings: SyntheticSettings, where: tuple[str, str], delay: int, instances: int, progress: Progress
) -> list[Point]:
    world = FactoredWorld(instances, settings.proxies, settings.outcomes, settings.noise)
    delays = Delays(settings.proxy_delay, delay)
    rounds = settings.scaled_rounds * instances if where[0] == "both" else settings.growth_rounds
    mix = 0.0 if where[1] == "adversarial" else 1.0
    seed = _seed(settings, *((3, delay, instances, round(mix)) if where[0] == "both" else (1, delay, instances)))
    dealt = world.deal(settings.trials, rounds, delays, mix, seed=seed)
    spaces = Spaces(instances, settings.proxies, settings.outcomes)
    bounds = {
        "direct": direct_bound(rounds, delay, instances, settings.outcomes),
        "factored": factored_bound(rounds, delays, instances, settings.proxies, settings.outcomes),
    }
    quoted = {"direct": quoted_lower_bound(rounds, delay, instances)}
    points = []
    for name, make in (("direct", direct_table), ("factored", factored_table)):
        losses = count_experts(make(spaces), dealt.episode, progress).own
        regrets = regret(losses, dealt.true_loss)
        points.append(Point(*where, delay, instances, name, regrets, bounds[name], quoted.get(name)))
    return points


def regret_parts(settings: SyntheticSettings, progress: Progress) -> list[RegretParts]:
    """What the regret is made of, at both ends of the mix and for each kind of proxy."""
    return [
        parts for mix in (0.0, 1.0) for useful in settings.useful for parts in _parts(settings, mix, useful, progress)
    ]


def _parts(settings: SyntheticSettings, mix: float, useful: float, progress: Progress) -> list[RegretParts]:
    dealt = _deal(settings, mix).obscured(useful, _seed(settings, 2))
    episode, twin, truth = dealt.episode, dealt.episode.without_delay(), dealt.true_loss
    spaces = _world(settings).spaces
    both = [count_experts(mixture(spaces), each, progress).experts for each in (episode, twin)]
    assert both[0] is not None
    assert both[1] is not None
    shared, corrected = (
        # Without delays a row is now-cast at the end of its own round, just before its outcome is learnt.
        log_loss(np.log(count_tables([make(spaces)], twin, judge=0).told[:, 0]), episode.y)
        for make in (factored_table, residual_table)
    )
    bias = factorisation_bias(shared, corrected)
    lemma = lemma_2_terms(settings, dealt) if useful == 1.0 else None
    found = []
    for k, name in enumerate(("direct", "factored", "residual")):
        split = split_regret(both[0][:, k], both[1][:, k], truth, bias if name == "factored" else 0.0)
        terms = lemma if name == "factored" else None
        learning, delay, factorisation = (float(part.mean()) for part in split)
        found.append(RegretParts(name, mix, useful, learning, delay, factorisation, terms))
    return found


def lemma_2_terms(settings: SyntheticSettings, dealt: Trials) -> tuple[float, float]:
    """The two terms of Lemma 2, averaged over trials: the regret of g on proxies and that of h on instances.

    Each is the regret of a direct table: outcomes given proxies, seen after D, and proxies given instances, seen
    after D_z; so it is measured with one.
    """
    episode = dealt.episode
    nothing = np.zeros_like(episode.z)
    g = direct_table(Spaces(settings.proxies, 1, settings.outcomes))
    h = direct_table(Spaces(settings.instances, 1, settings.proxies))
    outcomes = Episode.varying(episode.z, nothing, episode.y, episode.outcome_seen, episode.outcome_seen)
    proxies = Episode.varying(episode.x, nothing, episode.z, episode.proxy_seen, episode.proxy_seen)
    g_losses, h_losses = count_experts(g, outcomes).own, count_experts(h, proxies).own
    return float(regret(g_losses, dealt.g_loss).mean()), float(regret(h_losses, dealt.h_loss).mean())


def _world(settings: SyntheticSettings) -> FactoredWorld:
    return FactoredWorld(settings.instances, settings.proxies, settings.outcomes, settings.noise)


def _deal(settings: SyntheticSettings, mix: float) -> Trials:
    """The trials of one mix; other mixes draw their own."""
    delays, seed = Delays(settings.proxy_delay, settings.delay), _seed(settings, 0, round(1000 * mix))
    return _world(settings).deal(settings.trials, settings.rounds, delays, mix, seed)


def _seed(settings: SyntheticSettings, *numbers: int) -> int:
    """A seed for each episode of an experiment, from the experiment's own."""
    return int(np.random.SeedSequence([settings.seed, *numbers]).generate_state(1, np.uint64)[0] >> 1)
