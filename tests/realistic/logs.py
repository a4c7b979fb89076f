"""All realistic logs by name."""

from collections.abc import Callable

from tests.realistic.ad_clicks import ad_clicks
from tests.realistic.cart_events import cart_events
from tests.realistic.subscribers import subscribers
from tests.realistic.tickets import tickets
from tests.realistic.trials import trials
from tests.realistic.world import RealisticLog

LOGS: dict[str, Callable[[int], RealisticLog]] = {
    made.__name__: made for made in (trials, cart_events, subscribers, ad_clicks, tickets)
}
