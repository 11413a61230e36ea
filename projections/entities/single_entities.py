"""The JSON of single entities, read by id or qualified name, for any sorted read model."""

from collections.abc import Iterable
from typing import Any

import msgspec

from domain.errors import NotFound
from domain.event_store.entity_reads import RecordedEvent
from domain.events import values_by_key
from domain.kinds.entity_kind import EntityKind
from domain.openmetadata import document
from domain.openmetadata.verdicts import as_it_reads
from domain.reading.history import folded
from projections.entities.list_port import Include
from projections.entities.port import SortedReadModel
from projections.entities.stored_entity import split_fields


class EntityAnswer(msgspec.Struct, frozen=True):
    """The JSON of one entity as an answer shows it, and the values of its headers."""

    body: bytes
    """JSON object."""
    version: str
    """The entity's decimal version, as 0.2."""
    position: int
    """Position in the log of the entity's last event."""
    last_event: str
    """Digest of which entity this is and of its last event, as `Entity.last_event`."""


class _Versioned(msgspec.Struct):
    version: msgspec.Raw


_versioned = msgspec.json.Decoder(_Versioned)


def read_one(
    model: SortedReadModel,
    kind: EntityKind,
    *,
    entity_id: str | None = None,
    fqn: str | None = None,
    fields: Iterable[str] = (),
    include: Include = Include.NON_DELETED,
    most_bytes: int | None = None,
) -> EntityAnswer:
    """The entity with this id or (without one) this qualified name.

    The answer shows the large fields of the kind, former names, and the optional fields that are
    named in `fields`. Raises NotFound when there is no such entity, or none in the deletion state
    asked for, and EntityTooLarge for one that may have more than `most_bytes`, which is not read.
    """
    stored = model.document(kind.name, entity_id=entity_id, fqn=fqn, most_bytes=most_bytes)
    if stored is None or include is (Include.DELETED, Include.NON_DELETED)[stored.deleted]:
        raise NotFound(f"{kind.name} instance for {entity_id or fqn} not found")
    body = with_fields(kind, stored.core, stored.optional, fields, large=kind.shown_alone)
    version = bytes(_versioned.decode(stored.core).version).decode()
    return EntityAnswer(body, version, stored.position, stored.last_event)


def with_fields(
    kind: EntityKind,
    core: bytes,
    optional: bytes,
    fields: Iterable[str],
    large: Iterable[str] = (),
    now: int | None = None,
) -> bytes:
    """The JSON object `core` with some of the members of the JSON object `optional` added.

    A field named in `fields` that the entity does not have shows as [] when it is an array of the
    kind, else not at all; a field named in `large` shows only when the entity has it. `now` is the
    time of the read, in milliseconds since the Unix epoch; None for the present.
    """
    held = values_by_key(as_it_reads(optional, now))
    wanted: dict[str, Any] = {field: held[field] for field in large if field in held}
    for field in fields:
        if field in held:
            wanted[field] = held[field]
        elif field in kind.arrays:
            wanted[field] = []
    if not wanted:
        return core
    return core[:-1] + b"," + msgspec.json.encode(wanted)[1:]


def folded_fields(events: Iterable[RecordedEvent]) -> tuple[bytes, bytes] | None:
    """JSON of the core and the optional fields of an entity after its events; None without any."""
    state = next(folded(events), None)
    if state is None:
        return None
    core, optional = map(document.encode, split_fields(state[0]))
    return core, optional


def with_all_fields(core: bytes, optional: bytes) -> bytes:
    """The JSON object `core` with every member of the JSON object `optional` added."""
    return core if optional == b"{}" else core[:-1] + b"," + as_it_reads(optional)[1:]
