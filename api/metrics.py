"""Prometheus metrics: requests by route, and how far the projections are."""

from collections.abc import Callable, Iterator
from typing import ClassVar

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from projections.inspection import Inspection

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """The counters of this process."""

    MEDIA_TYPE: ClassVar[str] = CONTENT_TYPE_LATEST

    def __init__(self, dropped_lines: Callable[[], int]) -> None:
        """`dropped_lines` returns how many log lines were dropped since the start."""
        self._registry = CollectorRegistry()
        self._registry.register(_DroppedLines(dropped_lines))
        self._requests = Histogram(
            "catalog_request_seconds",
            "Time to answer, by route and status",
            ("method", "route", "status"),
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._children: dict[tuple[str, str, int], Histogram] = {}
        self._head = Gauge("catalog_log_head", "Newest position", registry=self._registry)
        self._checkpoint, self._lag, self._lag_seconds = (
            Gauge(name, text, ("projection",), registry=self._registry)
            for name, text in (
                ("catalog_projection_checkpoint", "Position that is committed"),
                ("catalog_projection_lag_events", "Events not yet applied"),
                ("catalog_projection_lag_seconds", "Age of the oldest event not yet applied"),
            )
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request under the template of its path, so that ids make no labels.

        Litestar's own plugin counts requests too, at five times the cost.
        """
        key = (method, route, status)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._requests.labels(*key)
        child.observe(seconds)

    def render(self, inspection: Inspection) -> bytes:
        """The metrics in Prometheus' text format."""
        self._head.set(inspection.head)
        for projection in inspection.projections:
            self._checkpoint.labels(projection.name).set(projection.checkpoint)
            self._lag.labels(projection.name).set(projection.lag)
            self._lag_seconds.labels(projection.name).set(projection.lag_seconds)
        return generate_latest(self._registry)


class _DroppedLines(Collector):
    """Collects the count of dropped log lines from their writer."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count

    def collect(self) -> Iterator[CounterMetricFamily]:
        """The counter of dropped lines, as it is now."""
        yield CounterMetricFamily(
            "catalog_log_lines_dropped",
            "Log lines dropped, as whoever reads the log did not keep up",
            value=self._count(),
        )
