"""The metrics that a server shows, read as a scraper does."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from projections.operation.proofs import Proof, keep_proof
from projections.verification.report import Verdict
from tests.api.conftest import Client, running


def families(client: Client, role: str = "scraper") -> list[Metric]:
    """The families of `/metrics`, each with its samples."""
    response = client.request("GET", "/metrics", role=role)
    assert response.status_code == 200, response.text
    return [*text_string_to_metric_families(response.text)]


def sample(client: Client, name: str, **labels: str) -> float | None:
    """The value of the sample with a name and labels; None where there is none."""
    return next(
        (
            each.value
            for family in families(client)
            for each in family.samples
            if each.name == name and each.labels == labels
        ),
        None,
    )


@contextmanager
def measured(directory: Path, **options: Any) -> Iterator[Client]:
    """A client of a catalog of which every metric has a sample."""
    with running(directory, **options) as client:
        client.schema()
        client.search_until(lambda answer: answer["hits"]["total"]["value"] == 3, q="*")
        at = time.time_ns() // 1_000_000 - 60_000
        for part, verdict in (("log", Verdict.EQUAL), ("search", Verdict.DIFFERS)):
            keep_proof(directory, part, Proof(verdict, 3, 3, 0, None, None, at, 0.5, "ann"))
        yield client
