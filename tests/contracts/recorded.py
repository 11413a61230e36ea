"""Events as the suites of the event store append them."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from domain import events
from domain.edges import EDGE, edge_name
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.stored import Claim

COMMON: dict[str, Any] = {"kind": "domain", "actor": "ann", "at": 1, "version": 1}


def created(entity_id: str, fqn: str | None = None, parent_id: str | None = None) -> RecordedEvent:
    """The creation of an entity, which is named after its id unless a name is given."""
    fqn = fqn or entity_id
    event = events.EntityCreated(
        request_id="r", name=last(fqn), fqn=fqn, parent_id=parent_id, body={}, **COMMON
    )
    return RecordedEvent(entity_id, 1, event)


def drawn(edge_id: str, from_id: str, to_id: str) -> RecordedEvent:
    """The creation of a lineage edge."""
    event = events.EntityCreated(
        request_id="r",
        name=to_id,
        fqn=edge_name(from_id, to_id),
        body={},
        **{**COMMON, "kind": EDGE},
    )
    return RecordedEvent(edge_id, 1, event)


def erased(edge_id: str) -> RecordedEvent:
    """The end of a lineage edge that was never changed."""
    event = events.EntityPurged(request_id="r", **{**COMMON, "kind": EDGE})
    return RecordedEvent(edge_id, 2, event)


def changed(entity_id: str, stream_version: int, size: int = 1) -> RecordedEvent:
    """A change whose payload has at least `size` bytes."""
    patch = [{"op": "add", "path": "/description", "value": f"{stream_version}" * size}]
    event = events.EntityChanged(request_id="r", patch=patch, **COMMON)
    return RecordedEvent(entity_id, stream_version, event)


def deleted(entity_id: str, stream_version: int) -> RecordedEvent:
    event = events.EntitySoftDeleted(request_id="r", **COMMON)
    return RecordedEvent(entity_id, stream_version, event)


def restored(entity_id: str, stream_version: int) -> RecordedEvent:
    event = events.EntityRestored(request_id="r", **COMMON)
    return RecordedEvent(entity_id, stream_version, event)


def purged(entity_id: str, stream_version: int) -> RecordedEvent:
    event = events.EntityPurged(request_id="r", **COMMON)
    return RecordedEvent(entity_id, stream_version, event)


def renamed(entity_id: str, stream_version: int, fqn: str) -> RecordedEvent:
    event = events.EntityRenamed(request_id="r", name=last(fqn), fqn=fqn, **COMMON)
    return RecordedEvent(entity_id, stream_version, event)


def edge_claim(edge_id: str, from_id: str, to_id: str) -> Claim:
    return Claim(
        kind=EDGE,
        fqn=edge_name(from_id, to_id),
        id=edge_id,
        name=to_id,
        parent_id=None,
        deleted=False,
    )


def claim(
    entity_id: str,
    fqn: str,
    parent_id: str | None = None,
    *,
    deleted: bool = False,
    former: tuple[str, ...] = (),
) -> Claim:
    return Claim(
        kind="domain",
        fqn=fqn,
        id=entity_id,
        name=last(fqn),
        parent_id=parent_id,
        deleted=deleted,
        former_names=former,
    )


def last(fqn: str) -> str:
    return fqn.rsplit(".", 1)[-1]


def unplaced(recorded: Iterable[RecordedEvent]) -> list[RecordedEvent]:
    """The same events without their positions, which are the store's to choose."""
    return [replace(event, position=0) for event in recorded]
