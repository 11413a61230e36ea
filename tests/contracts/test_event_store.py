"""Promises of every event store: order, all or nothing, one winner, nothing lost."""

import threading
from collections.abc import Callable
from functools import partial

import pytest

from domain.errors import AlreadyExists, ConcurrentChange, StoreUnavailable
from domain.event_store.entity_reads import RecordedEvent, StreamSpan
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.writes import RememberedAnswer
from tests.contracts.conftest import OpenStore
from tests.contracts.recorded import changed, created, deleted, purged, unplaced

DAY = 24 * 60 * 60 * 1000
WRITERS, APPENDS = 4, 25


def answer(key: str, at: int = 1, actor: str = "ann") -> RememberedAnswer:
    return RememberedAnswer(
        actor=actor,
        key=key,
        digest=b"\x00digest",
        entity_id="a",
        stream_version=1,
        outcome="entityCreated",
        at=at,
    )


def stream(store: EventStore, entity_id: str, **bounds: int) -> list[RecordedEvent]:
    return unplaced(store.stream(entity_id, **bounds))


def test_empty_store(store: EventStore) -> None:
    assert store.head() == 0
    assert store.read(0, 10) == []
    assert stream(store, "a") == []
    assert store.claim("team", "a") is None
    assert store.claim_by_id("a") is None
    assert store.claims(parents=["a"]) == []
    assert store.answer("ann", "key") is None
    assert store.append([]) == 0
    assert (store.live(by_name=True).head, len(store.live(by_name=False))) == (0, 0)
    assert store.damage() == []
    assert store.former_holders("team", "a") == []


def test_append_answers_with_the_position_of_the_last_event(store: EventStore) -> None:
    first = store.append([created("a"), created("b"), changed("a", 2)])
    second = store.append([changed("b", 2)])
    assert [event.position for event in store.read(0, 10)][2:] == [first, second]
    assert 0 < first < second
    assert store.append([]) == store.head() == second


def test_stream_gives_one_entity_in_order(store: EventStore) -> None:
    mine = [created("a"), changed("a", 2), changed("a", 3), changed("a", 4)]
    store.append([mine[0], created("b"), mine[1], mine[2], changed("b", 2), mine[3]])
    assert stream(store, "a") == mine
    assert stream(store, "a", after=1) == mine[1:]
    assert stream(store, "a", upto=2) == mine[:2]
    assert stream(store, "a", after=1, upto=3) == mine[1:3]
    assert stream(store, "a", after=4) == []


def test_streams_give_spans_in_the_order_given(store: EventStore) -> None:
    store.append([created("a"), created("b"), created("c"), changed("b", 2)])
    before = store.head()
    store.append([changed("a", 2), changed("b", 3), changed("c", 2)])
    spans = [StreamSpan("c"), StreamSpan("none"), StreamSpan("b", 1), StreamSpan("a", 0, 1)]
    found = list(store.streams(spans))
    assert unplaced(found) == [
        created("c"),
        changed("c", 2),
        changed("b", 2),
        changed("b", 3),
        created("a"),
    ]
    log = {(each.entity_id, each.stream_version): each.position for each in store.read(0, 99)}
    assert [log[each.entity_id, each.stream_version] for each in found] == [
        each.position for each in found
    ]
    earlier = [each for each in found if each.position <= before]
    assert list(store.streams(spans, upto=before)) == earlier
    assert list(store.streams([])) == []


def test_streams_give_whole_streams_in_the_order_given_however_many(store: EventStore) -> None:
    ids = [f"{number * 7 % 1_100:04}" for number in range(1_100)]
    store.append([created(entity_id) for entity_id in sorted(ids)])
    head = store.append([changed(entity_id, 2) for entity_id in ids[::9]])
    store.append([changed(entity_id, 3) for entity_id in ids[::9]])
    asked = ["\0", "none", *ids[:5], f"{ids[0]}\0", *reversed(ids), ids[3], ids[3]]
    upto = dict.fromkeys(ids, 1) | dict.fromkeys(ids[::9], 2)
    found = list(store.streams([StreamSpan(entity_id) for entity_id in asked], upto=head))
    assert [(each.entity_id, each.stream_version) for each in found] == [
        (entity_id, version)
        for entity_id in asked
        for version in range(1, upto.get(entity_id, 0) + 1)
    ]


def test_read_gives_the_log_in_order(store: EventStore) -> None:
    batch = [created("b"), created("a"), changed("b", 2), changed("a", 2)]
    store.append(batch)
    log = store.read(0, 10)
    first, second, third, fourth = (event.position for event in log)
    assert unplaced(log) == batch
    assert first < second < third < fourth
    assert store.read(0, 2) == log[:2]
    assert store.read(second, 10) == log[2:]
    assert store.read(first, 10, upto=third) == log[1:3]
    assert store.read(first, 1, upto=third) == log[1:2]
    assert store.read(fourth, 10) == []
    assert store.read(0, 10, newest_first=True) == log[::-1]
    assert store.read(0, 2, newest_first=True) == log[:1:-1]
    assert store.read(first, 10, upto=third, newest_first=True) == [log[2], log[1]]
    assert store.read(fourth, 10, newest_first=True) == []


def test_another_handle_sees_what_was_appended(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    assert other.head() == 0
    position = one.append([created("a")], answer("key"))
    assert other.head() == position
    assert other.read(0, 10) == one.read(0, 10)
    assert other.claim("domain", "a") == one.claim_by_id("a")
    assert other.answer("ann", "key") == answer("key")
    assert other.identity() == one.identity() != ""
    assert other.size() == one.size() > 0


def test_address_opens_the_same_log_to_be_read(open_shared_store: OpenStore) -> None:
    store = open_shared_store()
    store.append([created("a")])
    reader = open_event_log(store.address, writable=False)
    assert reader.identity() == store.identity()
    store.append([changed("a", 2)])
    assert reader.read(0, 10) == store.read(0, 10)
    assert list(reader.stream("a")) == list(store.stream("a"))
    with pytest.raises(StoreUnavailable):
        reader.append([changed("a", 3)])
    assert store.append([changed("a", 3)]) == reader.head()
    reader.close()


def test_missing_log_is_not_made_by_a_reader(tmp_path: object) -> None:
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            open_event_log(f"{tmp_path}/none.db", writable=False)


def test_live_streams_leave_out_the_purged(store: EventStore) -> None:
    ids = [f"{letter * 8}-0000-4000-8000-000000000000" for letter in "abc"]
    last, deleted_one, first = ids
    head = store.append(
        [
            created(last, "z"),
            created(deleted_one, "m"),
            created(first, "a"),
            deleted(deleted_one, 2),
            created("d" * 36, "gone"),
            purged("d" * 36, 2),
        ]
    )
    by_name, by_id = store.live(by_name=True), store.live(by_name=False)
    assert (by_name.head, by_id.head) == (head, head)
    assert by_name.part(0, 9) == [first, last, deleted_one]
    assert by_id.part(0, 9) == ids
    assert by_id.part(1, 1) == [deleted_one]


def test_answers_are_remembered_for_each_actor_and_key(store: EventStore) -> None:
    head = store.append([created("a")], answer("key"))
    store.append([], answer("key", actor="bob"))
    assert store.answer("ann", "key") == answer("key")
    assert store.answer("bob", "key") == answer("key", actor="bob")
    assert store.answer("ann", "other") is None
    assert store.head() == head


def test_answers_are_forgotten_after_a_day(store: EventStore) -> None:
    store.append([], answer("old", at=1))
    store.append([], answer("newer", at=DAY + 1))
    assert store.answer("ann", "old") == answer("old", at=1)
    store.append([], answer("newest", at=DAY + 2))
    assert store.answer("ann", "old") is None
    assert store.answer("ann", "newer") == answer("newer", at=DAY + 1)


def test_second_answer_under_a_key_is_a_concurrent_change(store: EventStore) -> None:
    store.append([created("a")], answer("key"))
    with pytest.raises(ConcurrentChange):
        store.append([created("b")], answer("key"))
    assert stream(store, "b") == []
    assert store.claim_by_id("b") is None


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        ([created("b"), changed("a", 1)], ConcurrentChange),
        ([created("b"), created("c", "a")], AlreadyExists),
        ([created("b"), created("c", "b")], AlreadyExists),
        ([created("b"), changed("b", 1)], ConcurrentChange),
        ([created("b"), changed("a", 3)], ConcurrentChange),
        ([created("b"), changed("b", 3)], ConcurrentChange),
        ([created("b"), changed("c", 2)], ConcurrentChange),
    ],
    ids=[
        "stream version",
        "name",
        "name within the batch",
        "stream version within the batch",
        "stream version left out",
        "stream version left out within the batch",
        "stream without a beginning",
    ],
)
def test_refused_batch_leaves_nothing_behind(
    store: EventStore, refused: list[RecordedEvent], error: type[Exception]
) -> None:
    store.append([created("a")])
    log = store.read(0, 10)
    with pytest.raises(error):
        store.append(refused, answer("key"))
    assert store.read(0, 10) == log
    assert (store.claim_by_id("b"), store.claim_by_id("c")) == (None, None)
    assert store.answer("ann", "key") is None
    store.append([created("b")], answer("key"))
    assert [r.entity_id for r in store.read(0, 10)] == ["a", "b"]
    assert store.damage() == []


def test_entities_whose_streams_went_on_are_named(store: EventStore) -> None:
    store.append([created("a"), created("b"), created("c")])
    store.append([changed("a", 2), changed("c", 2)])
    with pytest.raises(ConcurrentChange) as caught:
        store.append([changed("c", 2), changed("b", 2), changed("a", 2)])
    assert list(caught.value.entity_ids) == ["c", "a"]


def test_two_appends_of_one_stream_version_have_one_winner(store: EventStore) -> None:
    store.append([created("a")])
    barrier = threading.Barrier(2)
    results: list[object] = []

    def append() -> None:
        barrier.wait()
        try:
            results.append(store.append([changed("a", 2)]))
        except ConcurrentChange as error:
            results.append(error.message)

    run([append, append])
    assert sorted(map(str, results)) == [
        str(store.head()),
        "another writer was first; try again",
    ]
    assert stream(store, "a") == [created("a"), changed("a", 2)]


def test_threads_appending_at_once_lose_nothing(store: EventStore) -> None:
    def append(writer: int) -> None:
        for number in range(APPENDS):
            entity_id = f"{writer}-{number}"
            store.append([created(entity_id), changed(entity_id, 2)])

    run([partial(append, writer) for writer in range(WRITERS)])
    log = store.read(0, 10_000)
    positions = [recorded.position for recorded in log]
    assert positions == sorted(set(positions))
    assert [recorded.stream_version for recorded in log] == [1, 2] * (WRITERS * APPENDS)
    assert [r.entity_id for r in log[::2]] == [r.entity_id for r in log[1::2]]
    assert sorted(r.entity_id for r in log[::2]) == sorted(
        f"{writer}-{number}" for writer in range(WRITERS) for number in range(APPENDS)
    )


def run(jobs: list[Callable[[], None]]) -> None:
    """Run the jobs in threads of their own and raise what any of them raises."""
    errors: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
