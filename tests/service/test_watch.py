"""The watch: sums that can be checked against the log."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from msgspec.structs import replace

from presage.joining.entries import Entry, EntryKind, FeedbackBody, LogEvent, Predicted, predicted_in
from presage.joining.join import Bin, Known
from presage.joining.lessons import outcome_learnt, proxy_learnt
from presage.journal.readers import read_observed
from presage.metrics.calibration import reliability
from presage.service.dashboard.columns import COHORT, KINDS, Subject, subject_of
from presage.service.dashboard.drift import DriftState
from presage.service.dashboard.feedback_panels import known_panel, pending_panel, reliability_panel
from presage.service.dashboard.fold import Watch
from presage.service.dashboard.loss_panels import early_panel, loss_panel, weights_panel
from presage.service.dashboard.watcher import add_recent_entries
from presage.spaces import Array, Spaces
from tests.service.played import (
    DAY,
    HORIZONS,
    REVERSED,
    START,
    SUBJECT,
    Played,
    happen,
    play,
    watched,
)


@pytest.fixture(scope="module")
def played() -> Played:
    return play(happen(1500))


@pytest.fixture(scope="module")
def watch(played: Played) -> Watch:
    return watched(played)


def sums(watch: Watch) -> Iterator[Array]:
    for buckets in (watch.arrived, watch.predicted):
        stretch = buckets.stretches()
        yield from (stretch.start, stretch.sums)


def outcomes(played: Played) -> Iterator[tuple[Entry, Known, Predicted]]:
    """Every outcome that became learnable: the entry that made it so, the id's state in the end, and its prediction."""
    for entry in played.store.log:
        known = played.store.known.get(entry.id)
        if known and known.outcome_seq == entry.seq:
            yield entry, known, predicted_in(played.store.log[known.predicted - 1])


def cohort(watch: Watch, name: str) -> float:
    return float(watch.predicted.stretches().sums[:, COHORT.index(name)].sum())


def test_a_watch_is_the_same_however_what_it_saw_was_cut_and_when_it_is_read_from_the_log(
    played: Played, watch: Watch
) -> None:
    everything = [observed for entries in played.shown for observed in entries]
    whole, by_page = Watch(SUBJECT), Watch(SUBJECT)
    whole.add_entries(everything)
    for page in read_observed(played.store, 0):
        by_page.add_entries(page)
    assert len(everything) == played.store.head.seq
    for other in (whole, by_page):
        assert (other.seq, other.at, other.learnt, other.estimated) == (
            watch.seq, watch.at, watch.learnt, watch.estimated,
        )  # fmt: skip
        for ours, theirs in zip(sums(watch), sums(other), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_what_arrived_adds_up_to_the_log(played: Played, watch: Watch) -> None:
    counted = dict(zip(KINDS, watch.arrived.stretches().sums[:, : len(KINDS)].sum(axis=0), strict=True))
    kinds = Counter(EntryKind(entry.kind) for entry in played.store.log)
    bins = played.store.counters.bins
    assert counted["predictions"] == kinds[EntryKind.PREDICTED]
    assert (counted["absent_proxies"], counted["absent_outcomes"]) == (
        kinds[EntryKind.ABSENT_PROXY], kinds[EntryKind.ABSENT_OUTCOME],
    )  # fmt: skip
    assert counted["late"] == bins.late > 0
    assert counted["parked"] > 0
    assert sum(counted.values()) == played.store.head.seq - kinds[EntryKind.LEARN]


def test_losses_are_those_of_the_outcomes_in_the_log(played: Played, watch: Watch) -> None:
    served, direct, marginal = [], [], []
    seqs_and_outcomes = [(known.outcome_seq, outcome_learnt(known, HORIZONS)) for _, known, _ in outcomes(played)]
    for _, known, body in outcomes(played):
        y = outcome_learnt(known, HORIZONS)
        served.append(-float(np.frombuffer(body.log_probabilities, "<f4")[y]))
        experts = np.frombuffer(body.memo, "<f4").reshape(3, 2)[:2, y]
        direct.append(-math.log(np.exp(experts).mean()))
        before = [other for seq, other in seqs_and_outcomes if seq < body.model]
        marginal.append(-math.log((before.count(y) + 1) / (len(before) + 2)))
    total = watch.arrived.stretches().sums[:, watch.columns.losses : watch.columns.reliability].sum(axis=0)
    expected = len(served), sum(served), sum(direct), sum(marginal)
    np.testing.assert_allclose(total[:4], expected, rtol=1e-6)
    assert total[4] == pytest.approx(np.square(np.array(served) - direct).sum(), rel=1e-5)
    panel = loss_panel(watch)
    assert panel.recent is not None
    assert panel.recent.served == pytest.approx(np.mean(served))
    assert f"last {len(served):,} outcomes" in panel.words.lower()
    assert panel.direct is not None
    assert len(panel.at) == len(panel.served) == len(panel.direct) == len(panel.marginal) > 10


def test_whoever_waits_is_counted_by_age_and_nobody_else(played: Played, watch: Watch) -> None:
    now = played.store.head.at
    edges = [DAY, 2 * DAY, 5 * DAY, 10 * DAY]
    found = pending_panel(watch, played.store.counters.bins.open)
    assert found.upto == [edge // 1000 for edge in edges]
    assert found.older == 0
    for awaited, bins in ((found.proxy, "proxy_bin"), (found.outcome, "outcome_bin")):
        ages = [
            now - known.predicted_at
            for known in played.store.known.values()
            if known.predicted and getattr(known, bins) is Bin.NONE
        ]
        assert sum(awaited) == len(ages) > 0
        width = watch.predicted.width
        for place, edge in enumerate(edges):
            upto = sum(awaited[: place + 1])
            near = [sum(age <= edge + step for age in ages) for step in (-width, width)]
            assert near[0] <= upto <= near[1]


def test_what_is_known_after_a_while_is_the_share_of_those_old_enough(played: Played, watch: Watch) -> None:
    panel, now, width = known_panel(watch), played.store.head.at, watch.predicted.width
    at = {entry.seq: entry.at for entry in played.store.log}
    for line, name in ((panel.proxy, "proxy_seq"), (panel.outcome, "outcome_seq")):
        for after, share in zip(panel.after, line, strict=True):
            if share is None:
                continue
            old = [each for each in played.store.known.values() if 0 < each.predicted_at < now - after * 1000 - width]
            delays = [at[getattr(each, name)] - each.predicted_at for each in old if getattr(each, name)]
            last = after == panel.after[-1]
            within = sum(delay <= after * 1000 or last for delay in delays) / len(old)
            assert share == pytest.approx(within, abs=0.02)
    assert panel.proxy[-1] == pytest.approx(1.0, abs=0.001), "what did not come is known not to have"
    assert panel.outcome[-1] is not None
    assert panel.outcome[-1] < 0.97, "but here an outcome that does not come is never known"


def test_calibration_is_the_table_of_reliability_of_the_same_predictions(played: Played, watch: Watch) -> None:
    said = np.array([np.exp(np.frombuffer(body.log_probabilities, "<f4")) for *_, body in outcomes(played)])
    y = np.array([outcome_learnt(known, HORIZONS) for _, known, _ in outcomes(played)])
    for outcome, found in enumerate(reliability_panel(watch)):
        assert found is not None
        table = reliability(said[:, outcome], y == outcome)
        assert found.rows == table.rows.tolist()
        for ours, theirs in ((found.predicted, table.predicted), (found.observed, table.observed)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-3)
        np.testing.assert_allclose(found.low, table.low, atol=1e-3)


def test_pairs_of_proxy_and_outcome_are_those_that_were_learnt(played: Played, watch: Watch) -> None:
    pairs = Counter(
        (proxy_learnt(known, HORIZONS), outcome_learnt(known, HORIZONS))
        for known in played.store.known.values()
        if known.proxy_seq and known.outcome_seq
    )
    table = watch.predicted.stretches().sums[:, watch.columns.pairs].sum(axis=0).reshape(3, 2)
    assert {(z, y): table[z, y] for z in range(3) for y in range(2)} == dict(pairs)


@pytest.mark.long
def test_early_losses_are_right_before_outcomes_come_and_reconciled_with_the_same_predictions() -> None:
    events = happen(4000, seed=1, every=0.2, flaws=0.0)
    watch = watched(play(events))
    panel = early_panel(watch)
    assert panel.matured is not None
    rows, early, true, half = panel.matured
    assert rows > 2000
    assert early == pytest.approx(true, abs=1.5 * half)
    assert ": within chance" in panel.words
    assert panel.until is not None
    assert panel.until < panel.at[-1], "the last predictions have an expected loss and no true one"
    assert panel.true[-1] is None
    assert panel.early[-1] is not None
    drawn = [(one, other) for one, other in zip(panel.early, panel.true, strict=True) if other is not None]
    assert len(drawn) > 20
    assert cohort(watch, "early_rows") > cohort(watch, "true_rows") > 0


def test_losses_are_expected_of_those_whose_proxy_came_first_and_no_others(played: Played, watch: Watch) -> None:
    first = [
        known
        for known in played.store.known.values()
        if known.proxy_seq > watch.estimated and not 0 < known.outcome_seq <= known.proxy_seq
    ]
    assert cohort(watch, "early_rows") == len(first) > 0
    assert cohort(watch, "true_rows") == sum(known.outcome_seq > 0 for known in first) > 0
    assert any(0 < known.outcome_seq < known.proxy_seq for known in played.store.known.values())


@pytest.mark.long
def test_early_losses_are_wrong_when_g_has_changed_and_the_words_say_so() -> None:
    watch = watched(play(happen(2000, seed=2, turn=900, turned=REVERSED, flaws=0.0)))
    panel = early_panel(watch)
    assert panel.matured is not None
    _, early, true, half = panel.matured
    assert true > early + half
    assert ": more than chance" in panel.words


@pytest.mark.long
def test_an_expected_loss_does_not_depend_on_its_own_outcome_or_any_later_one() -> None:
    events = happen(1200, seed=3)
    cut = START + 10 * DAY
    other = [
        replace(event, body=FeedbackBody(1 - event.body.symbol))
        if event.kind == EntryKind.OUTCOME and event.at > cut and isinstance(event.body, FeedbackBody)
        else event
        for event in events
    ]

    def early(some: list[LogEvent]) -> Array:
        stretch = watched(play(some)).predicted.stretches()
        before = stretch.end <= cut - 2 * DAY  # the proxies of these came before all that differs
        return stretch.sums[before, COHORT.index("early")]

    assert early(events).sum() > 0
    np.testing.assert_array_equal(early(events), early(other))


def test_a_forecaster_without_experts_says_why_there_is_nothing_to_weigh_or_compare() -> None:
    subject = Subject(3, 2, HORIZONS)
    watch = watched(play(happen(800)), subject)
    assert "single forecaster" in weights_panel(watch, "residual-table").why
    panel = loss_panel(watch)
    assert panel.direct is None
    assert panel.recent is not None
    assert panel.recent.over_direct is None
    assert "no direct expert" in panel.why


def test_subjects_know_the_direct_experts_of_a_mixture() -> None:
    from presage import mixture, residual_table

    spaces = Spaces(5, 3, 2)
    subject = subject_of(mixture(spaces), HORIZONS)
    assert (subject.families, subject.direct, subject.experts) == (("direct", "factored", "residual"), (0,), 3)
    assert subject_of(residual_table(spaces), HORIZONS) == Subject(3, 2, HORIZONS)


def test_after_a_restart_the_end_of_the_log_is_looked_at_and_no_more(played: Played, watch: Watch) -> None:
    again = Watch(SUBJECT)
    add_recent_entries(again, played.store, 2000)
    assert again.start == played.store.head.seq - 2000
    assert again.seq == watch.seq
    ours, theirs = pending_panel(again, played.store.counters.bins.open), pending_panel(watch, 0)
    assert ours.proxy == theirs.proxy, "all that wait for a proxy are recent"
    table = again.predicted.stretches().sums
    for settled in ("proxy", "outcome"):
        assert (table[:, COHORT.index(settled)] <= table[:, COHORT.index("predictions")]).all()
    assert again.update_drift().state in (DriftState.UNKNOWN, DriftState.STABLE)
    ones = [outcome_learnt(known, HORIZONS) for entry, known, _ in outcomes(played) if entry.seq > again.start]
    begins = math.exp(-float(again.marginal.losses(np.array([0]), np.array([1]))[0]))
    assert begins == pytest.approx((sum(ones) + 1) / (len(ones) + 2)), "the marginal does not begin anew"
    entire = Watch(SUBJECT)
    add_recent_entries(entire, played.store)
    for mine, theirs_sums in zip(sums(entire), sums(watch), strict=True):
        np.testing.assert_allclose(mine, theirs_sums, atol=1e-8)
