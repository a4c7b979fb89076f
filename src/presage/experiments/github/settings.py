"""Settings of the GitHub experiment: the paper's, and where it is silent ours."""

from dataclasses import dataclass, replace

from presage.errors import SettingError
from presage.experiments.networks import NetworkSettings
from presage.settings import positive, whole


@dataclass(frozen=True)
class GithubSettings(NetworkSettings):
    """What is asked, in which order, and how the networks learn (the fields of `NetworkSettings`).

    An instance is a repository at a moment. Moments lie `grid_hours` apart in yearly windows of `window_days` from
    1 May, of repositories with at least `commit_days` days with a commit in the window. Counts take at most `bulk`
    commits per hour. Mode A are moments with at most `quiet_most` commits in the past `quiet_days` days, mode B those
    with at least `busy_least` in the past `busy_days`; the second of `modes` follows the first after `switch_week`.

    The paper gives neither the length of an episode, nor the buckets of past commits, nor the languages, nor the
    batches of the oracles: `weeks`, `history_days`, `languages` and `oracle_batch` are ours.
    """

    weeks: float = 10.0
    round_minutes: int = 10
    modes: tuple[str, ...] = ("A", "B")
    switch_week: float = 4.5
    proxy_days: int = 7
    outcome_days: int = 21
    proxy_edges: tuple[int, ...] = (1, 2)  # none, one, more
    outcome_least: int = 3
    quiet_days: int = 30
    quiet_most: int = 1
    busy_days: int = 7
    busy_least: int = 2
    window_days: int = 252
    commit_days: int = 5
    grid_hours: int = 6
    bulk: int = 20
    history_days: tuple[int, ...] = (1, 3, 7, 14, 30, 60, 90, 180, 365)
    languages: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("weeks", "switch_week"):
            positive(name, getattr(self, name))
        for name in ("outcome_least", "quiet_days", "busy_days", "busy_least", "window_days", "commit_days"):
            whole(name, getattr(self, name))
        for name in ("round_minutes", "proxy_days", "outcome_days", "grid_hours", "bulk", "languages"):
            whole(name, getattr(self, name))
        whole("quiet_most", self.quiet_most, 0)
        if sorted(self.modes) != ["A", "B"]:
            raise SettingError("modes must be A and B in some order", self.modes, "give A,B or B,A")
        for name in ("proxy_edges", "history_days"):
            edges = getattr(self, name)
            if list(edges) != sorted(set(edges)) or edges[0] < 1:
                raise SettingError(f"{name} must be ascending, from 1 or more", edges, "give them in ascending order")
        if not self.proxy_days <= self.outcome_days < self.window_days:
            found = (self.proxy_days, self.outcome_days, self.window_days)
            wrong = "proxies must come before outcomes, and both within a window"
            raise SettingError(wrong, found, "shorten the horizons")
        if self.switch_week < 0.5 or self.weeks - self.switch_week < 1.5:
            weeks = {"switch_week": self.switch_week, "weeks": self.weeks}
            remedy = "give at least half a week before the switch and one and a half after it"
            raise SettingError("there is too little before or after the switch to measure", weeks, remedy)
        if 24 * 60 % self.round_minutes:
            remedy = "give minutes that divide a day, such as 10 or 30"
            raise SettingError("a day must be a whole number of rounds", self.round_minutes, remedy)

    @property
    def rounds_a_week(self) -> int:
        """How many samples come in a week."""
        return 7 * 24 * 60 // self.round_minutes

    @property
    def rounds(self) -> int:
        """The length of an episode."""
        return round(self.weeks * self.rounds_a_week)

    @property
    def switch(self) -> int:
        """The first round of the second mode."""
        return round(self.switch_week * self.rounds_a_week)


PAPER = GithubSettings()
TUNED = replace(
    PAPER, learning_rate=0.3, l2=1e-3, proxy_rate=1.1, h_hidden=(80,), h_rate=0.197, h_l2=1.65e-4, residual_rate=0.0504
)
"""The winner of the search that docs/tuning-github.json records."""
SMOKE = GithubSettings(
    trials=4, weeks=2.5, round_minutes=60, switch_week=0.7, proxy_days=1, outcome_days=3, history_days=(1, 7, 30, 90),
    languages=4, buffer=60, start=16, batch=16, oracle_steps=200, commit_days=3,
)  # fmt: skip
