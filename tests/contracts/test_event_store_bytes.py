"""Memory of every event store at a time: bytes, however large single events are."""

import tracemalloc
from itertools import pairwise

import pytest

from domain.event_store.entity_reads import StreamSpan
from domain.event_store.port import READ_BYTES, STREAM_BYTES, EventStore
from tests.contracts.recorded import changed, created

WIDE = 2_000_000
"""Bytes of an event: larger than a read of streams, smaller than a batch of the log."""
EVENTS = 20


@pytest.fixture
def wide(store: EventStore) -> EventStore:
    """Entities of several wide events, 40 MB together."""
    for entity_id in "abcd":
        store.append([created(entity_id)])
    for version in range(2, EVENTS // 4 + 2):
        store.append([changed(entity_id, version, WIDE) for entity_id in "abcd"])
    return store


def test_batches_of_the_log_are_bounded_in_bytes(wide: EventStore) -> None:
    batches, after = [], 0
    while batch := wide.read(after, 1_000):
        batches.append(batch)
        after = batch[-1].position
    whole = [event.position for batch in batches for event in batch]
    assert len(whole) == EVENTS + 4
    assert all(before < after for before, after in pairwise(whole))
    sizes = [sum(WIDE for event in batch if event.stream_version > 1) for batch in batches]
    assert sum(sizes) == EVENTS * WIDE
    assert max(sizes) <= READ_BYTES + WIDE


def test_streams_hold_one_read_at_a_time(wide: EventStore) -> None:
    spans = [StreamSpan(entity_id) for entity_id in "abcd"]
    tracemalloc.start()
    read = [(event.entity_id, event.stream_version) for event in wide.streams(spans)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read == [(one, version) for one in "abcd" for version in range(1, EVENTS // 4 + 2)]
    # The events of a read as stored, the one looked at decoded, and the one before it.
    assert peak < STREAM_BYTES + 3 * WIDE + STREAM_BYTES


def test_snapshot_holds_one_event_at_a_time(wide: EventStore) -> None:
    with wide.snapshot() as snapshot:
        tracemalloc.start()
        count = sum(1 for _ in snapshot.streams()) + sum(1 for _ in snapshot.events())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert count == 2 * (EVENTS + 4)
    assert peak < 3 * WIDE
