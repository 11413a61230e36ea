"""Prometheus metrics: counters of this host, its use of the machine, and its projections' progress.

`docs/metrics.md` lists them.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, ClassVar

from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.utils import floatToGoString

from api.callers.work_queue import WorkQueue
from api.telemetry.shared_counts import BUCKETS, QUEUES, Labels, SharedCounts
from domain.release import RELEASE, commit
from projections.operation.inspection import Inspection
from projections.operation.proofs import Proof
from projections.verification.report import Verdict

_BOUNDS = [*map(floatToGoString, BUCKETS), "+Inf"]
_NUMBERS = (
    ("checkpoint", "Position that is committed", "checkpoint"),
    ("lag_events", "Events not yet applied", "lag"),
    ("lag_seconds", "Age of the oldest event not yet applied", "lag_seconds"),
    ("entities", "Entities in the read model", "entities"),
    ("size_bytes", "Size of all generations of the read model", "bytes"),
)
_OF_THE_MODEL = frozenset(("checkpoint", "entities", "bytes"))
"""Samples that need the read model itself."""

_Samples = Iterable[tuple[tuple[str, ...], float | None]]
"""Values of the labels -> a number; None where it is not known."""


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

    def watch(self, queues: Mapping[str, WorkQueue]) -> None:
        """Have each of the QUEUES say how much of its work runs and waits."""
        for number, name in enumerate(QUEUES):
            queues[name].report = partial(self._counts.own.set_queue, number)

    def requests(self) -> dict[Labels, tuple[list[int], float]]:
        """The requests of all workers by their labels: how many by bucket, and seconds of all."""
        sums: dict[Labels, tuple[list[int], float]] = {}
        for worker in self._counts.workers:
            for series in worker.series:
                known, seconds = sums.get(series.labels, ([0] * len(_BOUNDS), 0.0))
                added = [a + b for a, b in zip(known, series.buckets, strict=True)]
                sums[series.labels] = added, seconds + series.seconds
        return sums

    def render(self, inspection: Inspection, *, ready: bool, proofs: Mapping[str, Proof]) -> bytes:
        """The metrics of all processes in Prometheus' text format.

        `ready` is what `/readyz` says; `proofs` are the last ones by what they are of.
        """
        families = [
            _gauge(
                "build_info",
                "Always 1; the release that runs, and the commit that it was built from",
                [((RELEASE, commit()), 1)],
                "release",
                "commit",
            ),
            _gauge("ready", "Whether /readyz answers 200", [((), ready)]),
            *self._counted(),
            *self._processes(),
            *_of_log_and_disk(inspection),
            *_of_projections(inspection),
            *_of_proofs(proofs),
        ]
        # The library's own values are added to under a lock, or in its multi-process mode in files
        # of each process that ever ran, at three and six times the cost.
        snapshot: Any = SimpleNamespace(collect=lambda: families)
        return generate_latest(snapshot)

    def _counted(self) -> Iterator[Metric]:
        counts = self._counts
        yield CounterMetricFamily(
            "catalog_log_lines_dropped",
            "Log lines dropped, as whoever reads the log did not keep up",
            value=sum(each.dropped_lines for each in counts.processes),
        )
        requests = HistogramMetricFamily(
            "catalog_request_seconds",
            "Time to answer, by route and status",
            labels=("method", "route", "status"),
        )
        for (method, route, status), (buckets, seconds) in self.requests().items():
            cumulative = zip(_BOUNDS, accumulate(buckets), strict=True)
            requests.add_metric((method, route, str(status)), list(cumulative), seconds)
        yield requests
        refusals = CounterMetricFamily(
            "catalog_refusals",
            "Requests refused with 401, 403 or 429, by the reason in the log",
            labels=("status", "reason"),
        )
        counted = [worker.refusals for worker in counts.workers]
        for status, reason in counted[0]:
            total = sum(each[status, reason] for each in counted)
            refusals.add_metric((str(status), reason), total)
        yield refusals
        connections = [
            ((str(number),), each.connections) for number, each in enumerate(counts.workers, 1)
        ]
        yield _gauge("connections", "Open connections, by worker", connections, "worker")
        queues = [worker.queues for worker in counts.workers]
        for place, (name, text) in enumerate(
            (("running", "Work that runs in threads"), ("waiting", "Work that waits for a thread"))
        ):
            sums = [((queue,), sum(each[queue][place] for each in queues)) for queue in QUEUES]
            yield _gauge(f"queue_{name}", text, sums, "queue")

    def _processes(self) -> Iterator[Metric]:
        cpu = CounterMetricFamily(
            "catalog_process_cpu_seconds", "Processor time, by process", labels=("process",)
        )
        memory = GaugeMetricFamily(
            "catalog_process_resident_memory_bytes", "Memory, by process", labels=("process",)
        )
        for name, counts in self._counts.named():
            # A process that has not begun has no id yet.
            used = _use_of(counts.process) if counts.process else {}
            for family in (cpu, memory):
                if (value := used.get(family.name)) is not None:
                    family.add_metric((name,), value)
        yield cpu
        yield memory


def _use_of(process: int) -> dict[str, float]:
    """Name of a metric -> its value for a process, where the system reports it."""
    collector = ProcessCollector("catalog", pid=lambda: process, registry=None)
    return {family.name: family.samples[0].value for family in collector.collect()}


def _gauge(name: str, text: str, samples: _Samples, *labels: str) -> Metric:
    """A gauge; what is not known is no sample: a lag of 0 would say that all is well."""
    family = GaugeMetricFamily(f"catalog_{name}", text, labels=labels)
    for values, value in samples:
        if value is not None:
            family.add_metric(values, value)
    return family


def _of_log_and_disk(inspection: Inspection) -> Iterator[Metric]:
    disk = inspection.disk
    for name, text, value in (
        ("log_readable", "Whether this host can read the log", inspection.head is not None),
        (
            "log_read_only",
            "Whether the database of the log takes no writes",
            inspection.log_read_only,
        ),
        ("log_head", "Newest position", inspection.head),
        ("log_size_bytes", "Size of the log, with its indexes", inspection.log_bytes),
        ("disk_size_bytes", "Size of the disk of the data directory", disk.bytes if disk else None),
        (
            "disk_left_bytes",
            "Room on the disk of the data directory",
            disk.bytes_left if disk else None,
        ),
    ):
        yield _gauge(name, text, [((), value)])


def _of_projections(inspection: Inspection) -> Iterator[Metric]:
    reports = inspection.projections
    for name, text, attribute in _NUMBERS:
        known = [
            ((each.name,), getattr(each, attribute))
            for each in reports
            if attribute not in _OF_THE_MODEL or each.state != "unavailable"
        ]
        yield _gauge(f"projection_{name}", text, known, "projection")
    states = [((each.name, each.state), 1) for each in reports]
    yield _gauge(
        "projection_state", "Always 1; what the projector does", states, "projection", "state"
    )
    leaders = [((each.name, each.leader or ""), each.leader is not None) for each in reports]
    yield _gauge(
        "projection_leader",
        "Whether a host feeds the read model, and which",
        leaders,
        "projection",
        "host",
    )


def _of_proofs(proofs: Mapping[str, Proof]) -> Iterator[Metric]:
    """Gauges for the age of the last proof of each part, and its verdict: 1 for equal, else 0."""
    parts, now = sorted(proofs.items()), time.time()
    ages = [((part,), max(now - proof.at / 1000, 0.0)) for part, proof in parts]
    yield _gauge("proof_age_seconds", "Time since the last verification", ages, "part")
    equal = [((part,), proof.verdict is Verdict.EQUAL) for part, proof in parts]
    yield _gauge("proof_equal", "Whether the last verification found no difference", equal, "part")
