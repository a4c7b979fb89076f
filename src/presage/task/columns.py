"""The [log] table of a task file: which column is what, and what makes a moment of prediction among raw events."""

import re
from dataclasses import dataclass, replace

import numpy as np

from presage.errors import SettingError
from presage.task.section import TaskSection

UNITS_SINCE_1970 = {"seconds": 1_000_000, "milliseconds": 1000, "microseconds": 1, "nanoseconds": -1000}
"""Microseconds in each of what a number of may tell a time; where negative, how many make a microsecond."""


@dataclass(frozen=True)
class PredictionColumns:
    """A log with one row per prediction."""

    shown_at: str | None  # None: there are no times, and the order of the rows is the order of time
    id: str | None
    group: str | None
    until: int | None  # microseconds since 1970 UTC: the log is complete until then (None: until its last moment)
    model: str | None = None  # of a log that a service exported: up to which position the model of a row had learnt
    where: str | None = None  # SQL: which rows of the log are meant
    time_format: tuple[str, ...] = ()  # as for strptime, or a unit since 1970; none: ISO, or seconds since 1970
    time_zone: str | None = None  # of times written without one (None: UTC)


@dataclass(frozen=True)
class EventColumns:
    """A log of raw events. A prediction is made at each event of the kinds `moment`, or at each row of `moments`."""

    at: str
    kind: str | None  # None: every event is of the kind `every`
    every: str | None
    subject: str | None
    instance: str | None
    moment: tuple[str, ...]
    moments: str | None  # a second log, beside the task file unless its path is absolute
    once: bool  # only the first moment of each subject and instance counts
    shown_at: str
    id: str | None
    group: str | None
    until: int | None
    model: str | None = None
    where: str | None = None
    time_format: tuple[str, ...] = ()
    time_zone: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns in which an event and the prediction it tells about agree."""
        return tuple(column for column in (self.subject, self.instance) if column is not None)


def is_in_rows(section: TaskSection) -> bool:
    """Whether the log has no times, and its horizons are numbers of rows."""
    if section.has("order") and section.table["order"] != "rows":
        raise section.refuse("order", 'must be "rows"', "leave it out if the log has times")
    return "order" in section.table


def read_columns(section: TaskSection, events: bool) -> PredictionColumns | EventColumns:
    """The columns of a log of predictions or, where signals are defined on them, of events."""
    columns = _events(section) if events else _predictions(section)
    where, zone = section.text_or_none("where"), section.text_or_none("time_zone")
    columns = replace(columns, where=where, time_zone=zone, time_format=_time_format(section))
    section.finish()
    return columns


def _predictions(section: TaskSection) -> PredictionColumns:
    for key in ("kind", "at", "every", "moment", "moments", "subject", "instance", "once"):
        if section.has(key):
            remedy = "leave it out, or define proxy and outcome by count or first"
            raise section.refuse(key, "is for logs of raw events", remedy)
    rows = is_in_rows(section)
    for key in ("shown_at", "until"):
        if rows and section.has(key):
            raise section.refuse(key, 'contradicts order = "rows"', "leave it out: such a log has no times")
    shown_at = None if rows else section.text("shown_at", "shown_at")
    return PredictionColumns(shown_at, section.text_or_none("id"), section.text_or_none("group"), _until(section))


def _events(section: TaskSection) -> EventColumns:
    every = section.text_or_none("every")
    kind = section.text("kind", "kind")
    if every and "kind" in section.table:
        raise section.refuse("every", "contradicts kind", "leave one of the two out")
    moment = section.texts("moment") if section.has("moment") else ()
    moments = section.text_or_none("moments")
    if bool(moment) == bool(moments):
        remedy = 'give moment = ["KIND"] (events that are predictions) or moments = "FILE" (a log of them)'
        found = {"moment": list(moment), "moments": moments}
        raise SettingError("log must say what makes a moment of prediction", found, remedy)
    subject, instance = section.text_or_none("subject"), section.text_or_none("instance")
    if subject is None and instance is None:
        remedy = 'give subject = "COLUMN", instance = "COLUMN" or both'
        raise SettingError("log must say which events belong to a prediction", list(section.table), remedy)
    at = section.text("at", "at")
    return EventColumns(
        at, None if every else kind, every, subject, instance, moment, moments, section.flag("once", False),
        section.text("shown_at", "shown_at" if moments else at), section.text_or_none("id"),
        section.text_or_none("group"), _until(section),
    )  # fmt: skip


def _time_format(section: TaskSection) -> tuple[str, ...]:
    """The formats of times; refused if one is none of strptime's, or tells no year."""
    remedy = f'give it as for strptime, such as "%d.%m.%Y %H:%M", or one of {", ".join(UNITS_SINCE_1970)}'
    formats = section.texts("time_format") if section.has("time_format") else ()
    for each in formats:
        codes = re.findall(r"%(-?.)", each, re.DOTALL)
        unknown = [code for code in codes if code not in CODES] or each.replace("%%", "").endswith("%")
        if each not in UNITS_SINCE_1970 and (unknown or not {"Y", "y", "G", "c", "x"} & set(codes)):
            raise section.refuse("time_format", "must be how times are written, with their year", remedy)
    return formats


CODES = (*"aAwudbBmyYGVHIpMSgfnzZjUWcxX%", *(f"-{code}" for code in "dmyHIMSj"))
"""What may follow a % in a format of times."""


def _until(section: TaskSection) -> int | None:
    if not section.has("until"):
        return None
    value = section.table["until"]
    text = str(getattr(value, "isoformat", lambda: value)())
    parts = re.fullmatch(r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?)(?:Z|\+00:00)?", text)
    try:
        return int(np.datetime64(parts[1] if parts else "", "us").astype(np.int64)) if parts else _no_moment(section)
    except ValueError:
        return _no_moment(section)


def _no_moment(section: TaskSection) -> int:
    raise section.refuse("until", "must be a moment in UTC", "give it like 2024-01-31 or 2024-01-31T12:00:00Z")
