"""Prometheus metrics: counters of this host, its use of the machine, and its projections' progress.

`docs/metrics.md` lists them.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
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

from api.callers.limits import Turns
from api.telemetry.metrics_of_projections import projection_metrics, proof_metrics
from api.telemetry.process_use import process_use
from api.telemetry.shared_counts import BUCKETS, QUEUES, Counts, Labels, SharedCounts
from domain.release import RELEASE, commit
from projections.operation.inspection import Inspection
from projections.operation.proofs import Proof

_BOUNDS = [*map(floatToGoString, BUCKETS), "+Inf"]


class Metrics:
    """Counts what this process does, and shows what all processes of the server counted."""

    MEDIA_TYPE: ClassVar[str] = CONTENT_TYPE_LATEST

    def __init__(self, counts: SharedCounts) -> None:
        self._counts = counts
        self.observe = counts.own.observe
        """Counts one request under the template of its path, so that ids make no labels."""
        self.count_refusal = counts.own.count_refusal
        """Counts one request that was refused for its caller's sake."""

    def count_connections(self, number: int) -> None:
        """Remember how many connections this process has open."""
        self._counts.own.connections = number

    def watch(self, queues: Mapping[str, Turns]) -> None:
        """Have each of the QUEUES say how much of its work runs and waits."""
        for number, name in enumerate(QUEUES):
            queues[name].report = partial(self._counts.own.set_queue, number)

    def requests(self) -> dict[Labels, tuple[list[int], float]]:
        """The requests of all workers by their labels: how many by bucket, and seconds of all."""
        return _sums(self._counts.workers)

    def render(self, inspection: Inspection, *, ready: bool, proofs: Mapping[str, Proof]) -> bytes:
        """The metrics of all processes in Prometheus' text format.

        `ready` is what `/readyz` says; `proofs` are the last ones by what they are of.
        """
        return generate_latest(_Snapshot(self._counts, inspection, ready=ready, proofs=proofs))


class _Snapshot(Collector):
    """The metrics at one moment.

    The values of prometheus-client are added to under a lock, or in its multi-process mode in files
    of each process that ever ran, at three and six times the cost.
    """

    def __init__(
        self,
        counts: SharedCounts,
        inspection: Inspection,
        *,
        ready: bool,
        proofs: Mapping[str, Proof],
    ) -> None:
        self._counts = counts
        self._inspection = inspection
        self._ready = ready
        self._proofs = proofs

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        build = GaugeMetricFamily(
            "catalog_build_info",
            "Always 1; the release that runs, and the commit that it was built from",
            labels=("release", "commit"),
        )
        build.add_metric((RELEASE, commit()), 1)
        yield build
        yield GaugeMetricFamily("catalog_ready", "Whether /readyz answers 200", self._ready)
        yield CounterMetricFamily(
            "catalog_log_lines_dropped",
            "Log lines dropped, as whoever reads the log did not keep up",
            value=sum(each.dropped_lines for each in self._counts.processes),
        )
        yield self._requests()
        yield self._refusals()
        yield self._connections()
        yield from self._queues()
        yield from self._processes()
        yield from projection_metrics(self._inspection)
        yield from proof_metrics(self._proofs)

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

    def _refusals(self) -> Metric:
        family = CounterMetricFamily(
            "catalog_refusals",
            "Requests refused with 401, 403 or 429, by the reason in the log",
            labels=("status", "reason"),
        )
        counted = [worker.refusals for worker in self._counts.workers]
        for status, reason in counted[0]:
            total = sum(each[status, reason] for each in counted)
            family.add_metric((str(status), reason), total)
        return family

    def _connections(self) -> Metric:
        family = GaugeMetricFamily(
            "catalog_connections", "Open connections, by worker", labels=("worker",)
        )
        for number, worker in enumerate(self._counts.workers, 1):
            family.add_metric((str(number),), worker.connections)
        return family

    def _queues(self) -> Iterator[Metric]:
        queues = [worker.queues for worker in self._counts.workers]
        for place, (name, text) in enumerate(
            (("running", "Work that runs in threads"), ("waiting", "Work that waits for a thread"))
        ):
            family = GaugeMetricFamily(f"catalog_queue_{name}", text, labels=("queue",))
            for queue in QUEUES:
                family.add_metric((queue,), sum(each[queue][place] for each in queues))
            yield family

    def _processes(self) -> Iterator[Metric]:
        cpu = CounterMetricFamily(
            "catalog_process_cpu_seconds", "Processor time, by process", labels=("process",)
        )
        memory = GaugeMetricFamily(
            "catalog_process_resident_memory_bytes", "Memory, by process", labels=("process",)
        )
        for name, counts in self._counts.named():
            # Its place may be that of a process which has not begun.
            if counts.process and (use := process_use(counts.process)) is not None:
                cpu.add_metric((name,), use.cpu_seconds)
                memory.add_metric((name,), use.memory)
        yield cpu
        yield memory


def _sums(workers: Iterable[Counts]) -> dict[Labels, tuple[list[int], float]]:
    """The requests of all workers by their labels: how many by bucket, and the seconds of all."""
    sums: dict[Labels, tuple[list[int], float]] = {}
    for worker in workers:
        for series in worker.series():
            known, seconds = sums.get(series.labels, ([0] * len(_BOUNDS), 0.0))
            added = [a + b for a, b in zip(known, series.buckets, strict=True)]
            sums[series.labels] = added, seconds + series.seconds
    return sums
