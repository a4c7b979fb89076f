"""What rivals say: by two roads where there are two, and one line of error for what cannot be right."""

import math
from typing import Any

import numpy as np
import pytest

from presage.errors import DataError, SettingError
from presage.progress import Step
from presage.rivals import Rival, RivalLog, lightgbm, online, retrained, river, vw
from presage.rivals.feature_matrix import MOST_OF_A_SET, feature_matrix
from presage.rivals.known_rates import known_rates
from presage.rivals.named_rivals import RIVALS, chosen_rivals
from presage.rivals.online_learners import BINS, BINS_EACH, FARTHEST, LEARNING_RATE, number_terms
from presage.rivals.rival import FLOOR, outcome_signal, play_rival, proxy_signal, running_marginal
from presage.spaces import Features, SetOf, Spaces
from tests.problems import KINDS, MIXED
from tests.rivals.logs import learnable_log, one_column, rival_log

for module in ("lightgbm", "river", "sklearn", "vowpalwabbit"):
    pytest.importorskip(module, reason="the rivals extra is not installed")

from sklearn.dummy import DummyClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402


def no_step(_: int) -> None:
    """Progress that is not shown."""


def probabilities(rival: Rival, log: RivalLog) -> Any:
    return np.exp(play_rival(rival, log, no_step).astype(np.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_rates_are_those_of_a_plain_loop(kind: str) -> None:
    log = rival_log(kind)
    items, one = log.episode.x.symbols[:, 0], log.episode
    for signal, symbols, seen in (
        (outcome_signal(log), one.y, one.outcome_seen),
        (proxy_signal(log), one.z, one.proxy_seen),
    ):
        found, marginal = known_rates(items, 9, signal, strength=3.0), running_marginal(signal)
        for row in range(0, log.rows, 7):
            known = [each for each in range(log.rows) if seen[each] != -1 and seen[each] < row]
            whole = np.bincount(symbols[known], minlength=signal.size) + 1
            own = [each for each in known if items[each] == items[row]]
            counts = np.bincount(symbols[own], minlength=signal.size)
            assert marginal[row] == pytest.approx(whole / whole.sum())
            assert found[row, :-1] == pytest.approx((counts + 3 * whole / whole.sum()) / (len(own) + 3), rel=1e-5)
            assert found[row, -1] == pytest.approx(math.log1p(len(own)))


def test_the_matrix_has_a_column_for_what_each_feature_tells() -> None:
    log = rival_log("at once", rows=60)
    symbols, dense = log.episode.x
    matrix = feature_matrix(log, outcome_signal(log), one_hot=True, first=20)
    assert matrix.categories == ()
    assert matrix.values.shape == (60, (4 + 1) + 9 + 4 + 3 + 6 + 3)  # rates and a count, categories, a set, numbers
    for row in range(60):
        held = [int(value) in symbols[row, 3:] for value in range(6)]
        picked = [np.eye(size)[symbols[row, place]] for place, size in enumerate((9, 4, 3))]
        assert matrix.values[row, 5:].tolist() == np.concatenate([*picked, held, dense[row]]).astype("f4").tolist()
    plain = feature_matrix(log, outcome_signal(log), one_hot=False, first=20)
    assert plain.categories == (5, 7)  # what has an order is a number
    assert (plain.values[:, 5:8] == symbols[:, :3]).all()


def test_large_categories_have_rates_and_large_sets_their_frequent_values() -> None:
    spaces = Spaces(Features(symbols=(9, 500), sets=(SetOf(300, 4),)), proxies=2, outcomes=2)
    log = rival_log("at once", spaces, 200)
    matrix = feature_matrix(log, outcome_signal(log), one_hot=True, first=100).values
    assert matrix.shape[1] == 3 + 9 + 3 + MOST_OF_A_SET
    counts = np.bincount(log.episode.x.symbols[:100, 2:].ravel() + 1, minlength=301)[1:]
    assert matrix[:100, 15:].sum() >= np.sort(counts)[-MOST_OF_A_SET:].sum() - 20  # a value may come twice in one set


def test_numbers_are_told_by_size_and_by_the_rows_before() -> None:
    draw = np.random.default_rng(4)
    dense = np.hstack([draw.normal(size=(200, 1)) * 5, 3e6 + 900 * draw.random((200, 1)), np.full((200, 1), 7.0)])
    dense[::9, 0] = 0
    bins, standard = number_terms(dense)
    for row in range(0, 200, 7):
        for place, value in enumerate(dense[row]):
            past = dense[: row + 1, place]
            scaled = (value - past.mean()) / past.std() if row and place < 2 else 0.0
            assert standard[row, place] == pytest.approx(np.clip(scaled, -FARTHEST, FARTHEST), abs=1e-6)
            for resolution, each in enumerate(BINS_EACH):
                step = 1 + math.floor(each * math.log2(abs(value) or 1)) + 20 * each + 60 * each * (value < 0)
                assert bins[row, 3 * resolution + place] == (step if value else 0)
    changed = dense.copy()
    changed[100:] *= -50
    assert all(
        (one[:100] == other[:100]).all() for one, other in zip(number_terms(changed), (bins, standard), strict=True)
    )
    ends = number_terms(np.array([[3e38], [1e-38], [-3e38], [-1e-38]])).bins
    assert ends.tolist() == [[60, 240], [1, 1], [120, 480], [61, 241]]
    assert [int(ends[:, place].max()) + 1 for place in range(2)] == list(BINS)


def test_river_is_the_softmax_regression_it_is_said_to_be() -> None:
    log = rival_log("fixed", rows=150)
    symbols, dense = log.episode.x
    bins, standard = number_terms(dense)
    x = np.hstack([*(np.eye(size)[symbols[:, place]] for place, size in enumerate((9, 4, 3))), standard])
    x = np.hstack([x, *(np.eye(max(BINS))[bins[:, place]] for place in range(6))])
    x = np.hstack([x, [[value in row for value in range(6)] for row in symbols[:, 3:]]])
    weights, squares, expected = np.zeros((4, x.shape[1])), np.zeros((4, x.shape[1])), []

    def softmax(row: int, classes: Any) -> Any:  # over the classes seen so far
        powers = np.zeros(4)
        powers[classes] = np.exp(weights[classes] @ x[row])
        return powers / powers.sum()

    for row in range(log.rows):
        if row <= 40:
            expected.append(np.full(4, 0.25))
            continue
        learnt = row - 41
        share = softmax(learnt, np.unique(log.episode.y[:learnt])) if learnt else np.zeros(4)
        gradient = np.outer(share - np.eye(4)[log.episode.y[learnt]], x[learnt])
        squares += gradient**2
        weights -= LEARNING_RATE * gradient / np.sqrt(squares + 1e-8)
        expected.append(softmax(row, np.unique(log.episode.y[: learnt + 1])))
    assert probabilities(river(), log) == pytest.approx((1 - FLOOR) * np.array(expected) + FLOOR / 4, abs=1e-5)


def test_vowpal_wabbit_is_what_its_own_lines_with_words_give() -> None:
    from vowpalwabbit import Workspace

    log = rival_log("fixed", Spaces(Features(symbols=(9, 4), dense=2), proxies=2, outcomes=3), rows=300)
    model = Workspace("--oaa 3 --probabilities --quiet --loss_function logistic -b 24")
    lines = [f"| item_{item} kind_{kind}" for item, kind in log.episode.x.symbols.tolist()]
    for row, (bins, (one, two)) in enumerate(zip(*number_terms(log.episode.x.dense), strict=True)):
        named = " ".join(f"{name}_{value}" for name, value in zip("abcd", bins, strict=True))
        lines[row] += f" {named} one:{one:.9g} two:{two:.9g}"
    expected, learnt = [], 0
    for row in range(log.rows):
        while learnt + 40 < row:
            model.learn(f"{log.episode.y[learnt] + 1} {lines[learnt]}")
            learnt += 1
        expected.append(model.predict(lines[row]))
    model.finish()
    assert probabilities(vw(), log) == pytest.approx((1 - FLOOR) * np.array(expected) + FLOOR / 3, abs=1e-5)


def test_a_factored_rival_sums_over_proxies() -> None:
    log = learnable_log(600)
    model = retrained(DummyClassifier(), times=1, factored=True, name="dummy")
    said, one = probabilities(model, log), log.episode
    z_known, y_known = one.proxy_seen < 599, one.outcome_seen < 599
    h = np.bincount(one.z[z_known], minlength=4) / z_known.sum()
    g = np.bincount(one.y[y_known], minlength=4) / y_known.sum()  # a dummy does not look at z
    assert h.sum() == pytest.approx(1)
    assert said[-1] == pytest.approx(g, abs=0.15)
    direct = probabilities(retrained(GaussianNB(), times=1, factored=True), log)
    assert direct.sum(axis=1) == pytest.approx(1, abs=1e-6)


def test_factored_rivals_mix_what_follows_each_proxy() -> None:
    log = one_column([0, 1] * 100, [0, 1] * 100, list(range(200)), list(range(200)))

    class Sure:
        """Says half and half of z, and of y what z is: the last of its columns."""

        def fit(self, values: Any, classes: Any) -> None:
            self.classes_, self.width = np.unique(classes), values.shape[1]

        def predict_proba(self, values: Any) -> Any:
            of_y = values.shape[1] == 3 + 1 + 1 + 2
            share = 0.2 + 0.6 * values[:, -1] if of_y else np.full(len(values), 0.75)
            return np.stack([1 - share, share], axis=1)

    said = probabilities(retrained(Sure(), factored=True, times=2), log)
    assert said[-1, 1] == pytest.approx((1 - FLOOR) * (0.25 * 0.2 + 0.75 * 0.8) + FLOOR / 2, abs=1e-6)


@pytest.mark.parametrize("make", [lightgbm, lambda **_: retrained(LogisticRegression()), vw, river])
def test_a_class_never_seen_and_one_class_alone_cost_no_infinite_loss(make: Any) -> None:
    log = rival_log("fixed")
    for y in (np.full(400, 2), np.where(np.arange(400) % 2, 1, 2)):
        part = log._replace(episode=type(log.episode)(log.episode.x, log.episode.z, y, *seen(log)))
        said = probabilities(make(), part)
        assert (said >= 0.999 * FLOOR / 4).all()
        assert said[-1, [1, 2]].sum() > 0.9


def seen(log: RivalLog) -> tuple[Any, Any]:
    return log.episode.proxy_seen, log.episode.outcome_seen


def test_too_few_outcomes_leave_the_running_marginal() -> None:
    log = rival_log("fixed", rows=80)
    expected = (1 - FLOOR) * running_marginal(outcome_signal(log)) + FLOOR / 4
    for factored in (False, True):
        assert probabilities(lightgbm(factored=factored), log) == pytest.approx(expected, rel=1e-5)


def test_models_without_a_seed_say_the_same_twice() -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3))
    rival, log = retrained(model, times=2, name="forest"), rival_log("fixed")
    assert (probabilities(rival, log) == probabilities(rival, log)).all()
    other = probabilities(rival, log._replace(seed=1))
    assert (other != probabilities(rival, log)).any()
    assert model[-1].random_state is None


@pytest.mark.parametrize(
    ("wanted", "wrong"),
    [
        ("lightgbn", "no rival has this name: found 'lightgbn'; did you mean lightgbm?"),
        ("vw,mine", f"no rival has this name: found 'mine'; choose one of {', '.join(RIVALS)}"),
        (["vw", "vw"], "two forecasters or rivals have one name: found 'vw'"),
        ([Rival("mixture", lambda log, step: None)], "have one name: found 'mixture'"),
        ([GaussianNB()], "this is no rival: found 'GaussianNB'; give a name, or what presage.rivals.retrained"),
        (GaussianNB(), "this is no rival: found 'GaussianNB'"),
        ([3], "this is no rival: found 'int'"),
    ],
)
def test_what_is_no_rival_is_refused_in_one_line(wanted: Any, wrong: str) -> None:
    with pytest.raises(SettingError) as caught:
        chosen_rivals(wanted)
    assert wrong in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rivals_are_chosen_by_name_or_made() -> None:
    mine = retrained(GaussianNB(), name="mine")
    assert [rival.name for rival in chosen_rivals("vw, river")] == ["vw", "river"]
    assert [rival.name for rival in chosen_rivals(["vw", mine])] == ["vw", "mine"]
    assert chosen_rivals(mine) == (mine,)
    assert chosen_rivals(None) == ()
    assert [rival.name for rival in chosen_rivals(list(RIVALS))] == list(RIVALS)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: retrained(object()), "must give probabilities: found 'object'.*lacks fit"),
        (lambda: retrained(LinearSVC()), "must give probabilities: found 'LinearSVC'.*lacks predict_proba"),
        (lambda: online(GaussianNB()), "must give probabilities: found 'GaussianNB'.*lacks learn_one"),
        (lambda: retrained(GaussianNB(), every="often"), "every must be a span of time"),
        (lambda: lightgbm(times=0), "times must be a whole number"),
        (lambda: vw(name="a,b"), "a rival needs a name without commas"),
        (lambda: probabilities(retrained(GaussianNB(), every="5 rows"), rival_log()), "every must be a span of time"),
    ],
)
def test_settings_that_cannot_be_right_are_refused(make: Any, wrong: str) -> None:
    with pytest.raises(SettingError, match=wrong):
        make()


class LinearSVC:
    """A classifier without probabilities."""

    def fit(self, values: Any, classes: Any) -> None:
        """Learn."""


def gives(said: Any) -> Rival:
    return Rival("mine", lambda log, step: said)


def raises(log: RivalLog, step: Step) -> Any:
    raise ValueError("it broke\nin two lines")


@pytest.mark.parametrize(
    ("rival", "wrong"),
    [
        (
            gives(np.ones((400, 3))),
            r"the rival mine gave an array of the wrong shape, not \(400, 4\): found \(400, 3\)",
        ),
        (gives(np.full((400, 4), np.nan)), "the rival mine gave something that is no probability: found nan"),
        (gives(np.full((400, 4), -1.0)), "the rival mine gave something that is no probability: found -1.0"),
        (Rival("mine", raises), "the rival mine failed: found 'ValueError: it broke in two lines'"),
        (vw(arguments="--nonsense", name="mine"), "the rival mine failed: found .*nonsense"),
        (lightgbm(name="mine", num_leaves=-3), "the rival mine failed: found 'LightGBMError: "),
    ],
)
def test_a_rival_that_fails_is_named_in_one_line(rival: Rival, wrong: str) -> None:
    with pytest.raises(DataError, match=wrong) as caught:
        probabilities(rival, rival_log())
    assert "\n" not in str(caught.value)


def test_rows_of_zeros_are_even() -> None:
    assert probabilities(gives(np.zeros((400, 4))), rival_log()) == pytest.approx(0.25)


def test_a_log_in_rows_is_retrained_every_so_many() -> None:
    log = rival_log()._replace(in_rows=True, shown_at=np.arange(400) * 1_000_000)
    assert probabilities(retrained(GaussianNB(), every="50 rows"), log).shape == (400, 4)
    with pytest.raises(SettingError, match="every must be a span of rows, as the log has no times"):
        probabilities(retrained(GaussianNB(), every="7 days"), log)


def test_one_proxy_value_alone_is_no_trouble() -> None:
    log = rival_log("fixed", Spaces(MIXED.features, 1, 3), rows=200)
    for rival in (vw(factored=True), river(factored=True), lightgbm(factored=True)):
        assert np.isfinite(probabilities(rival, log)).all()
