"""Promises of every event store when independent appends share a transaction."""

import pytest

from domain.errors import AlreadyExists, ConcurrentChange, StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.writes import Append, Expectations, RememberedAnswer
from tests.contracts.conftest import OpenStore
from tests.contracts.recorded import changed, created, deleted, purged, restored, unplaced
from tests.contracts.writers import GROUP, append_groups_until_killed


def answer(key: str, entity_id: str = "a") -> RememberedAnswer:
    return RememberedAnswer(
        actor="ann",
        key=key,
        digest=b"digest",
        entity_id=entity_id,
        stream_version=1,
        outcome="entityCreated",
        at=1,
    )


def ids(store: EventStore) -> list[str]:
    return [recorded.entity_id for recorded in store.read(0, 1_000)]


def test_group_is_stored_in_its_order(store: EventStore) -> None:
    before = store.append([created("first")])
    results = store.append_group(
        [
            prepared([created("a"), changed("a", 2)], answer("key")),
            prepared([created("b", "top")]),
            prepared([created("c", "top.c", "b")], expecting=Expectations(live=frozenset("b"))),
        ]
    )
    log = store.read(before, 10)
    assert unplaced(log) == [
        created("a"),
        changed("a", 2),
        created("b", "top"),
        created("c", "top.c", "b"),
    ]
    assert results == [event.position for event in log[1:]]
    assert store.answer("ann", "key") == answer("key")
    assert store.append_group([]) == []


def test_group_without_events_answers_with_the_head_that_each_of_it_met(store: EventStore) -> None:
    head = store.append([created("a")])
    first, second, third = store.append_group(
        [prepared([], answer("one")), prepared([changed("a", 2)]), prepared([], answer("two"))]
    )
    assert (first, second, third) == (head, store.head(), store.head())
    assert (store.answer("ann", "one"), store.answer("ann", "two")) == (
        answer("one"),
        answer("two"),
    )


REFUSED: dict[str, tuple[Append, type[Exception]]] = {
    "stream version": (prepared([created("x"), changed("a", 1)]), ConcurrentChange),
    "version left out": (prepared([created("x"), changed("a", 5)]), ConcurrentChange),
    "name": (prepared([created("x"), created("y", "a")]), AlreadyExists),
    "id": (prepared([created("x"), created("a", "other")]), ConcurrentChange),
    "key": (prepared([created("x")], answer("taken")), ConcurrentChange),
    "sole child": (
        prepared(
            [created("x", "a.x", "a"), created("y", "a.y", "a")],
            expecting=Expectations(sole=frozenset({("domain", "a")})),
        ),
        ConcurrentChange,
    ),
    "claims": (
        prepared([created("x", "q.x", "q")], expecting=Expectations(live=frozenset("q"))),
        ConcurrentChange,
    ),
}


@pytest.mark.parametrize(("refused", "error"), REFUSED.values(), ids=REFUSED)
def test_append_that_is_refused_is_refused_alone(
    store: EventStore, refused: Append, error: type[Exception]
) -> None:
    store.append([created("a")], answer("taken"))
    results = store.append_group(
        [
            prepared([created("b")], answer("before", "b")),
            refused,
            prepared([changed("a", 2)]),
            refused,
            prepared([created("c")], answer("after", "c")),
        ]
    )
    assert [type(result) for result in results] == [int, error, int, error, int]
    assert ids(store) == ["a", "b", "a", "c"]
    assert (store.claim_by_id("x"), store.claim_by_id("y")) == (None, None)
    assert store.answer("ann", "before") == answer("before", "b")
    assert store.answer("ann", "after") == answer("after", "c")
    assert store.damage() == []
    # What was refused has left nothing that would be in its own way.
    assert store.append([created("x"), created("y")]) == store.head()


def test_group_of_which_all_are_refused_stores_nothing(store: EventStore) -> None:
    head = store.append([created("a")])
    results = store.append_group([prepared([changed("a", 5)]), prepared([created("b", "a")])])
    assert [type(result) for result in results] == [ConcurrentChange, AlreadyExists]
    assert store.head() == head
    assert store.damage() == []


def test_of_two_changes_of_one_state_the_first_wins(store: EventStore) -> None:
    store.append([created("a"), created("b")])
    first, second, next_one = store.append_group(
        [
            prepared([changed("a", 2)]),
            prepared([changed("b", 2), changed("a", 2)]),
            prepared([changed("a", 3)]),
        ]
    )
    assert isinstance(second, ConcurrentChange)
    assert list(second.entity_ids) == ["a"]
    assert ids(store) == ["a", "b", "a", "a"]
    assert (first, next_one) == (store.head() - 1, store.head())


def test_name_goes_to_the_first_of_a_group(store: EventStore) -> None:
    first, second = store.append_group(
        [prepared([created("a", "n")]), prepared([created("b", "n")])]
    )
    assert isinstance(first, int)
    assert isinstance(second, AlreadyExists)
    assert second.message == "a name is taken: 'n'"
    claimed = store.claim("domain", "n")
    assert claimed is not None
    assert claimed.id == "a"


def test_key_goes_to_the_first_of_a_group(store: EventStore) -> None:
    first, second = store.append_group(
        [prepared([created("a")], answer("key")), prepared([created("b")], answer("key", "b"))]
    )
    assert isinstance(first, int)
    assert isinstance(second, ConcurrentChange)
    assert store.answer("ann", "key") == answer("key")
    assert ids(store) == ["a"]


LIVE, CHILDLESS = Expectations(live=frozenset("p")), Expectations(without_children=frozenset("p"))
NO_LIVE_CHILDREN = Expectations(without_live_children=frozenset("p"))
BORN = prepared([created("c", "p.c", "p")], expecting=LIVE)
SOLE = Expectations(sole=frozenset({("domain", "p")}))


@pytest.mark.parametrize(
    ("group", "stored"),
    [
        ([BORN, prepared([deleted("p", 2)], expecting=NO_LIVE_CHILDREN)], [True, False]),
        ([prepared([deleted("p", 2)], expecting=NO_LIVE_CHILDREN), BORN], [True, False]),
        ([BORN, prepared([purged("p", 2)], expecting=CHILDLESS)], [True, False]),
        ([prepared([purged("p", 2)], expecting=CHILDLESS), BORN], [True, False]),
        (
            [
                prepared([deleted("p", 2)], expecting=NO_LIVE_CHILDREN),
                prepared([restored("p", 3)]),
                BORN,
            ],
            [True, True, True],
        ),
        (
            [
                prepared([deleted("p", 2)], expecting=NO_LIVE_CHILDREN),
                prepared([changed("p", 2)]),
                BORN,
                prepared([purged("p", 3)], expecting=CHILDLESS),
                prepared([created("q", "p")]),
            ],
            [True, False, False, True, True],
        ),
        (
            [
                prepared([created("one", "p.one", "p")], expecting=SOLE),
                prepared([created("two", "p.two", "p")], expecting=SOLE),
                prepared([deleted("one", 2)]),
                prepared([created("two", "p.two", "p")], expecting=SOLE),
                prepared([restored("one", 3)], expecting=SOLE),
            ],
            [True, False, True, True, False],
        ),
    ],
    ids=[
        "child first",
        "deletion first",
        "purge last",
        "purge first",
        "restored",
        "refused between",
        "sole",
    ],
)
def test_claims_are_as_the_earlier_of_a_group_have_left_them(
    store: EventStore, group: list[Append], stored: list[bool]
) -> None:
    store.append([created("p")])
    assert [isinstance(result, int) for result in store.append_group(group)] == stored
    assert store.damage() == []


def test_group_that_cannot_be_stored_is_not_stored_at_all(open_shared_store: OpenStore) -> None:
    store = open_shared_store()
    store.append([created("a")])
    reader = open_event_log(store.address, writable=False)
    with pytest.raises(StoreUnavailable):
        reader.append_group([prepared([created("b")]), prepared([changed("a", 1)])])
    assert ids(store) == ["a"]
    reader.close()


def test_group_is_there_whole_or_not_at_all_after_a_crash(open_shared_store: OpenStore) -> None:
    store = open_shared_store()
    acknowledged = append_groups_until_killed(store.address, 20)
    stored = {recorded.entity_id for recorded in store.read(0, 100_000)}
    assert acknowledged >= 20
    names = [f"{number}-{member}" for number in range(acknowledged) for member in range(GROUP)]
    assert stored.issuperset(names)
    # Of the group that the process was killed in, there is everything or nothing.
    assert len(stored) % GROUP == 0
    assert store.damage() == []
