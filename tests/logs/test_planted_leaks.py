"""Leaks planted in a log are refused or warned of, as far as they can be seen."""

import pytest

from presage.errors import SettingError
from tests.logs.given import task_of

IDENTITY = 'item = { kind = "category" }'


@pytest.mark.parametrize(
    ("feature", "key"),
    [
        ('item = { kind = "category", column = "outcome" }', "outcome.column"),
        (f'{IDENTITY}\nwhen = {{ kind = "timestamp", column = "outcome_at", parts = ["day"] }}', "outcome.known_at"),
        (f'{IDENTITY}\nproxy = {{ kind = "category" }}', "proxy.column"),
        (f'{IDENTITY}\nsince = {{ kind = "number", column = "proxy_at" }}', "proxy.known_at"),
    ],
)
def test_a_feature_that_is_a_signal_or_its_moment_is_refused_with_the_task(feature: str, key: str) -> None:
    with pytest.raises(SettingError, match=f"reads {key}, not known at the prediction: found '.*'; leave this"):
        task_of(feature)


def test_a_feature_that_is_a_named_proxy_is_refused_by_the_name_of_its_table() -> None:
    proxy = '[proxy.click]\nvalues = ["no", "yes"]\nhorizon = "2 days"\ncolumn = "clicked"'
    with pytest.raises(SettingError, match=r"instance\.c reads proxy\.click\.column"):
        task_of(f'{IDENTITY}\nc = {{ kind = "boolean", column = "clicked" }}', proxy=proxy)


def test_the_hour_of_the_prediction_is_a_feature_though_a_proxy_is_known_then() -> None:
    hour = 'hour = { kind = "timestamp", column = "shown_at", parts = ["hour"] }'
    proxy = 'values = ["none", "some"]\nhorizon = "2 days"\nknown_at = "shown_at"'
    assert task_of(f"{IDENTITY}\n{hour}", proxy=proxy).symbols == ("item", "hour.hour")
