"""A log names what its events use, and is neither read nor written by who does not know it."""

import threading
from collections.abc import Callable
from contextlib import closing

import pytest
from msgspec.structs import replace

from domain.errors import AlreadyExists, CatalogError, LaterRelease, StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.database_url import is_url
from domain.event_store.features import EARLIEST, KNOWN
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import Connections
from domain.event_store.sqlite.snapshot import connect
from domain.event_store.transfer import ExportReader, export
from domain.event_store.writes import Expectations, RememberedAnswer
from tests.contracts.conftest import OpenStore
from tests.contracts.recorded import changed, created, deleted, drawn, purged, restored

NOTHING = Expectations()
RENAMED = "event:entity.merged"
REFUSED = (
    r"the log uses event:entity\.merged, which this release \(0\.2\.0\) does not know:"
    r" release 0\.11\.0 knows it"
)


def run(store: EventStore, statement: str) -> None:
    """Change the database of a store as another program would, whatever it is."""
    if is_url(store.address):
        with Connections(read_address(store.address, writable=True)).connect() as link:
            link.execute(statement.encode())
        return
    with closing(connect(store.address)) as connection, connection:
        connection.execute(statement)


def name_a_later_feature(store: EventStore) -> None:
    """Do as a program of a later release whose append is the first to use a feature."""
    run(store, f"INSERT INTO features (name, since) VALUES ('{RENAMED}', '0.11.0')")


def append_a_later_event(store: EventStore) -> None:
    """Append an event of a type that only a later release knows, to the stream of `a`."""
    payload = '{"kind":"domain","actor":"ann","at":1,"version":2,"requestId":"r","name":"b"}'
    if is_url(store.address):
        columns, blob = "events (position, entity_id, stream_version, type, payload)", "bytea"
        place = "(SELECT max(position) + 1 FROM events), "
    else:
        columns = "stored_events (originator_id, originator_version, topic, state)"
        place, blob = "", "BLOB"
    run(
        store,
        f"INSERT INTO {columns} VALUES ({place}'a', 2, 'entity.merged',"
        f" CAST('{payload}' AS {blob}))",
    )


def test_new_log_names_no_features(store: EventStore) -> None:
    assert store.features() == {}
    store.append([])
    assert store.features() == {}


def test_features_are_named_by_the_appends_that_use_them_first(store: EventStore) -> None:
    due = {"event:entity.created", "kind:domain"}
    store.append([created("a")])
    assert {*store.features()} == due
    for recorded, added in (
        ([created("b"), changed("b", 2)], {"event:entity.changed"}),
        ([created("c", parent_id="a")], {"field:entity.created.parentId"}),
        ([drawn("d", "a", "b")], {"kind:lineageEdge"}),
        (
            [deleted("b", 3), restored("b", 4), purged("b", 5)],
            {f"event:entity.{name}" for name in ("soft-deleted", "restored", "purged")},
        ),
    ):
        store.append(recorded)
        due |= added
        assert store.features() == {name: KNOWN[name] for name in due}


def test_features_of_appends_that_are_stored_together_are_all_named(store: EventStore) -> None:
    group = [[created("a")], [created("b", parent_id="a")], [drawn("c", "a", "b")], []]
    results = store.append_group([prepared(events) for events in group])
    assert len([each for each in results if isinstance(each, int)]) == 4
    assert {*store.features()} == {
        "event:entity.created",
        "field:entity.created.parentId",
        "kind:domain",
        "kind:lineageEdge",
    }


def test_refused_append_names_nothing(store: EventStore) -> None:
    store.append([created("a")])
    named = store.features()
    with pytest.raises(AlreadyExists):
        store.append([created("b", "a", parent_id="p")])
    refused, stored = store.append_group(
        [prepared([created("b", "a", parent_id="p")]), prepared([deleted("a", 2)])]
    )
    assert isinstance(refused, AlreadyExists)
    assert stored == store.head()
    assert {*store.features()} - {*named} == {"event:entity.soft-deleted"}


def test_event_and_the_features_that_it_is_the_first_to_use_are_stored_together(
    open_shared_store: OpenStore,
) -> None:
    store, other = open_shared_store(), open_shared_store()
    assert (other.head(), other.features()) == (0, {})
    store.append([created("a")])
    assert (other.head(), {*other.features()}) == (1, {"event:entity.created", "kind:domain"})


def test_event_is_not_stored_where_its_features_cannot_be_named(
    open_shared_store: OpenStore,
) -> None:
    store = open_shared_store()
    if is_url(store.address):
        run(store, "ALTER TABLE features ADD CHECK (name <> 'kind:domain')")
    else:
        run(
            store,
            "CREATE TRIGGER full BEFORE INSERT ON features WHEN NEW.name = 'kind:domain'"
            " BEGIN SELECT RAISE(FAIL, 'full'); END",
        )
    for _ in range(2):
        with pytest.raises(CatalogError):
            store.append([created("a")])
        assert (store.head(), store.features(), store.claims(ids=["a"])) == (0, {}, [])


def test_append_of_what_this_program_has_no_release_for_is_not_stored(store: EventStore) -> None:
    append = prepared([created("a")])
    later = replace(append, features=append.features | {RENAMED})
    with pytest.raises(LaterRelease, match=r"what is to be stored uses event:entity\.merged"):
        store.append_group([later])
    assert (store.head(), store.features()) == (0, {})
    assert store.append([created("a")]) == 1


def test_writers_that_name_the_same_features_at_once_all_store(
    open_shared_store: OpenStore,
) -> None:
    stores = [open_shared_store() for _ in range(4)]
    barrier = threading.Barrier(4)

    def append(number: int) -> None:
        barrier.wait()
        for each in range(5):
            stores[number].append([created(f"{number}.{each}", parent_id="p")])

    threads = [threading.Thread(target=append, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stores[0].head() == 20
    assert len(stores[0].features()) == 3


def test_log_of_a_later_release_is_not_opened(open_shared_store: OpenStore) -> None:
    store = open_shared_store()
    store.append([created("a")])
    name_a_later_feature(store)
    for writable in (True, False):
        with pytest.raises(LaterRelease, match=REFUSED):
            open_event_log(store.address, writable=writable)
    with pytest.raises(LaterRelease, match=REFUSED):
        store.refuse_later_release()


APPENDS: dict[str, Callable[[EventStore], object]] = {
    "an event": lambda store: store.append([changed("a", 2)]),
    "events": lambda store: store.append([changed("a", 2), changed("a", 3)]),
    "what uses more": lambda store: store.append([deleted("a", 2)]),
    "a group": lambda store: store.append_group([prepared([changed("a", 2)])] * 2),
    "an answer alone": lambda store: store.append([], ANSWER),
}
ANSWER = RememberedAnswer(
    actor="ann", key="k", digest=b"d", entity_id="a", stream_version=1, outcome="created", at=1
)


@pytest.mark.parametrize("append", APPENDS.values(), ids=APPENDS)
def test_running_writer_stores_nothing_once_a_later_release_has_named_a_feature(
    open_shared_store: OpenStore, append: Callable[[EventStore], object]
) -> None:
    store, reader = open_shared_store(), open_shared_store()
    store.append([created("a")])
    store.append([changed("a", 2)])
    later, append_again = open_shared_store(), [created("b")]
    name_a_later_feature(later)
    for _ in range(2):
        with pytest.raises(LaterRelease, match=REFUSED):
            append(store)
        with pytest.raises(LaterRelease, match=REFUSED):
            store.append(append_again)
    assert (reader.head(), reader.answer("ann", "k")) == (2, None)
    assert [each.entity_id for each in reader.read(0, 9)] == ["a", "a"]


def test_running_writer_goes_on_when_others_name_what_it_knows(
    open_shared_store: OpenStore,
) -> None:
    store, other = open_shared_store(), open_shared_store()
    store.append([created("a")])
    other.append([changed("a", 2)])
    assert store.append([created("b")]) == 3
    other.append([created("c", parent_id="a")])
    group = [prepared([created(name)]) for name in "de"]
    assert store.append_group(group) == [5, 6]
    other.append([deleted("c", 2)])
    assert store.append([created("f")]) == 8


def test_event_of_a_later_release_is_not_read_and_its_release_named(
    open_shared_store: OpenStore,
) -> None:
    store = open_shared_store()
    store.append([created("a")])
    append_a_later_event(store)
    with pytest.raises(LaterRelease, match=r"an event has the type 'entity\.merged', which this"):
        store.read(0, 9)
    name_a_later_feature(store)
    for read in (lambda: store.read(0, 9), lambda: [*store.stream("a")]):
        with pytest.raises(LaterRelease, match=REFUSED):
            read()


def test_log_of_a_later_release_is_not_exported(open_shared_store: OpenStore) -> None:
    store = open_shared_store()
    store.append([created("a")])
    append_a_later_event(store)
    with (
        store.snapshot() as snapshot,
        pytest.raises(LaterRelease, match="the event at position 2: an event has the type"),
    ):
        [*export(store, snapshot)]
    name_a_later_feature(store)
    with store.snapshot() as snapshot, pytest.raises(LaterRelease, match=REFUSED):
        next(export(store, snapshot))


def test_event_of_a_later_release_is_not_restored(store: EventStore) -> None:
    row = ("a", 1, "entity.merged", b"{}", 1)
    with pytest.raises(LaterRelease, match=r"position 1: an event has the type 'entity\.merged'"):
        [*store.restore(iter([row]))]
    assert (store.head(), store.features()) == (0, {})


def test_restored_log_names_what_its_events_use(store: EventStore, other_store: EventStore) -> None:
    other_store.append([created("a"), created("b", parent_id="a"), changed("b", 2)])
    with other_store.snapshot() as snapshot:
        lines = [*export(other_store, snapshot)]
    reader = ExportReader(lines, "file")
    assert [*store.restore(reader.rows())] == [3]
    assert store.features() == other_store.features() == reader.header.features
    assert len(store.features()) == 4


def test_log_from_before_features_is_taken_to_use_those_of_the_first_release(
    open_shared_store: OpenStore,
) -> None:
    store = open_shared_store()
    if is_url(store.address):
        pytest.skip("the tables of such a log are brought to this release by the command alone")
    store.append([created("a")])
    run(store, "DROP TABLE features")
    with closing(open_event_log(store.address, writable=False)) as reader:
        assert reader.features() == EARLIEST
        with reader.snapshot() as snapshot:
            assert snapshot.features() == EARLIEST
    with closing(open_event_log(store.address)) as writer:
        assert writer.features() == EARLIEST
        assert writer.append([created("b")]) == 2
        assert writer.features() == EARLIEST


def test_log_that_cannot_be_read_tells_no_features(open_shared_store: OpenStore) -> None:
    store = open_shared_store()
    if not is_url(store.address):
        run(store, "DROP TABLE stored_events")
        run(store, "DROP TABLE features")
        assert store.features() == {}
        return
    run(store, "DROP TABLE features")
    with pytest.raises(StoreUnavailable):
        store.features()
