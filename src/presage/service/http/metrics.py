"""The numbers of the service in the text format of Prometheus."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

PREFIX = "presage_"
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the times that requests take, in seconds."""

_NAME = re.compile(r'([a-z][a-z0-9_]*)(?:\{(\w+="[^"\\\n]*"(?:,\w+="[^"\\\n]*")*)\})?')
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Traffic:
    """How many requests were answered how, and how long they took."""

    def __init__(self) -> None:
        self.under_way = 0
        self.requests: Counter[tuple[str, str, str]] = Counter()
        self.counts: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self.seconds: dict[str, float] = defaultdict(float)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests[route, method, str(status)] += 1
        self.counts[route][bisect_left(BUCKETS, seconds)] += 1
        self.seconds[route] += seconds


def exposition(numbers: Mapping[str, float], traffic: Traffic) -> bytes:
    """The page at /metrics. A name may carry labels, as in `events_total{bin="late"}`; counters end in `_total`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Numbers(numbers, traffic))
    return generate_latest(registry)


class _Numbers(Collector):
    def __init__(self, numbers: Mapping[str, float], traffic: Traffic) -> None:
        self.numbers, self.traffic = numbers, traffic

    def collect(self) -> Iterator[Metric]:
        """Every family of numbers."""
        families: dict[str, list[tuple[dict[str, str], float]]] = defaultdict(list)
        for written, value in self.numbers.items():
            parts = _NAME.fullmatch(written)
            assert parts, f"{written!r} is no name of a metric"
            families[parts[1]].append((dict(_LABEL.findall(parts[2] or "")), value))
        for name, samples in families.items():
            yield _family(name, samples)
        yield from _traffic(self.traffic)


def _family(name: str, samples: list[tuple[dict[str, str], float]]) -> Metric:
    make = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    words = name.removesuffix("_total").replace("_", " ")
    family = make(PREFIX + name, words[0].upper() + words[1:] + ".", labels=list(samples[0][0]))
    for labels, value in samples:
        family.add_metric(list(labels.values()), value)
    return family


def _traffic(traffic: Traffic) -> Iterator[Metric]:
    yield _family("http_requests_under_way", [({}, traffic.under_way)])
    answered = CounterMetricFamily(
        f"{PREFIX}http_requests_total", "Requests answered.", labels=["route", "method", "status"]
    )
    for labels, count in sorted(traffic.requests.items()):
        answered.add_metric(list(labels), count)
    yield answered
    took = HistogramMetricFamily(f"{PREFIX}http_request_seconds", "Seconds until an answer was sent.", labels=["route"])
    bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
    for route, counts in sorted(traffic.counts.items()):
        cumulative = [(bound, sum(counts[: place + 1])) for place, bound in enumerate(bounds)]
        took.add_metric([route], cumulative, traffic.seconds[route])
    yield took
