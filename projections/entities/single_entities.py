"""Reads of one entity by its id or its qualified name, for any sorted read model."""

from collections.abc import Iterable

import msgspec

from domain.errors import NotFound
from domain.kinds.entity_kind import EntityKind
from projections.entities.entity_json import with_fields
from projections.entities.port import Include, SortedReadModel


class EntityAnswer(msgspec.Struct, frozen=True):
    """One entity as an answer shows it, and what the headers of the answer say of it."""

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

    The answer shows the large fields of the kind and the optional ones named in `fields`. Raises
    NotFound when there is no such entity, or none in the deletion state asked for, and
    EntityTooLarge for one that may have more than `most_bytes`, which is not read.
    """
    stored = model.document(kind.name, entity_id=entity_id, fqn=fqn, most_bytes=most_bytes)
    if stored is None or include is (Include.DELETED, Include.NON_DELETED)[stored.deleted]:
        raise NotFound(f"{kind.name} instance for {entity_id or fqn} not found")
    body = with_fields(kind, stored.core, stored.optional, fields, large=kind.large)
    version = bytes(_versioned.decode(stored.core).version).decode()
    return EntityAnswer(body, version, stored.position, stored.last_event)
