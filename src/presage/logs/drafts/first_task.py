"""A first task file for a log, guessed from its columns and full of comments: to be read, corrected and checked."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from presage.errors import PresageError
from presage.logs.drafts.column_looks import ColumnLook, LogLook, looked_at, written_words
from presage.logs.drafts.event_drafts import EventGuesses, guessed_events, kind_column
from presage.logs.drafts.feature_drafts import (
    coarser_categories,
    feature_keys,
    feature_lines,
    feature_text,
    plain_key,
    quoted_text,
    row_identifier,
)
from presage.logs.drafts.horizon_guesses import horizon_words
from presage.logs.drafts.row_ages import settles_after
from presage.logs.drafts.signal_guesses import (
    STATES,
    Guesses,
    SignalGuess,
    guessed_signals,
)
from presage.logs.guards.leak_guards import AFTER, LogWarning
from presage.logs.rows import read_log
from presage.logs.tables import quoted, sql_text
from presage.task.task import read_task

NO_ID = '# id = "COLUMN"  # then rows that come twice are noticed'

UNKNOWN = {"proxy": "COLUMN OF THE EARLY SIGN", "outcome": "COLUMN OF THE OUTCOME"}

READ = 200_000
"""Rows that are read once more to see whether a feature gives the outcome away."""


def first_task(log: Any) -> str:
    """The text of a task file that fits the log as far as its columns tell.

    It offers no feature that a reading of the log would warn of: those stand there as comments, with the reason.
    """
    with looked_at(log) as look:
        kind, found = kind_column(look), guessed_signals(look)
        if kind and (found.outcome is None or found.outcome.name == kind.name):
            return _events_without_leaks(look, kind, log)
        return "\n".join(_predictions(look, found))


def _predictions(look: LogLook, found: Guesses) -> list[str]:
    signals = [one for one in (*found.proxies, *found.later, found.outcome) if one]
    used = {found.shown_at, *(column for one in signals for column in one.columns)}
    identifier = row_identifier(look, used)
    free = [one for one in look.columns.values() if one.name not in {*used, identifier}]
    refused, doubts = _refused(look, found, free)
    span = _span(look, found, signals)
    lines = [
        *_head(look, (*found.doubts, *doubts)),
        "[instance]  # features of what is predicted, as they were known then",
    ]
    lines += [*feature_lines(look, free, refused), ""]
    for guess in found.proxies:
        table = "proxy" if len(found.proxies) == 1 else f"proxy.{_table(guess.name)}"
        lines += _signal(look, table, guess, span, found.shown_at)
    if not found.proxies:
        lines += _unknown_signal("proxy", found.shown_at)
    for guess in found.later:
        lines += [f"# [proxy.{_table(guess.name)}]  # it comes later than the outcome: no early sign", ""]
    outcome = found.outcome
    lines += (
        _signal(look, "outcome", outcome, span, found.shown_at)
        if outcome
        else _unknown_signal("outcome", found.shown_at)
    )
    lines += ["[log]", *_log(look, found, signals)]
    lines += [f"id = {quoted_text(identifier)}"] if identifier else [NO_ID]
    lines += ['# group = "COLUMN"  # predictions that compete with each other, for ranking', ""]
    return [*lines, *_forecaster(look, [one for one in free if one.name not in refused])]


def _head(look: LogLook, doubts: Sequence[str]) -> list[str]:
    """The first lines; above them what to check, where names and delays leave a doubt."""
    if look.rows < look.total:
        doubts = (*doubts, f"the values: {look.rows:,} of {look.total:,} rows were looked at")
    told = ["# Check first:", *(f"# - {doubt}" for doubt in doubts), ""] if doubts else []
    return [*told, "version = 1", f"name = {quoted_text(look.name)}  # what is predicted, in a few words", ""]


def _log(look: LogLook, found: Guesses, signals: Sequence[SignalGuess]) -> list[str]:
    """The lines of [log] that say which times there are and how they are written."""
    if found.shown_at is None:
        return ['order = "rows"  # no column holds times: the order of the rows is taken for the order of time']
    lines = [f"shown_at = {quoted_text(found.shown_at)}  # the moment of the prediction"]
    times = [found.shown_at, *(c for one in signals for c in one.columns if look.columns[c].moment)]
    written = list(dict.fromkeys(look.columns[name].written for name in times if look.columns[name].written))
    if len(written) == 1:
        lines.append(f"time_format = {quoted_text(written[0])}  # how times are written")
    elif written:
        lines.append(f"time_format = {json.dumps(written)}  # how times are written")
    return lines


def _span(look: LogLook, found: Guesses, signals: Sequence[SignalGuess]) -> int:
    """How long the log is, in microseconds."""
    if found.shown_at is None:
        return 0
    shown = look.columns[found.shown_at].moment
    times = [look.columns[c].moment for one in signals for c in one.columns if look.columns[c].moment]
    latest = ", ".join(f"max({time})" for time in (shown, *times))
    first, last = look.ask(f"SELECT min({shown}), greatest({latest}) FROM rows")
    return int(last - first)


def _events_without_leaks(look: LogLook, kind: ColumnLook, log: Any) -> str:
    """The text for a log of events, in which the features that reading it warns of are comments."""
    found = guessed_events(look, kind)
    text = "\n".join(_events(look, found, {}))
    try:
        warnings = read_log(read_task(text), log)[0].warnings
    except PresageError:
        return text  # check says what does not fit
    refused = {one.column: _reason(one, look.columns[one.column]) for one in warnings if one.column in look.columns}
    return "\n".join(_events(look, found, refused)) if refused else text


def _events(look: LogLook, found: EventGuesses, refused: dict[str, str]) -> list[str]:
    keys = {"id": found.id, "subject": found.subject, "instance": found.instance}
    free = [one for one in look.columns.values() if one.name not in (found.at, found.kind, found.id)]
    free = [one for one in free if one.name.lower() != "id"]
    doubts = ["the outcome: no kind of event has the name of one"] if found.unclear else []
    if found.proxy == found.outcome:
        doubts.append(f"the proxy: {found.proxy} is counted sooner than for the outcome, for no other kind fits")
    lines = [*_head(look, doubts), "[instance]  # features of the events that are predictions"]
    lines += feature_lines(look, free, refused, found.instance)
    lines += [
        "",
        "[proxy]  # counted after a prediction",
        'values = ["none", "one", "many"]',
        f"count = {quoted_text(found.proxy)}",
        f"within = {quoted_text(found.early[0])}  # {found.early[1]}",
        "edges = [1, 2]",
        "",
        "[outcome]",
        'values = ["no", "yes"]',
        f"count = {quoted_text(found.outcome)}",
        f"within = {quoted_text(found.late[0])}  # {found.late[1]}",
        "edges = [1]",
        "",
        f"[log]  # kinds in the log: {', '.join(look.columns[found.kind].values)}",
        f"at = {quoted_text(found.at or 'at')}",
        f"kind = {quoted_text(found.kind)}",
        f"moment = [{quoted_text(found.moment)}]  # events that are predictions",
    ]
    lines += [f"{key} = {quoted_text(name)}" for key, name in keys.items() if name]
    offered = [one for one in free if one.name not in refused]
    return [*lines, "", *_forecaster(look, offered, found.instance)]


def _signal(look: LogLook, table: str, guess: SignalGuess, span: int, shown: str | None) -> list[str]:
    lines = [f"[{table}]"]
    if guess.edges:
        lines.append(f"edges = {json.dumps(guess.edges)}  # about a quarter of the early rows below each; round them")
        first = f"below {guess.edges[0]}"
    else:
        values = guess.values if len(guess.values) > 1 else ("no", "yes")
        advice = "in their order, if they have one" if len(guess.values) > 1 else "correct this: the log does not tell"
        lines.append(f"values = [{', '.join(map(quoted_text, values))}]  # {advice}")
        first = values[0]
    if shown is None:
        rows = max(look.rows // (100 if table.startswith("proxy") else 20), 1)
        horizon, why = f"{rows} row{'s' * (rows > 1)}", "correct this: after how many rows it is known"
    else:
        horizon, why = horizon_words(guess, span, early=table != "outcome")
    lines.append(f"horizon = {quoted_text(horizon)}  # {why}")
    if guess.happened:
        lines += [
            f"happened_at = {quoted_text(guess.name)}  # empty: it did not happen within the horizon",
            'known = "at horizon"  # "as it happens": known at once, but then early on all known ones are successes',
        ]
        return [*lines, ""]
    lines.append(f"column = {quoted_text(guess.name)}")
    if guess.known_at:
        lines.append(f"known_at = {quoted_text(guess.known_at)}")
    elif shown is not None:
        lines.append('known = "at horizon"  # no column says when it became known')
    lines.append(f"# absent = {quoted_text(first)}  # if nothing by the horizon means this; otherwise it is censored")
    return [*lines, ""]


def _unknown_signal(table: str, shown: str | None) -> list[str]:
    what = "an early sign" if table == "proxy" else "what is predicted"
    horizon = "7 days" if shown else "10 rows"
    lines = [
        f"[{table}]  # FILL THIS IN: no column looks like {what}",
        'values = ["no", "yes"]',
        f"horizon = {quoted_text(horizon)}  # later is too late",
        f'column = {quoted_text(UNKNOWN[table])}  # or happened_at = "...", a time, empty where it did not happen',
    ]
    return [
        *lines,
        *(['known = "at horizon"  # or known_at = "...", the time at which it became known'] * bool(shown)),
        "",
    ]


def _refused(look: LogLook, found: Guesses, free: Sequence[ColumnLook]) -> tuple[dict[str, str], list[str]]:
    """Why columns must not be features, by their names: times after the prediction, and what gives something away.

    And what else reading the log warns of.
    """
    refused = {one.name: found.unclear[one.name] for one in free if one.name in found.unclear}
    if found.shown_at:
        shown = look.columns[found.shown_at].moment
        for one in free:
            if one.moment:
                later = f"avg(({one.moment} > {shown})::INTEGER)"
                if (look.ask(f"SELECT {later} FROM rows WHERE {one.moment} IS NOT NULL")[0] or 0) >= AFTER:
                    refused[one.name] = "a time after the prediction"
            elif one.kind != "set" and (one.filled < look.rows or set(one.words) & set(STATES)):
                settled = settles_after(look, one, found.shown_at)
                if settled:
                    refused[one.name] = _not_at_once(settled[1])
    tried = [one for one in free if not one.moment and one.filled and not one.name.startswith("truth_")]
    if not tried or found.outcome is None:
        return refused, []
    try:
        warnings = _warnings(look, found, tried)
    except PresageError as error:
        return refused, [f"the features: whether they give the outcome away was not seen, as {error.wrong}"]
    names = {one.name for one in tried}
    refused = {one.column: _reason(one, look.columns[one.column]) for one in warnings if one.column in names} | refused
    return refused, [f"{one.column}: {one.text}" for one in warnings if one.column not in names]


def _not_at_once(first: str) -> str:
    """Why a column that the newest rows lack is no feature."""
    newest = f'"{first}"' if first else "empty"
    return f"{newest} in the newest rows and {'another' if first else 'filled'} in older ones: not known at once"


def _reason(warning: LogWarning, column: ColumnLook) -> str:
    """Why a column is left out, in the words of its warning."""
    status = "looks like a status that changes later: " if set(column.words) & set(STATES) else ""
    what, _, _ = warning.text.rpartition(": ")
    return f"{status}{what[:1].lower()}{what[1:]}"


def _warnings(look: LogLook, found: Guesses, tried: Sequence[ColumnLook]) -> Sequence[LogWarning]:
    """What reading the log warns of, if every column that may be a feature were one."""
    assert found.outcome is not None
    keys = feature_keys(one.name for one in tried)
    lines = ['version = 1\nname = "draft"\n[instance]']
    lines += [f"{keys[one.name]} = {feature_text(look, one, keys[one.name])}" for one in tried]
    signals = (*found.proxies, found.outcome)
    span = _span(look, found, signals)
    for guess in found.proxies or (found.outcome,):
        lines += _signal(look, f"proxy.{_table(guess.name)}", guess, span, found.shown_at)
    lines += [*_signal(look, "outcome", found.outcome, span, found.shown_at), "[log]"]
    lines += _log(look, found, ())[:1]
    every = -(-look.rows // READ) if found.shown_at else 1
    chosen = ", ".join(f"{_clean(look, one)} AS {quoted(one.name)}" for one in look.columns.values())
    with tempfile.TemporaryDirectory(prefix="presage-") as folder:
        path = str(Path(folder) / "rows.parquet")
        some = f"SELECT {chosen} FROM rows WHERE nth % {every} = 0 ORDER BY nth"
        look.connection.execute(f"COPY ({some}) TO {sql_text(path)} (FORMAT parquet)")
        found_warnings = read_log(read_task("\n".join(lines)), path)[0].warnings
    return [one for one in found_warnings if found.proxies or "proxy" not in one.kind]


def _clean(look: LogLook, one: ColumnLook) -> str:
    """SQL for a column with its times read and, in a CSV, nothing where words for nothing stand."""
    if one.moment:
        return f"make_timestamp({one.moment})"
    return quoted(one.name) if look.typed else written_words(one.name, "VARCHAR", typed=False)


def _table(name: str) -> str:
    """What a candidate is called: proxy and outcome are taken."""
    return f"{plain_key(name)}_sign" if name in ("proxy", "outcome") else plain_key(name)


def _forecaster(look: LogLook, offered: Sequence[ColumnLook], identity: str | None = None) -> list[str]:
    """The last table; what instances share is for the reader to say."""
    categories, keys = coarser_categories(look, offered, identity), feature_keys(one.name for one in offered)
    lines = ["[forecaster]", 'kind = "mixture"  # the safe default']
    if len(categories) > 1:
        groups = [[keys[name] for name in categories[1:last]] for last in (2, 3) if last <= len(categories)]
        why = f"what a new {categories[0]} shares with others, coarse to fine"
        lines.append(f"# back_off = {json.dumps(groups)}  # {why}")
    return [*lines, ""]
