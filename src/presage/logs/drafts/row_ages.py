"""What the newest rows of a log give away by lacking it: values that are filled in, or change, some time later."""

from collections import Counter

from presage.logs.drafts.column_looks import ColumnLook, LogLook, written_words
from presage.logs.tables import quoted

USUAL_DAYS = (1, 2, 3, 7, 14, 30, 60, 90, 180, 365)
"""Days that people wait for something."""

DAY = 86_400_000_000

ALIKE = 0.9
"""The least share of the newest rows that hold the value from which the older ones moved on."""

MOVED = 0.1
"""By how much less often older rows must hold it, ..."""

SURELY = 5
"""... and by how many standard deviations: many columns are looked at, and chance must not speak."""

CLOSE = 0.2
"""What may be left of the way from the newest rows to the oldest ones where a value has settled."""


def settles_after(look: LogLook, column: ColumnLook, shown: str) -> tuple[int, str] | None:
    """After how many of the usual days a value no longer changes, and what the newest rows hold instead of it.

    None where the newest rows are like all others: the log was exported later, or the value was there at once. Of many
    values it only says when they were filled in.
    """
    rows = _by_age(look, column, shown)
    last = max((days for days, _ in rows), default=0)
    for newest in (days for days in USUAL_DAYS if 2 * days <= last):
        young = {word for days, word in rows if days < newest}
        first = max(young, key=lambda word: _share(rows, word, 0, newest)[0], default="")
        share, seen = _share(rows, first, 0, newest)
        oldest, _ = _share(rows, first, last // 2, last + 1)
        deviation = (oldest * (1 - oldest) / seen) ** 0.5 if seen else 1.0
        if share < ALIKE or share - oldest < max(MOVED, SURELY * deviation):
            continue
        for days in (days for days in USUAL_DAYS if days <= last // 2):
            there, seen = _share(rows, first, days, 2 * days)
            chance = (oldest * (1 - oldest) / max(seen, 1)) ** 0.5
            way = share - oldest
            if seen and there - oldest <= max(CLOSE * way, min(chance, way / 2)):
                return days, first
        return None
    return None


def _by_age(look: LogLook, column: ColumnLook, shown: str) -> Counter[tuple[int, str]]:
    """How many rows there are of each age in days and value; of many values only whether there is one."""
    moment = look.columns[shown].moment
    age = f"((SELECT max({moment}) FROM rows) - {moment}) // {DAY}"
    text = f"{quoted(column.name)}::VARCHAR" if look.typed else written_words(column.name, "VARCHAR", typed=False)
    word = f"coalesce({text}, '')" if column.values else f"CASE WHEN {text} IS NULL THEN '' ELSE 'filled' END"
    query = f"SELECT {age}, {word}, count(*) FROM rows WHERE {moment} IS NOT NULL GROUP BY 1, 2"
    found = look.connection.execute(query).fetchall()
    return Counter({(int(days), str(word)): int(n) for days, word, n in found})


def _share(rows: Counter[tuple[int, str]], word: str, first: int, last: int) -> tuple[float, int]:
    """The share of the rows of an age from `first` to before `last` days that hold a word, and how many these are."""
    here = [(each, n) for (days, each), n in rows.items() if first <= days < last]
    seen = sum(n for _, n in here)
    return (sum(n for each, n in here if each == word) / seen if seen else 0.0), seen
