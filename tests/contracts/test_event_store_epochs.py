"""Treatment, by every event store, of appends that were planned in another epoch of the log."""

import pytest

from domain.errors import ConcurrentChange
from domain.event_store.appends import prepared
from domain.event_store.port import EventStore
from tests.contracts.recorded import changed, created, unplaced


def test_append_of_another_epoch_is_refused_alone(store: EventStore) -> None:
    store.append([created("a")])
    now = store.epoch()

    results = store.append_group(
        [
            prepared([created("b")], epoch=now),
            prepared([changed("a", 2), created("c")], epoch=now + 1),
            prepared([changed("a", 2, size=2)]),
            prepared([changed("a", 3)], epoch=now - 1),
        ]
    )

    assert [result for result in results if isinstance(result, int)] == [2, 3]
    assert [type(result) for result in results[1::2]] == [ConcurrentChange] * 2
    assert [[*result.entity_ids] for result in results if isinstance(result, ConcurrentChange)] == [
        ["a", "c"],
        ["a"],
    ]
    assert unplaced(store.read(0, 9)) == [created("a"), created("b"), changed("a", 2, size=2)]


def test_group_of_which_all_are_of_another_epoch_stores_nothing(store: EventStore) -> None:
    outdated = prepared([created("a")], epoch=store.epoch() + 1)

    results = store.append_group([outdated, outdated])

    assert [type(result) for result in results] == [ConcurrentChange] * 2
    assert store.head() == 0


def test_append_of_another_epoch_is_refused(store: EventStore) -> None:
    now = store.epoch()

    with pytest.raises(ConcurrentChange):
        store.append([created("a")], epoch=now + 1)

    assert store.append([created("a")], epoch=now) == 1 == store.durable_head()
