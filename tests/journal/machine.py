"""Any course of events, tried by Hypothesis against the reference joiner."""

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from presage.joining.entries import EntryKind, LogEvent
from presage.joining.join import Decision, Horizons
from presage.journal.appender import Appender
from presage.journal.interface import LogStore
from presage.journal.readers import read_lessons
from tests.joining.reference_joiner import ReferenceJoiner
from tests.journal.events import NAMES, TASK, CountingTable, arrive, outcome, prediction, proxy, rules
from tests.journal.memory import MemoryLog

IDS = st.sampled_from("abcdef")
SYMBOLS = st.integers(0, 2)
AGO = st.sampled_from([0, 0, 0, 1, 5])
ABSENT = st.integers(-1, 1)
FAR = 10**6


class JoinMachine(RuleBasedStateMachine):
    """Events are collected into groups that end anywhere; the log of each group must be what the reference says."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.latest = 10, 0  # the clock, and the time of the last entry
        self.group: list[LogEvent] = []
        self.table = CountingTable()

    @initialize(proxy=st.integers(1, 20), outcome=st.integers(1, 20), absent=st.tuples(ABSENT, ABSENT))
    def begin(self, proxy: int, outcome: int, absent: tuple[int, int]) -> None:
        self.horizons = Horizons(proxy, outcome, *absent)
        self.reference = ReferenceJoiner(rules(self.horizons))
        self.store = self.open()
        self.appender = Appender(self.store, self.horizons, lambda: self.now, self.table.feed)

    def open(self) -> LogStore:
        return MemoryLog(TASK)

    @rule(id=IDS, x=st.sampled_from([0, 0, 0, 1]), ago=AGO)
    def predict(self, id: str, x: int, ago: int) -> None:
        self.group.append(prediction(id, x, self.now - ago, self.appender.model_position))

    @rule(id=IDS, symbol=SYMBOLS, ago=AGO)
    def bring_proxy(self, id: str, symbol: int, ago: int) -> None:
        self.group.append(proxy(id, symbol, self.now - ago))

    @rule(id=IDS, symbol=SYMBOLS, ago=AGO)
    def bring_outcome(self, id: str, symbol: int, ago: int) -> None:
        self.group.append(outcome(id, symbol, self.now - ago))

    @precondition(lambda self: self.group)
    @rule(which=st.integers(0, 100))
    def send_again(self, which: int) -> None:
        self.group.append(self.group[which % len(self.group)])

    @rule(span=st.integers(1, 12))
    def wait(self, span: int) -> None:
        self.now += span

    @rule()
    def commit(self) -> None:
        answers = self.appender.append(self.group)
        for event, answer in zip(self.group, answers, strict=True):
            at = max(self.latest, event.at)
            assert arrive(self.reference, event, at) == answer.decision.value
            if answer.decision is Decision.ACCEPTED:
                self.latest = at
            if answer.decision is not Decision.CONFLICT:
                entry = self.store.entries([answer.seq])[0]
                assert (entry.kind, entry.id) == (event.kind, event.id)
        self.group = []

    @rule()
    def tick(self) -> None:
        self.commit()
        self.settle()

    @rule()
    def publish(self) -> None:
        self.appender.model_position = self.store.counters.learn

    @invariant()
    def the_bins_add_up_to_the_log(self) -> None:
        if hasattr(self, "store"):
            assert self.store.counters.entries == self.store.head.seq

    def settle(self) -> None:
        while True:
            group = self.appender.settle(self.now, limit=2)
            self.appender.commit(group)
            self.appender.hand_on(group)
            self.latest = self.store.head.at
            if len(group.entries) - group.learns < 2:
                return

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        self.tick()
        self.compare()
        self.now += FAR
        self.settle()
        self.compare()
        self.store.close()

    def compare(self) -> None:
        """What was learnt, counted and kept is what the reference finds from all that came."""
        trained = [(self.store.entries([lesson.seq])[0].id, NAMES[lesson.kind]) for lesson in self.table.lessons]
        assert len(set(trained)) == len(trained), "something was trained twice"
        symbols = [lesson.z if lesson.kind == EntryKind.PROXY else lesson.y for lesson in self.table.lessons]
        assert dict(zip(trained, symbols, strict=True)) == self.reference.trained(self.now)
        assert Counter(self.store.counters.bins._asdict()) == self.reference.bins(self.now)
        again, parts = CountingTable(), list(read_lessons(self.store, self.horizons))
        for part in parts:
            again.feed(*part)
        assert (again.lessons, again.boundaries) == (self.table.lessons, self.table.boundaries)
        again.learn()
        assert again.counts == self.reference.counts(self.now)
