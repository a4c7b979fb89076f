"""Honest logs raise no warning: real ones, with every feature they have."""

import pytest

from presage.logs.rows import read_log
from presage.task.task import read_task
from tests.logs.places import real_data

WITHIN = 'values = {}\nhorizon = "{}"\n'
STAYS = '["pending", "arrived", "canceled", "no_show"]'
VERSIONS = '["zero", "one", "many"]'
USES = '["deleted", "zero", "one", "many"]'
FEATURES = {
    "logs/hotel": 'f_lead_days = { kind = "number" }\nf_deposit = { kind = "category" }\n'
    'f_customer = { kind = "category" }\nf_prev_cancel = { kind = "count", edges = [1, 2] }\n'
    'f_repeat = { kind = "category" }\nf_nights = { kind = "number" }\n',
    "logs/julia": 'f_age_days = { kind = "number" }\nf_prev30 = { kind = "count", edges = [1, 2, 4] }\n'
    'f_bump = { kind = "category" }\nf_pre1 = { kind = "boolean" }\n',
    "logs/flights": 'f_hour = { kind = "category" }\nf_month = { kind = "category" }\n'
    'f_carrier = { kind = "category" }\n',
    "oulad/resources_21d": 'f_activity = { kind = "category" }\nf_module = { kind = "category" }\n'
    'f_week = { kind = "number" }\nsubject = { kind = "category", hashed = 65536 }\n',
}
SIGNALS = {
    "logs/hotel": (WITHIN.format(STAYS, "15 days"), WITHIN.format(STAYS, "61 days")),
    "logs/julia": (WITHIN.format(VERSIONS, "7 days"), WITHIN.format(VERSIONS, "21 days")),
    "logs/flights": (
        WITHIN.format('["on_time", "early", "slight", "late", "very_late", "cancelled"]', "48 hours"),
        WITHIN.format('["on_time", "late", "cancelled"]', "60 hours"),
    ),
    "oulad/resources_21d": (WITHIN.format(USES, "4 days"), WITHIN.format(USES, "22 days")),
}


@pytest.mark.long
@pytest.mark.parametrize("name", FEATURES)
def test_an_honest_log_raises_no_warning(name: str) -> None:
    folder, _, file = name.partition("/")
    proxy, outcome = SIGNALS[name]
    instance = f'[instance]\nitem = {{ kind = "category", column = "instance" }}\n{FEATURES[name]}'
    task = read_task(f'version = 1\nname = "real"\n{instance}[proxy]\n{proxy}[outcome]\n{outcome}')
    rows, _ = read_log(task, real_data(folder) / f"{file}.parquet")
    assert rows.warnings == ()
