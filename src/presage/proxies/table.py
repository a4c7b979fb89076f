"""The report cards as a table: a row for each candidate, best first."""

import csv
import io
from collections.abc import Iterable

from presage.proxies.card import Card

ESTIMATES = ("entropy", "information", "gap", "total", "share", "lead", "gain", "new", "overall")
PLAIN = ("name", "kind", "rows", "symbols", "stability_p", "over_time_p", "over_cohorts_p", "wait")


def cards_table(cards: Iterable[Card]) -> str:
    """The cards as CSV, each estimate in three columns: NAME, NAME_low and NAME_high."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    parts = [f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high")]
    writer.writerow([*PLAIN, *parts, "verdict"])
    for card in cards:
        steady = card.stability
        plain = [card.name, card.kind.name.lower().replace("_", " "), card.rows, card.symbols]
        plain += [steady.p, steady.over_time, steady.over_cohorts, card.wait]
        writer.writerow([*plain, *(part for name in ESTIMATES for part in getattr(card, name)), card.verdict])
    return text.getvalue()
