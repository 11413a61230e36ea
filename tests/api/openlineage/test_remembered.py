"""Events that were taken lately are answered from memory, until what they rest on changes."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from api.openlineage.remembered import Key, RememberedEvents, Taken
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.catalog import Catalog

CONTEXT = WriteContext(actor="me", request_id="r")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventStore]:
    with closing(open_event_log(tmp_path / "events.db")) as log:
        yield log


def key(number: int) -> Key:
    return "somebody", number.to_bytes(16, "big")


def make(log: EventStore, name: str, kind: str = "pipelineService") -> str:
    """Create a service; returns its id."""
    catalog = Catalog(log)
    values = {"name": name, "serviceType": "Airflow" if kind == "pipelineService" else "Mysql"}

    proposal = catalog.propose(lambda: catalog.planner.put(KINDS[kind], values, CONTEXT), CONTEXT)
    catalog.until_stored(lambda: (proposal, None))
    return proposal.entity.id


def test_event_is_forgotten_once_what_it_rests_on_changes(log: EventStore) -> None:
    one, other = make(log, "one"), make(log, "other")
    remembered = RememberedEvents(log)
    position = remembered.follow()
    remembered.keep(key(1), Taken(b"1", position, {one}))
    remembered.keep(key(2), Taken(b"2", position, {other}))
    assert remembered.is_current()
    catalog = Catalog(log)
    patch = [{"op": "add", "path": "/description", "value": "new"}]
    proposal = catalog.propose(
        lambda: catalog.planner.patch(KINDS["pipelineService"], one, patch, CONTEXT), CONTEXT
    )
    catalog.until_stored(lambda: (proposal, None))
    assert not remembered.is_current()
    remembered.follow()
    assert (remembered.get(key(1)), remembered.get(key(2))) == (None, b"2")


def test_event_that_misses_something_is_forgotten_once_anything_is_made(log: EventStore) -> None:
    make(log, "one")
    remembered = RememberedEvents(log)
    remembered.keep(key(1), Taken(b"1", remembered.follow(), misses=True))
    assert remembered.get(key(1)) == b"1"
    make(log, "db", "databaseService")
    remembered.follow()
    assert remembered.get(key(1)) is None


def test_all_is_forgotten_where_much_has_changed(log: EventStore) -> None:
    make(log, "one")
    remembered = RememberedEvents(log)
    position = remembered.follow()
    remembered.keep(key(1), Taken(b"1", position))
    for number in range(201):
        make(log, f"many{number}")
    remembered.follow()
    assert remembered.get(key(1)) is None
    remembered.keep(key(1), Taken(b"1", position))
    assert remembered.get(key(1)) is None


def test_memory_is_bounded_in_bytes(log: EventStore) -> None:
    make(log, "one")
    remembered = RememberedEvents(log, most_bytes=250_000)
    position = remembered.follow()
    for number in range(3):
        remembered.keep(key(number), Taken(b"x" * 100_000, position))
    assert [remembered.get(key(number)) is not None for number in range(3)] == [False, True, True]
    remembered.keep(key(3), Taken(b"x" * 300_000, position))
    assert [remembered.get(key(number)) for number in range(4)] == [None] * 4
