"""Promises of every event store when several processes write to it at once."""

import threading

import pytest

from domain import events
from domain.event_store.port import EventStore
from tests.contracts.conftest import OpenStore
from tests.contracts.recorded import created
from tests.contracts.writers import PARENT, race

COUNT = 25


@pytest.mark.deep
def test_processes_appending_at_once_lose_nothing(open_shared_store: OpenStore) -> None:
    store = open_shared_store()
    assert race(store.address, ["append_pairs"] * 4, COUNT) == [0] * 4
    log = store.read(0, 10_000)
    positions = [recorded.position for recorded in log]
    assert positions == sorted(set(positions))
    assert [recorded.stream_version for recorded in log] == [1, 2] * (4 * COUNT)
    assert [r.entity_id for r in log[::2]] == [r.entity_id for r in log[1::2]]
    assert sorted(r.entity_id for r in log[::2]) == sorted(
        f"w{writer}-{number}" for writer in range(4) for number in range(COUNT)
    )
    assert store.damage() == []


def test_each_stream_version_has_one_winner_among_processes(open_shared_store: OpenStore) -> None:
    store = open_shared_store()
    store.append([created(PARENT)])
    refused = race(store.address, ["change_one"] * 4, COUNT)
    written = 4 * COUNT - sum(refused)
    assert [event.stream_version for event in store.stream(PARENT)] == [*range(1, written + 2)]


def test_reader_that_saw_a_position_never_meets_a_smaller_one(open_shared_store: OpenStore) -> None:
    store, reading = open_shared_store(), open_shared_store()
    seen: list[int] = []
    done = threading.Event()

    def follow() -> None:
        finished = False
        while not finished:
            finished = done.is_set()
            after = seen[-1] if seen else 0
            seen.extend(event.position for event in reading.read(after, 7))
            assert reading.head() >= (seen[-1] if seen else 0)

    reader = threading.Thread(target=follow)
    reader.start()
    race(store.address, ["append_pairs"] * 3, COUNT)
    done.set()
    reader.join()
    after = seen[-1]
    seen.extend(event.position for event in reading.read(after, 10_000))
    assert seen == [event.position for event in store.read(0, 10_000)]
    assert len(seen) == 2 * 3 * COUNT


def test_nothing_live_is_ever_below_what_is_deleted(open_shared_store: OpenStore) -> None:
    store = open_shared_store()
    store.append([created(PARENT, "top")])
    refused = race(store.address, ["add_child", "add_child", "toggle_parent"], 2 * COUNT)
    assert orphans(store) == []
    assert sum(refused) < 6 * COUNT


def orphans(store: EventStore) -> list[tuple[int, str]]:
    """Position and id wherever an event left a live child below a parent that is not live."""
    parents: dict[str, str] = {}
    live: set[str] = set()
    wrong = []
    for recorded in store.read(0, 100_000):
        event, entity_id = recorded.event, recorded.entity_id
        if isinstance(event, events.EntityCreated):
            live.add(entity_id)
            if event.parent_id is not None:
                parents[entity_id] = event.parent_id
        elif isinstance(event, events.EntityRestored):
            live.add(entity_id)
        elif isinstance(event, events.EntitySoftDeleted | events.EntityPurged):
            live.discard(entity_id)
        wrong += [
            (recorded.position, child)
            for child, parent in parents.items()
            if child in live and parent not in live
        ]
    return wrong
