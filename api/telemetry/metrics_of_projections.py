"""Prometheus metrics of the log, the read models, their proofs, and their disk."""

import time
from collections.abc import Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from projections.operation.inspection import Inspection
from projections.operation.proofs import Proof
from projections.verification.report import Verdict

_NUMBERS = (
    ("checkpoint", "Position that is committed", "checkpoint"),
    ("lag_events", "Events not yet applied", "lag"),
    ("lag_seconds", "Age of the oldest event not yet applied", "lag_seconds"),
    ("entities", "Entities in the read model", "entities"),
    ("size_bytes", "Size of all generations of the read model", "bytes"),
)

_OF_THE_MODEL = frozenset(("checkpoint", "entities", "bytes"))
"""Samples that need the read model itself."""


def projection_metrics(inspection: Inspection) -> Iterator[Metric]:
    """The log, each projection and the disk, as an inspection has found them.

    What is not known is no sample: a lag of 0 would say that all is well.
    """
    yield GaugeMetricFamily(
        "catalog_log_readable", "Whether this host can read the log", inspection.head is not None
    )
    yield GaugeMetricFamily(
        "catalog_log_read_only",
        "Whether the database of the log takes no writes",
        inspection.log_read_only,
    )
    for name, text, value in (
        ("head", "Newest position", inspection.head),
        ("size_bytes", "Size of the log, with its indexes", inspection.log_bytes),
    ):
        known = GaugeMetricFamily(f"catalog_log_{name}", text)
        if value is not None:
            known.add_metric((), value)
        yield known
    for name, text, attribute in _NUMBERS:
        family = GaugeMetricFamily(f"catalog_projection_{name}", text, labels=("projection",))
        for projection in inspection.projections:
            value = getattr(projection, attribute)
            if attribute in _OF_THE_MODEL and projection.state == "unavailable":
                value = None
            if value is not None:
                family.add_metric((projection.name,), value)
        yield family
    yield from _states(inspection)
    yield from _disk(inspection)


def _states(inspection: Inspection) -> Iterator[Metric]:
    state = GaugeMetricFamily(
        "catalog_projection_state",
        "Always 1; what the projector does",
        labels=("projection", "state"),
    )
    leader = GaugeMetricFamily(
        "catalog_projection_leader",
        "Whether a host feeds the read model, and which",
        labels=("projection", "host"),
    )
    for each in inspection.projections:
        state.add_metric((each.name, each.state), 1)
        leader.add_metric((each.name, each.leader or ""), each.leader is not None)
    yield state
    yield leader


def _disk(inspection: Inspection) -> Iterator[Metric]:
    size = GaugeMetricFamily("catalog_disk_size_bytes", "Size of the disk of the data directory")
    left = GaugeMetricFamily("catalog_disk_left_bytes", "Room on the disk of the data directory")
    if inspection.disk is not None:
        size.add_metric((), inspection.disk.bytes)
        left.add_metric((), inspection.disk.bytes_left)
    yield size
    yield left


def proof_metrics(proofs: Mapping[str, Proof]) -> Iterator[Metric]:
    """The age of the last proof of each part, and 1 or 0 for equal or different."""
    age = GaugeMetricFamily(
        "catalog_proof_age_seconds", "Time since the last verification", labels=("part",)
    )
    equal = GaugeMetricFamily(
        "catalog_proof_equal", "Whether the last verification found no difference", labels=("part",)
    )
    for part, proof in sorted(proofs.items()):
        age.add_metric((part,), max(time.time() - proof.at / 1000, 0.0))
        equal.add_metric((part,), proof.verdict is Verdict.EQUAL)
    yield age
    yield equal
