"""A task file says what it means, and a wrong one what is wrong: the key, the value, the remedy."""

from pathlib import Path

import pytest

from presage.errors import DataError, InputError, SettingError
from presage.spaces import SetOf
from presage.task.columns import EventColumns, PredictionColumns
from presage.task.features import Category, hashed_symbol
from presage.task.signals import CountedEvents, First, Labelled
from presage.task.spans import in_words, span
from presage.task.task import Vocabulary, load_task, read_task

ROOT = Path(__file__).parents[2]
TASK = """
version = 1
name = "repository activity"
[instance]
age = { kind = "number", column = "days", centre = 100, scale = 50, missing = 0 }
language = { kind = "category", hashed = 64 }
repository = { kind = "category", identity = true }
tags = { kind = "set", slots = 3 }
commits = { kind = "count", edges = [1, 2.5, 8] }
open = { kind = "boolean" }
at = { kind = "timestamp", column = "shown_at", parts = ["hour", "month"] }
[proxy]
values = ["none", "one", "many"]
horizon = "7 days"
absent = "none"
[outcome]
values = [false, true]
horizon = "3 weeks"
[log]
id = "number"
until = 2024-01-31T12:00:00Z
[forecaster]
back_off = [["commits"], ["commits", "at.hour"]]
"""
EVENTS = """
version = 1
name = "resources"
[instance]
item = { kind = "category" }
[proxy.soon]
values = ["deleted", "zero", "one", "many"]
count = "engage"
within = "2 days"
edges = [1, 2]
unless = "delete"
[proxy.first]
values = ["deleted", "engaged", "nothing"]
first = ["delete", "engage"]
horizon = "36 hours"
absent = "nothing"
[outcome]
values = ["no", "yes"]
count = ["engage", "share"]
within = "7 days"
edges = [3]
[log]
subject = "user"
instance = "item"
moment = "acquire"
once = true
"""


def test_a_task_is_what_its_file_says() -> None:
    task = read_task(TASK)
    assert [feature.name for feature in task.instance] == [
        "repository", "age", "language", "tags", "commits", "open", "at",
    ]  # fmt: skip
    assert isinstance(task.instance[0], Category)
    assert task.instance[0].identity
    assert task.symbols == ("repository", "language", "commits", "open", "at.hour", "at.month")
    assert task.proxy().source == Labelled("proxy", "proxy_at")
    assert task.proxy("proxy").absent_symbol == 0
    assert task.outcome.values == ("false", "true")
    assert task.outcome.horizon.microseconds == 21 * 86_400_000_000
    assert task.outcome.absent_symbol is None
    assert task.log == PredictionColumns("shown_at", "number", None, 1_706_702_400_000_000)
    assert task.forecaster.kind == "mixture"
    assert task.forecaster.back_off == (("commits",), ("commits", "at.hour"))


def test_spaces_are_known_once_the_vocabularies_are() -> None:
    task = read_task(TASK)
    vocabularies = {"repository": Vocabulary(("a", "b", "c")), "tags": Vocabulary(("x", "y"), 2)}
    spaces = task.spaces(vocabularies)
    assert (spaces.proxies, spaces.outcomes) == (3, 2)
    assert spaces.features.symbols == (3, 64, 4, 2, 24, 12)
    assert spaces.features.sets == (SetOf(2, 3),)
    assert spaces.features.dense == 1


def test_signals_may_be_defined_on_events() -> None:
    task = read_task(EVENTS)
    soon, first = (proxy.source for proxy in task.proxies)
    assert isinstance(soon, CountedEvents)
    assert (soon.kinds, soon.edges, soon.unless) == (("engage",), (1, 2), ("delete",))
    assert isinstance(first, First)
    assert first.within.microseconds == 36 * 3_600_000_000
    assert task.proxy("first").absent == "nothing"
    assert task.outcome.horizon == span("", "7 days")
    assert isinstance(task.log, EventColumns)
    assert task.log.keys == ("user", "item")
    assert task.log.once
    with pytest.raises(SettingError, match="no such proxy: found 'second'; choose one of soon, first"):
        task.proxy("second")


def test_the_first_category_is_the_identity_unless_one_is_marked() -> None:
    text = TASK.replace(", identity = true", "")
    assert read_task(text).symbols[0] == "language"


def test_a_task_without_categories_has_no_identity() -> None:
    text = EVENTS.replace('item = { kind = "category" }', 'size = { kind = "number" }')
    assert read_task(text).symbols == ()


def test_features_that_belong_to_a_proxy_are_columns_of_its_spaces() -> None:
    task = read_task(TASK.replace("[proxy]", "[proxy]\nwith = ['at.month', 'commits']"))
    sizes = {"language": Vocabulary(()), "repository": Vocabulary(("a", "b")), "tags": Vocabulary(("x",))}
    spaces = task.spaces(sizes)
    assert [task.symbols[column] for column in spaces.proxy_with] == ["commits", "at.month"]
    assert read_task(TASK).spaces(sizes).proxy_with == ()


def test_each_candidate_has_its_own_features() -> None:
    signal = """values = ["no", "yes"]
horizon = "1 day"
"""
    first, second = f"[proxy.opened]\nwith = ['open']\n{signal}", f"[proxy.read]\n{signal}"
    head, tail = TASK.split("[proxy]")
    task = read_task(f"{head}{first}{second}[outcome]{tail.split('[outcome]')[1]}")
    assert [proxy.features for proxy in task.proxies] == [("open",), ()]
    broken = f"{head}{first}{second.replace('[proxy.read]', '[proxy.read]' + chr(10) + 'with = 3')}[outcome]"
    with pytest.raises(SettingError, match=r"proxy.read.with must be a list of words"):
        read_task(broken + tail.split("[outcome]")[1])


def test_a_proxy_may_not_make_too_many_symbols() -> None:
    """3 values with 64 languages and 24 hours are 4,608 symbols; whatever a log tells counts as what is declared."""
    task = read_task(TASK.replace("[proxy]", "[proxy]\nwith = ['language', 'at.hour']"))
    sizes = {"language": Vocabulary(()), "repository": Vocabulary(("a",)), "tags": Vocabulary(("x",))}
    assert task.spaces(sizes).proxy_with
    task = read_task(TASK.replace("[proxy]", "[proxy]\nwith = ['language']").replace("hashed = 64", "missing = 'none'"))
    most = tuple(map(str, range(3333)))
    assert task.spaces(sizes | {"language": Vocabulary(most)}).proxy_with
    words = r"proxy.with makes more than 10,000 symbols: found .3 x 3334 = 10,002.; leave out the feature"
    with pytest.raises(SettingError, match=words):
        task.spaces(sizes | {"language": Vocabulary((*most, "last"))})
    two = read_task(
        TASK.replace("[proxy]", "[proxy]\nwith = ['language']")
        .replace("hashed = 64", "missing = 'none'")
        .replace('["none", "one", "many"]', '["none", "many"]', 1)
    )
    assert two.spaces(sizes | {"language": Vocabulary(tuple(map(str, range(5000))))}).proxy_with  # 10,000 are allowed


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("version = 1", "", "version is missing"),
        ("version = 1", "version = 2", "version is unknown: found 2; write version = 1"),
        ("scale = 50", "min = 5, max = 5", "instance.age.max must be above min: found 5; give more than 5"),
        ("scale = 50", "max = nan", "instance.age.max must be a finite number: found nan"),
        ("scale = 50", "min = 5", "instance.age.missing is below 5: found 0; give a number within min and max"),
        ("scale = 50", 'outside = "clip"', "instance.age.outside says nothing without bounds: found 'clip'"),
        ("scale = 50", 'max = 9, outside = "no"', "instance.age.outside is unknown: found 'no'; choose refuse or clip"),
        ("name =", "names =", "names is not a key: found 'names'; did you mean name?"),
        ('name = "repository activity"', "name = 3", "name must be words: found 3"),
        ("[outcome]", "[outcomes]", "outcomes is not a key: found 'outcomes'; did you mean outcome?"),
        ("[forecaster]", "chain = []\n[forecaster]", "log.chain is not a key"),
        ("version = 1", 'version = 1\nchain = ["a"]', "chain is reserved: chains of proxies come later"),
        ("[outcome]", 'chain = ["a"]\n[outcome]', "proxy.chain is reserved"),
        ('kind = "number"', 'kind = "real"', "instance.age.kind is unknown: found 'real'; choose one of category"),
        ("scale = 50", "scale = 0", "instance.age.scale must be above 0: found 0"),
        ("centre = 100", "center = 100", "instance.age.center is not a key: found 'center'; did you mean centre?"),
        ("centre = 100", "centre = nan", "instance.age.centre must be a finite number"),
        ("hashed = 64", "hashed = 1", "instance.language.hashed must be a whole number of at least 2"),
        ("hashed = 64", 'hashed = 64, values = ["a"]', "instance.language.hashed contradicts values"),
        ("hashed = 64", "identity = true", "instance has more than one identity"),
        ("hashed = 64", 'values = ["a"], missing = "b"', "instance.language.missing is not among its values"),
        ("identity = true", "identity = 1", "instance.repository.identity must be true or false: found 1"),
        ("[1, 2.5, 8]", "[8, 1]", r"instance.commits.edges must rise: found \[8, 1\]"),
        ("[1, 2.5, 8]", "3", "instance.commits.edges must be a list of numbers: found 3"),
        ('["hour", "month"]', '["minute"]', "instance.at.parts names an unknown part"),
        ('["hour", "month"]', '["hour", "hour"]', "instance.at.parts names something twice"),
        ('["none", "one", "many"]', '["none"]', "proxy.values must be at least two"),
        ('["none", "one", "many"]', "[1.5]", "proxy.values must be a list of words"),
        ('absent = "none"', 'absent = "no"', "proxy.absent is not among its values: found 'no'"),
        ('horizon = "7 days"', "", "proxy.horizon is missing"),
        ('horizon = "7 days"', 'horizn = "7 days"', "proxy.horizn is not a key: found 'horizn'; did you mean horizon"),
        ('"7 days"', '"soon"', "proxy.horizon must be a span of time: found 'soon'; write a number and a unit"),
        ('"7 days"', '"0 days"', "proxy.horizon must be a span of time"),
        ('"7 days"', "7", "proxy.horizon must be a span of time: found 7"),
        ('id = "number"', 'moment = "x"', "log.moment is for logs of raw events"),
        ("2024-01-31T12:00:00Z", '"tomorrow"', "log.until must be a moment in UTC: found 'tomorrow'"),
        ("2024-01-31T12:00:00Z", '"2024-13-31"', "log.until must be a moment in UTC"),
        (
            "back_off = ",
            'kind = "magic"\nback_off = ',
            "forecaster.kind is unknown: found 'magic'; choose one of mixture",
        ),
        ('[["commits"],', '[["commit"],', r"forecaster.back_off\[0\] names no feature with symbols: found 'commit'"),
        ('[["commits"],', '["commits",', "forecaster.back_off must be a list of lists"),
        ('[["commits"],', '[["at.month"],', r"forecaster.back_off\[1\] must hold the features of the group before it"),
        (
            "[forecaster]",
            "[forecaster]\nsettings = { rate = 0.1 }",
            "forecaster.settings.rate is unknown: found 0.1; choose one of low, chain",
        ),
        ("[forecaster]", "[forecaster]\nsettings = 3", "forecaster.settings must be a table: found 3"),
        (
            "[forecaster]",
            "[forecaster]\nkind = 'mixtur'",
            "forecaster.kind is unknown: found 'mixtur'; did you mean mixture",
        ),
        ("[instance]", "[instance]\n'a.b' = { kind = 'number' }", "instance.a.b has a dot in its name"),
        ("[outcome]", "[proxy.fast]\nvalues = [1, 2]\n[outcome]", "proxy.values stands beside named candidates"),
        ("[proxy]", "[proxy]\nwith = ['commit']", "proxy.with names no feature with .*'commit'; did you mean commits"),
        ("[proxy]", "[proxy]\nwith = ['size']", "proxy.with names no feature with .*'size'; choose one of language"),
        ("[proxy]", "[proxy]\nwith = ['repository']", "proxy.with names what tells instances apart: .*leave it out"),
        ("[proxy]", "[proxy]\nwith = ['age']", 'proxy.with names a number, .*give it edges: age = { kind = "count"'),
        ("[proxy]", "[proxy]\nwith = ['tags']", "proxy.with names a set, .*name a category"),
        ("[proxy]", "[proxy]\nwith = ['at']", "proxy.with names a timestamp: found 'at'; name a part .*at.hour"),
        ("[proxy]", "[proxy]\nwith = []", "proxy.with must be a list of words"),
        ("[proxy]", "[proxy]\nwith = ['open', 'open']", "proxy.with names something twice"),
        ("[outcome]", "[outcome]\nwith = ['open']", "outcome.with is not a key"),
        ("= 100", "= = 100", "the task is not TOML: found .*line"),
    ],
)
def test_a_wrong_task_is_refused_with_key_value_and_remedy(old: str, new: str, words: str) -> None:
    assert old in TASK
    with pytest.raises(InputError, match=words) as refused:
        read_task(TASK.replace(old, new, 1))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("edges = [1, 2]", "edges = [1]", "proxy.soon.values must be 3: .*1 edges make 2, and the first is for unless"),
        ("edges = [1, 2]", 'absent = "one"\nedges = [1, 2]', "proxy.soon.absent contradicts the count: found 'one'"),
        ("edges = [1, 2]", "", "proxy.soon.edges is missing"),
        ('within = "2 days"', "", "proxy.soon.within is missing"),
        ('within = "2 days"', 'within = "2 days"\nhorizon = "3 days"', "proxy.soon.within differs from its horizon"),
        ('first = ["delete", "engage"]', 'first = ["delete"]', "proxy.first.values must be one for each of delete"),
        ('horizon = "36 hours"', 'count = "x"\nhorizon = "1 day"', "proxy.first.first contradicts count"),
        ('absent = "nothing"', "", "proxy.first.values must be one for each"),
        ('moment = "acquire"', "", "log must say what makes a moment of prediction"),
        ('moment = "acquire"', 'moment = "acquire"\nmoments = "m.csv"', "log must say what makes a moment"),
        ('subject = "user"\ninstance = "item"', "", "log must say which events belong to a prediction"),
        ('subject = "user"', 'every = "a"\nkind = "k"\nsubject = "user"', "log.every contradicts kind"),
        (
            'count = ["engage", "share"]\nwithin = "7 days"\nedges = [3]',
            'horizon = "1 day"',
            "some signals are columns",
        ),
        ("once = true", 'once = "yes"', "log.once must be true or false"),
        ("once = true", "onc = true", "log.onc is not a key: found 'onc'; did you mean once"),
        ("[proxy.soon]", "[proxy.outcome]", "proxy.outcome is no name for a candidate"),
    ],
)
def test_a_wrong_definition_on_events_is_refused(old: str, new: str, words: str) -> None:
    assert old in EVENTS
    with pytest.raises(SettingError, match=words):
        read_task(EVENTS.replace(old, new, 1))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the task file cannot be read"):
        load_task(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes("name = 'é'".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        load_task(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1 day", 86_400), ("90 days", 7_776_000), ("0.5 hours", 1800), ("30 seconds", 30), (" 2weeks ", 1_209_600)],
)
def test_spans_are_read_in_words(text: str, seconds: int) -> None:
    assert span("horizon", text).microseconds == seconds * 1_000_000


def test_spans_are_told_in_words() -> None:
    assert [in_words(s * 1_000_000) for s in (1, 90, 86_400, 200_000_000)] == [
        "1 second", "1.5 minutes", "1 day", "2314.8 days",
    ]  # fmt: skip


def test_hashed_symbols_never_change() -> None:
    assert [hashed_symbol(value, 1000) for value in ("abc", "", "é")] == [838, 193, 38]


def test_the_example_task_loads() -> None:
    task = load_task(ROOT / "examples" / "oulad.toml")
    assert task.symbols == ("resource", "activity", "module")
    assert task.forecaster.back_off == (("activity",), ("activity", "module"))
