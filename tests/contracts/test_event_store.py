"""What every event store keeps to: order, all or nothing, one winner, nothing lost."""

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import domain
from domain.errors import AlreadyExists, ConcurrentChange
from domain.event_store.log import open_event_log
from domain.event_store.port import EventStore, RecordedEvent, RememberedAnswer
from domain.events import EntityChanged, EntityCreated

DAY = 24 * 60 * 60 * 1000
WRITERS, APPENDS = 4, 25


def created(entity_id: str, fqn: str | None = None, kind: str = "team") -> RecordedEvent:
    name = fqn or entity_id
    return RecordedEvent(
        entity_id,
        1,
        EntityCreated(
            kind=kind, actor="ann", at=1, version=1, request_id="r", name=name, fqn=name, body={}
        ),
    )


def changed(entity_id: str, stream_version: int) -> RecordedEvent:
    patch = [{"op": "add", "path": "/description", "value": f"{stream_version}"}]
    event = EntityChanged(
        kind="team", actor="ann", at=1, version=stream_version, request_id="r", patch=patch
    )
    return RecordedEvent(entity_id, stream_version, event)


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


def at(recorded: RecordedEvent, position: int) -> RecordedEvent:
    return RecordedEvent(recorded.entity_id, recorded.stream_version, recorded.event, position)


def test_empty_store(store: EventStore) -> None:
    assert store.head() == 0
    assert store.read(0, 10) == []
    assert store.stream("a") == []
    assert store.claim("team", "a") is None
    assert store.claim_by_id("a") is None
    assert store.children("a") == []
    assert store.answer("ann", "key") is None
    assert store.append([]) == 0


def test_append_answers_with_the_position_of_the_last_event(store: EventStore) -> None:
    assert store.append([created("a"), created("b"), changed("a", 2)]) == 3
    assert store.append([changed("b", 2)]) == 4
    assert store.append([]) == 4
    assert store.head() == 4


def test_stream_gives_one_entity_in_order(store: EventStore) -> None:
    mine = [created("a"), changed("a", 2), changed("a", 3), changed("a", 4)]
    store.append([mine[0], created("b"), mine[1], mine[2], changed("b", 2), mine[3]])
    assert store.stream("a") == mine
    assert store.stream("a", after=1) == mine[1:]
    assert store.stream("a", upto=2) == mine[:2]
    assert store.stream("a", after=1, upto=3) == mine[1:3]
    assert store.stream("a", after=4) == []


def test_read_gives_the_log_in_order(store: EventStore) -> None:
    batch = [created("b"), created("a"), changed("b", 2), changed("a", 2)]
    store.append(batch)
    log = [at(event, position) for position, event in enumerate(batch, start=1)]
    assert store.read(0, 10) == log
    assert store.read(0, 2) == log[:2]
    assert store.read(2, 10) == log[2:]
    assert store.read(1, 10, upto=3) == log[1:3]
    assert store.read(1, 1, upto=3) == log[1:2]
    assert store.read(4, 10) == []


def test_another_handle_sees_what_was_appended(open_store: Callable[[], EventStore]) -> None:
    one, other = open_store(), open_store()
    assert other.head() == 0
    one.append([created("a")], answer("key"))
    assert other.head() == 1
    assert other.read(0, 10) == [at(created("a"), 1)]
    assert other.claim("team", "a") == one.claim_by_id("a")
    assert other.answer("ann", "key") == answer("key")


def test_answers_are_remembered_for_each_actor_and_key(store: EventStore) -> None:
    store.append([created("a")], answer("key"))
    store.append([], answer("key", actor="bob"))
    assert store.answer("ann", "key") == answer("key")
    assert store.answer("bob", "key") == answer("key", actor="bob")
    assert store.answer("ann", "other") is None
    assert store.head() == 1


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
    assert store.stream("b") == []
    assert store.claim_by_id("b") is None


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        ([created("b"), changed("a", 1)], ConcurrentChange),
        ([created("b"), created("c", "a")], AlreadyExists),
        ([created("b"), created("c", "b")], AlreadyExists),
        ([created("b"), changed("b", 1)], ConcurrentChange),
    ],
    ids=["stream version", "name", "name within the batch", "stream version within the batch"],
)
def test_refused_batch_leaves_nothing_behind(
    store: EventStore, refused: list[RecordedEvent], error: type[Exception]
) -> None:
    store.append([created("a")])
    with pytest.raises(error):
        store.append(refused, answer("key"))
    assert store.read(0, 10) == [at(created("a"), 1)]
    assert (store.claim_by_id("b"), store.claim_by_id("c")) == (None, None)
    assert store.answer("ann", "key") is None
    store.append([created("b")], answer("key"))
    assert [r.entity_id for r in store.read(0, 10)] == ["a", "b"]


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
    assert sorted(map(str, results)) == ["2", "another writer was first; try again"]
    assert store.stream("a") == [created("a"), changed("a", 2)]


def test_threads_appending_at_once_lose_nothing(store: EventStore) -> None:
    def append(writer: int) -> None:
        for number in range(APPENDS):
            entity_id = f"{writer}-{number}"
            store.append([created(entity_id), changed(entity_id, 2)])

    run([partial(append, writer) for writer in range(WRITERS)])
    check_all_there(store)


def test_processes_appending_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    store = open_event_log(path)
    code = (
        "import sys; from domain.event_store.log import open_event_log as o;"
        "from domain.event_store.port import RecordedEvent as R;"
        "from domain.events import EntityChanged as C, EntityCreated as N;"
        "log = o(sys.argv[1]); common = dict(kind='team', actor='ann', at=1, request_id='r');"
        f"[log.append([R(i, 1, N(version=1, name=i, fqn=i, body={{}}, **common)),"
        f" R(i, 2, C(version=2, patch=[], **common))])"
        f" for i in (sys.argv[2] + '-' + str(n) for n in range({APPENDS}))]; log.close()"
    )
    root = Path(domain.__file__ or "").parent.parent
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(writer)], cwd=root)
        for writer in range(WRITERS)
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0] * WRITERS
    check_all_there(store)
    store.close()


def check_all_there(store: EventStore) -> None:
    """Each pair of events once, side by side, positions ascending."""
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
