"""The numbers of the service, in the text format of Prometheus."""

from collections.abc import Iterator
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from presage.service.interface import Service, ServiceNumbers
from presage.service.learner.heartbeat import STATES

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the durations of requests, in seconds."""


class Metrics:
    """Counts of the requests to a service, and the page that shows them with the service's own numbers."""

    def __init__(self, service: Service) -> None:
        self.under_way = Gauge(
            "presage_http_requests_under_way",
            "HTTP requests that the service is answering at this moment.",
            registry=None,
        )
        self._requests = Counter(
            "presage_http_requests",
            "HTTP requests answered since the service started; the route is `none` if no address matched.",
            ["route", "method", "status"],
            registry=None,
        )
        self._seconds = Histogram(
            "presage_http_request_seconds",
            "Time from the headers of a request to the end of its response, in seconds.",
            ["route"],
            buckets=BUCKETS,
            registry=None,
        )
        self._of = cache(lambda *labels: (self._requests.labels(*labels), self._seconds.labels(labels[0])))
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(ServiceCollector(service))
        self._registry.register(TrafficCollector(self.under_way, self._requests, self._seconds))

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        requests, durations = self._of(route, method, status)
        requests.inc()
        durations.observe(seconds)

    def exposition(self) -> bytes:
        """The page at /metrics."""
        return generate_latest(self._registry)


class TrafficCollector(Collector):
    """The families of some metrics, without the time at which each of their samples was created."""

    def __init__(self, *metrics: Collector) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """Every family."""
        for metric in self._metrics:
            for family in metric.collect():
                family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
                yield family


class ServiceCollector(Collector):
    """The families of a service's own numbers."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Every family."""
        numbers = self._service.numbers()
        yield _bins(numbers)
        yield _refused(numbers)
        yield GaugeMetricFamily(
            "presage_log_entries", "Entries in the log, which is also its last position.", numbers.log_entries
        )
        yield CounterMetricFamily(
            "presage_predictions", "Predictions in the log since its beginning.", numbers.counters.predictions
        )
        yield from _queues(numbers)
        yield from _learner(numbers)
        yield from _drift(numbers)


def _bins(numbers: ServiceNumbers) -> Metric:
    family = GaugeMetricFamily(
        "presage_entries",
        "Log entries by status; each has exactly one, except entries that mark a learning step.",
        labels=["bin"],
    )
    for name, count in numbers.counters.bins._asdict().items():
        family.add_metric([name], count)
    return family


def _refused(numbers: ServiceNumbers) -> Metric:
    family = CounterMetricFamily(
        "presage_refused",
        "Events not added to the log since the service started: repeats, and conflicts with what is there.",
        labels=["kind", "why"],
    )
    for (kind, decision), count in numbers.refused.items():
        family.add_metric([kind.name.lower(), decision.value], count)
    return family


def _queues(numbers: ServiceNumbers) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "presage_lessons_waiting", "Proxies and outcomes in the log that the model has not yet learned.",
        numbers.lessons_waiting,
    )  # fmt: skip
    yield GaugeMetricFamily(
        "presage_model_position", "Log position of the parameters in use; 0 before the first update.",
        numbers.model_position,
    )  # fmt: skip
    yield GaugeMetricFamily(
        "presage_events_waiting", "Events received but not yet written to the log.", numbers.events_waiting
    )
    yield CounterMetricFamily(
        "presage_watch_missed", "Log entries left out of the dashboard because it could not keep up.",
        numbers.watch_missed,
    )  # fmt: skip


def _learner(numbers: ServiceNumbers) -> Iterator[Metric]:
    learner = numbers.learner
    yield GaugeMetricFamily(
        "presage_learner_up",
        "1 while a learner process runs and has caught up with the log; 0 while one is replaced or catches up.",
        float(learner.up),
    )
    doing = GaugeMetricFamily(
        "presage_learner_state", "1 for what the learner process is doing at this moment, 0 for the rest.",
        labels=["state"],
    )  # fmt: skip
    for state in STATES:
        doing.add_metric([state], float(state == learner.doing))
    yield doing
    yield CounterMetricFamily(
        "presage_learner_deaths", "Learner processes that died or hung since the service started, each then replaced.",
        learner.deaths,
    )  # fmt: skip
    yield GaugeMetricFamily(
        "presage_model_age_entries", "Entries that came into the log after those from which the model in use learned.",
        numbers.log_entries - numbers.model_position,
    )  # fmt: skip
    yield GaugeMetricFamily(
        "presage_model_age_seconds",
        "Seconds since the model in use was learned, by the clock of the log; NaN before the first update.",
        numbers.model_seconds,
    )


def _drift(numbers: ServiceNumbers) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "presage_g_drift_alarm", "1 while the link from proxy to outcome has changed enough to matter, otherwise 0.",
        float(numbers.drift_alarm),
    )  # fmt: skip
    yield GaugeMetricFamily(
        "presage_g_drift_p", "p-value of a change in the link from proxy to outcome, corrected for repeated testing.",
        numbers.drift_p,
    )  # fmt: skip
    yield GaugeMetricFamily(
        "presage_g_drift_nats",
        "What predicting with the old link from proxy to outcome would cost now, in nats per prediction.",
        numbers.drift_nats,
    )
