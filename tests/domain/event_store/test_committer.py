"""The committer: appends that are ready together are stored together, each with its own result."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from domain.errors import AlreadyExists, ConcurrentChange, StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.committer import (
    GROUP_APPENDS,
    GROUP_BYTES,
    MAX_WAITING_BYTES,
    Committer,
)
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.writes import Append, Refusal, StoredAppend
from tests.contracts.recorded import changed, created
from tests.waiting import until

PATIENCE = 60


class HeldStore:
    """A store whose transactions wait until they are let go, and which remembers their groups."""

    def __init__(self, store: EventStore) -> None:
        self.store = store
        self.groups: list[list[str]] = []
        """The ids of the entities of each group, as groups begin."""
        self.threads: list[int] = []
        """The threads of the groups."""
        self.errors: list[Exception] = []
        """Errors that the next transactions raise."""
        self.let_go = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        self.threads.append(threading.get_ident())
        self.groups.append([append.rows[0][0] for append in appends])
        assert self.let_go.wait(PATIENCE)
        if self.errors:
            raise self.errors.pop(0)
        return self.store.append_group(appends)


class World:
    """A committer over a held store."""

    def __init__(self, store: EventStore) -> None:
        self.store = HeldStore(store)
        self.heard: list[int] = []
        """The head of the log at each call of the committer's listener."""
        self.told: list[tuple[str, int]] = []
        """The ids of the entities that the listener was told of, and their positions."""
        self.committer = Committer(self.store, self._stored)  # type: ignore[arg-type]

    def _stored(self, stored: Sequence[StoredAppend]) -> None:
        self.told += [(each.append.rows[0][0], each.position) for each in stored]
        self.heard.append(self.store.head())

    def submit(self, *appends: Append) -> list["Future[int]"]:
        futures = [self.committer.add(append) for append in appends]
        self.committer.store()
        return futures

    def open_transaction(self) -> "Future[int]":
        """Submit a first append, and return once its transaction is open."""
        (first,) = self.submit(prepared([created("first")]))
        until(lambda: bool(self.store.groups))
        return first

    def ids(self) -> list[str]:
        return [recorded.entity_id for recorded in self.store.read(0, 10_000)]


@pytest.fixture
def world() -> Iterator[World]:
    store = open_event_log("file:committer?mode=memory&cache=shared")
    world = World(store)
    yield world
    world.store.let_go.set()
    world.committer.close()
    store.close()


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_appends_that_come_during_a_transaction_share_the_next_one(world: World) -> None:
    first = world.open_transaction()
    others = world.submit(*(prepared([created(each)]) for each in "abc"))
    assert not any(future.done() for future in (first, *others))
    world.store.let_go.set()
    assert [future.result(PATIENCE) for future in (first, *others)] == [1, 2, 3, 4]
    assert world.store.groups == [["first"], ["a", "b", "c"]]
    assert world.ids() == ["first", "a", "b", "c"]
    # Told after each transaction that there is something to read.
    until(lambda: world.heard == [1, 4])
    assert world.told == [("first", 1), ("a", 2), ("b", 3), ("c", 4)]


def test_each_append_has_its_own_result(world: World) -> None:
    first = world.open_transaction()
    good, same_name, stale, late = world.submit(
        prepared([created("a")]),
        prepared([created("b", "a")]),
        prepared([changed("first", 1)]),
        prepared([changed("a", 2)]),
    )
    world.store.let_go.set()
    assert (first.result(PATIENCE), good.result(PATIENCE), late.result(PATIENCE)) == (1, 2, 3)
    assert isinstance(same_name.exception(PATIENCE), AlreadyExists)
    assert isinstance(stale.exception(PATIENCE), ConcurrentChange)
    assert world.ids() == ["first", "a", "a"]
    until(lambda: world.told == [("first", 1), ("a", 2), ("a", 3)])


def test_what_cannot_be_stored_fails_all_of_its_group_and_no_other(world: World) -> None:
    first = world.open_transaction()
    world.store.errors = [StoreUnavailable("the disk is full")]
    others = world.submit(*(prepared([created(each)]) for each in "ab"))
    world.store.let_go.set()
    assert isinstance(first.exception(PATIENCE), StoreUnavailable)
    assert [future.result(PATIENCE) for future in others] == [1, 2]


def test_group_is_bounded_in_number(world: World) -> None:
    world.open_transaction()
    futures = world.submit(*(prepared([created(f"{n}")]) for n in range(GROUP_APPENDS + 2)))
    world.store.let_go.set()
    assert futures[-1].result(PATIENCE) == GROUP_APPENDS + 3
    assert list(map(len, world.store.groups)) == [1, GROUP_APPENDS, 2]


def test_group_is_bounded_in_bytes_unless_one_append_has_more(world: World) -> None:
    def large(entity_id: str, size: int) -> Append:
        return prepared([created(entity_id), changed(entity_id, 2, size)])

    world.open_transaction()
    futures = world.submit(
        large("a", GROUP_BYTES // 2 - 1_000),
        large("b", GROUP_BYTES // 2 - 1_000),
        large("c", GROUP_BYTES + 1),
        large("d", 1),
    )
    world.store.let_go.set()
    assert futures[-1].result(PATIENCE) == 9
    assert world.store.groups == [["first"], ["a", "b"], ["c"], ["d"]]


def test_submitting_waits_while_too_many_bytes_are_waiting(world: World) -> None:
    world.open_transaction()
    world.submit(prepared([created("a"), changed("a", 2, MAX_WAITING_BYTES)]))
    submitted: list[Future[int]] = []
    thread = in_thread(lambda: submitted.extend(world.submit(prepared([created("b")]))))
    thread.join(0.1)
    assert submitted == []
    world.store.let_go.set()
    thread.join(PATIENCE)
    assert submitted[0].result(PATIENCE) == 4


def test_writer_that_adds_too_many_bytes_has_them_stored_before_it_waits(world: World) -> None:
    world.store.let_go.set()
    large = prepared([created("a"), changed("a", 2, MAX_WAITING_BYTES)])
    futures = [world.committer.add(each) for each in (large, prepared([created("b")]))]
    assert futures[0].result(PATIENCE) == 2
    world.committer.store()
    assert futures[1].result(PATIENCE) == 3


def test_writer_that_is_alone_comes_between_two_transactions(world: World) -> None:
    first = world.open_transaction()
    inside, go_on = threading.Event(), threading.Event()
    seen: list[list[str]] = []

    def alone() -> None:
        with world.committer.alone():
            inside.set()
            assert go_on.wait(PATIENCE)
            seen.append(world.ids())

    thread = in_thread(alone)
    (other,) = world.submit(prepared([created("a")]))
    assert not inside.is_set()
    world.store.let_go.set()
    assert first.result(PATIENCE) == 1
    assert inside.wait(PATIENCE)
    # However long it takes, what was submitted before waits for it.
    assert world.store.groups == [["first"]]
    go_on.set()
    thread.join(PATIENCE)
    assert other.result(PATIENCE) == 2
    assert seen == [["first"]]


def test_writer_that_fails_alone_lets_the_others_go_on(world: World) -> None:
    world.store.let_go.set()
    with pytest.raises(StoreUnavailable), world.committer.alone():
        raise StoreUnavailable("no")
    assert world.submit(prepared([created("a")]))[0].result(PATIENCE) == 1


def test_closing_waits_for_what_was_submitted(world: World) -> None:
    first = world.open_transaction()
    (other,) = world.submit(prepared([created("a")]))
    thread = in_thread(world.committer.close)
    world.store.let_go.set()
    thread.join(PATIENCE)
    assert (first.done(), other.done()) == (True, True)
    assert world.ids() == ["first", "a"]


def test_only_writer_appends_in_its_own_thread_and_no_more_than_its_group(world: World) -> None:
    settled: list[int] = []
    futures: list[Future[int]] = []

    def write_alone() -> None:
        futures.append(
            world.committer.add(prepared([created("alone")]), lambda f: settled.append(f.result()))
        )
        world.committer.store(only=True)

    thread = in_thread(write_alone)
    until(lambda: bool(world.store.groups))
    # A transaction is open already: who is the only one to submit does not wait for it.
    other = world.committer.add(prepared([created("other")]))
    world.committer.store(only=True)
    assert not other.done()
    assert thread.ident == world.store.threads[0]
    world.store.let_go.set()
    thread.join(PATIENCE)
    assert (futures[0].result(0), settled) == (1, [1])
    assert other.result(PATIENCE) == 2
    assert thread.ident != world.store.threads[1]
    assert world.store.groups == [["alone"], ["other"]]


def test_results_are_there_before_anybody_is_told_of_a_transaction(world: World) -> None:
    told: list[bool] = []
    committer = Committer(world.store.store, lambda _: told.append(bool(settled)))
    settled: list[int] = []
    committer.add(prepared([created("a")]), lambda f: settled.append(f.result()))
    committer.store(only=True)
    committer.close()
    assert (settled, told) == ([1], [True])


def test_closing_waits_for_a_writer_that_appends_in_its_own_thread(world: World) -> None:
    world.committer.add(prepared([created("a")]))
    writer = in_thread(lambda: world.committer.store(only=True))
    until(lambda: bool(world.store.groups))
    closer = in_thread(world.committer.close)
    closer.join(0.1)
    assert closer.is_alive()
    world.store.let_go.set()
    closer.join(PATIENCE)
    assert not closer.is_alive()
    assert world.ids() == ["a"]
    writer.join(PATIENCE)
