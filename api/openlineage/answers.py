"""The answers to events of OpenLineage."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Struct

MOST_NAMED = 100
"""Datasets that an answer names."""


class UnresolvedName(Struct):
    """A dataset that the catalog does not have."""

    namespace: str
    name: str


class TakenEvent(Struct):
    """What became of an event."""

    status: Literal["ok"] = "ok"
    edges: int = 0
    """Number of edges that the event means and the catalog has."""
    unresolved: list[UnresolvedName] = []
    """Datasets that the catalog does not have, 100 at most: their edges wait for them."""
    ignored: list[str] = []
    """Sentences on what of the event was left out, 100 at most."""


class BatchSummary(Struct):
    """The events of a batch in numbers."""

    received: int
    successful: int
    failed: int
    retriable: int
    non_retriable: int


class FailedEvent(Struct):
    """An event of a batch that was not taken."""

    index: int
    reason: str
    retriable: bool = False


class TakenBatch(Struct):
    """What became of the events of a batch."""

    status: Literal["success", "partial_success", "failure"]
    summary: BatchSummary
    failed_events: list[FailedEvent]


def batch_answer(received: int, failed: Sequence[FailedEvent]) -> bytes:
    """The answer to a batch."""
    retriable = sum(each.retriable for each in failed)
    status: Literal["success", "partial_success", "failure"] = "success"
    if failed:
        status = "failure" if len(failed) == received else "partial_success"
    summary = BatchSummary(
        received=received,
        successful=received - len(failed),
        failed=len(failed),
        retriable=retriable,
        non_retriable=len(failed) - retriable,
    )
    return msgspec.json.encode(TakenBatch(status, summary, [*failed]))
