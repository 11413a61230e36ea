"""What every event store keeps to about qualified names, in step with the events."""

from typing import Any

import pytest

from domain import events
from domain.errors import AlreadyExists, ConcurrentChange
from domain.event_store.port import Claim, EventStore, RecordedEvent

COMMON: dict[str, Any] = {"kind": "domain", "actor": "ann", "at": 1, "version": 1}


def created(entity_id: str, fqn: str, parent_id: str | None = None) -> RecordedEvent:
    name = fqn.rsplit(".", 1)[-1]
    event = events.EntityCreated(
        request_id="r", name=name, fqn=fqn, parent_id=parent_id, body={}, **COMMON
    )
    return RecordedEvent(entity_id, 1, event)


def deleted(entity_id: str, stream_version: int) -> RecordedEvent:
    return RecordedEvent(
        entity_id, stream_version, events.EntitySoftDeleted(request_id="r", **COMMON)
    )


def restored(entity_id: str, stream_version: int) -> RecordedEvent:
    return RecordedEvent(entity_id, stream_version, events.EntityRestored(request_id="r", **COMMON))


def purged(entity_id: str, stream_version: int) -> RecordedEvent:
    return RecordedEvent(entity_id, stream_version, events.EntityPurged(request_id="r", **COMMON))


def claim(
    entity_id: str, fqn: str, parent_id: str | None = None, *, deleted: bool = False
) -> Claim:
    name = fqn.rsplit(".", 1)[-1]
    return Claim(
        kind="domain", fqn=fqn, id=entity_id, name=name, parent_id=parent_id, deleted=deleted
    )


@pytest.fixture
def family(store: EventStore) -> EventStore:
    """A parent with two children."""
    store.append(
        [created("p", "top"), created("c2", "top.two", "p"), created("c1", "top.one", "p")]
    )
    return store


def test_creation_claims_the_name(family: EventStore) -> None:
    assert family.claim("domain", "top") == claim("p", "top")
    assert family.claim("domain", "top.one") == claim("c1", "top.one", "p")
    assert family.claim_by_id("c2") == claim("c2", "top.two", "p")
    assert family.children("p") == [claim("c1", "top.one", "p"), claim("c2", "top.two", "p")]
    assert family.claim("team", "top") is None
    assert family.claim("domain", "TOP") is None


def test_taken_name_is_named(family: EventStore) -> None:
    with pytest.raises(AlreadyExists) as caught:
        family.append([created("new", "top")])
    assert caught.value.message == "a name is taken: 'top'"


def test_taken_id_is_a_concurrent_change(family: EventStore) -> None:
    with pytest.raises(ConcurrentChange):
        family.append([created("p", "other")])


def test_soft_delete_keeps_the_claim(family: EventStore) -> None:
    family.append([deleted("c1", 2)])
    assert family.claim("domain", "top.one") == claim("c1", "top.one", "p", deleted=True)
    assert family.children("p")[0] == claim("c1", "top.one", "p", deleted=True)
    with pytest.raises(AlreadyExists):
        family.append([created("new", "top.one", "p")])
    family.append([restored("c1", 3)])
    assert family.claim("domain", "top.one") == claim("c1", "top.one", "p")


@pytest.mark.parametrize("first", [[], [deleted("c1", 2)]], ids=["live", "soft-deleted"])
def test_purge_releases_the_claim(family: EventStore, first: list[RecordedEvent]) -> None:
    family.append(first)
    family.append([purged("c1", 2 + len(first))])
    assert family.claim("domain", "top.one") is None
    assert family.claim_by_id("c1") is None
    assert family.children("p") == [claim("c2", "top.two", "p")]
    family.append([created("new", "top.one", "p")])
    assert family.claim("domain", "top.one") == claim("new", "top.one", "p")


def test_purge_and_creation_in_one_batch(family: EventStore) -> None:
    family.append([purged("c1", 2), created("new", "top.one", "p")])
    assert family.claim("domain", "top.one") == claim("new", "top.one", "p")


REFUSED: dict[str, tuple[list[RecordedEvent], list[RecordedEvent]]] = {
    "child of a deleted parent": (
        [deleted("c1", 2), deleted("c2", 2), deleted("p", 2)],
        [created("new", "top.new", "p")],
    ),
    "child of a purged parent": (
        [purged("c1", 2), purged("c2", 2), purged("p", 2)],
        [created("new", "top.new", "p")],
    ),
    "child of an unknown parent": ([], [created("new", "x.new", "x")]),
    "child of a parent deleted in the same batch": (
        [deleted("c1", 2), deleted("c2", 2)],
        [created("new", "top.new", "p"), deleted("p", 2)],
    ),
    "deleting a parent with live children": ([deleted("c1", 2)], [deleted("p", 2)]),
    "purging a parent with live children": ([deleted("c1", 2)], [purged("p", 2)]),
    "purging a parent with deleted children": (
        [deleted("c1", 2), deleted("c2", 2)],
        [purged("p", 2)],
    ),
    "restoring under a deleted parent": (
        [deleted("c1", 2), deleted("c2", 2), deleted("p", 2)],
        [restored("c1", 3)],
    ),
}


@pytest.mark.parametrize(("past", "refused"), REFUSED.values(), ids=REFUSED)
def test_no_live_entity_loses_its_parent(
    family: EventStore, past: list[RecordedEvent], refused: list[RecordedEvent]
) -> None:
    family.append(past)
    log, children = family.read(0, 99), family.children("p")
    with pytest.raises(ConcurrentChange):
        family.append(refused)
    assert (family.read(0, 99), family.children("p")) == (log, children)


def test_whole_family_can_be_deleted_restored_and_purged_in_one_batch(family: EventStore) -> None:
    family.append([deleted("p", 2), deleted("c1", 2), deleted("c2", 2)])
    assert [child.deleted for child in family.children("p")] == [True, True]
    family.append([restored("c1", 3), restored("c2", 3), restored("p", 3)])
    assert [child.deleted for child in family.children("p")] == [False, False]
    family.append([purged("p", 4), purged("c1", 4), purged("c2", 4)])
    assert (family.claim_by_id("p"), family.children("p")) == (None, [])
