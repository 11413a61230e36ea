"""Prometheus metrics: requests by route, connections, and how far the projections are."""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import ClassVar

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from api.shared_counts import BUCKETS, Counts, Labels, SharedCounts
from projections.inspection import Inspection

_BOUNDS = [*map(floatToGoString, BUCKETS), "+Inf"]


class Metrics:
    """Counts what this process does, and shows what all processes of the server counted."""

    MEDIA_TYPE: ClassVar[str] = CONTENT_TYPE_LATEST

    def __init__(self, counts: SharedCounts) -> None:
        self._counts = counts
        self.observe = counts.own.observe
        """Counts one request under the template of its path, so that ids make no labels."""

    def count_connections(self, number: int) -> None:
        """Remember how many connections this process has open."""
        self._counts.own.connections = number

    def requests(self) -> dict[Labels, tuple[list[int], float]]:
        """The requests of all workers by their labels: how many by bucket, and seconds of all."""
        return _sums(self._counts.workers)

    def render(self, inspection: Inspection) -> bytes:
        """The metrics of all processes in Prometheus' text format."""
        return generate_latest(_Snapshot(self._counts, inspection))


class _Snapshot(Collector):
    """The metrics at one moment.

    The values of prometheus-client are added to under a lock, or in its multi-process mode in files
    of each process that ever ran, at three and six times the cost.
    """

    def __init__(self, counts: SharedCounts, inspection: Inspection) -> None:
        self._counts = counts
        self._inspection = inspection

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        yield CounterMetricFamily(
            "catalog_log_lines_dropped",
            "Log lines dropped, as whoever reads the log did not keep up",
            value=sum(each.dropped_lines for each in self._counts.processes),
        )
        yield self._requests()
        yield self._connections()
        yield from self._projections()

    def _requests(self) -> Metric:
        family = HistogramMetricFamily(
            "catalog_request_seconds",
            "Time to answer, by route and status",
            labels=("method", "route", "status"),
        )
        for (method, route, status), (buckets, seconds) in _sums(self._counts.workers).items():
            cumulative = zip(_BOUNDS, accumulate(buckets), strict=True)
            family.add_metric((method, route, str(status)), list(cumulative), seconds)
        return family

    def _connections(self) -> Metric:
        family = GaugeMetricFamily(
            "catalog_connections", "Open connections, by worker", labels=("worker",)
        )
        for number, worker in enumerate(self._counts.workers, 1):
            family.add_metric((str(number),), worker.connections)
        return family

    def _projections(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "catalog_log_readable",
            "Whether this host can read the log",
            self._inspection.head is not None,
        )
        if self._inspection.head is not None:
            yield GaugeMetricFamily("catalog_log_head", "Newest position", self._inspection.head)
        for name, text, attribute in (
            ("checkpoint", "Position that is committed", "checkpoint"),
            ("lag_events", "Events not yet applied", "lag"),
            ("lag_seconds", "Age of the oldest event not yet applied", "lag_seconds"),
        ):
            family = GaugeMetricFamily(f"catalog_projection_{name}", text, labels=("projection",))
            for projection in self._inspection.projections:
                # What is not known is no sample: a lag of 0 would say that all is well.
                if (value := getattr(projection, attribute)) is not None:
                    family.add_metric((projection.name,), value)
            yield family


def _sums(workers: Iterable[Counts]) -> dict[Labels, tuple[list[int], float]]:
    """The requests of all workers by their labels: how many by bucket, and the seconds of all."""
    sums: dict[Labels, tuple[list[int], float]] = {}
    for worker in workers:
        for series in worker.series():
            known, seconds = sums.get(series.labels, ([0] * len(_BOUNDS), 0.0))
            added = [a + b for a, b in zip(known, series.buckets, strict=True)]
            sums[series.labels] = added, seconds + series.seconds
    return sums
