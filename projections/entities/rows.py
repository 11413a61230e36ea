"""The rows of the sorted read model: what they are made of, and their digest."""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from domain import document
from domain.entity import Entity, fold
from domain.event_store.port import RecordedEvent
from domain.events import Body
from domain.registry import KINDS
from projections.feeding.port import Folded

VERSION = 1
"""Raised whenever the same states give other rows."""

EntityRow = tuple[str, int, str, str, str, str | None, str, int, bytes, bytes]
"""Kind, deletion state, name, id, qualified name, status, scopes (JSON), position, core, optional:
the columns of `entities` without the digest."""


class _Referred(msgspec.Struct):
    id: str


_references = msgspec.json.Decoder(_Referred | list[_Referred])
_columns = msgspec.msgpack.Encoder()


def rows_code() -> str:
    """Changes whenever rows made before may be other than rows made now, the schema apart."""
    kinds = [
        (kind.name, sorted(kind.optional), sorted(kind.filters.items()), kind.body.stand_ins("x"))
        for kind in KINDS.values()
    ]
    return blake2b(msgspec.json.encode((VERSION, kinds)), digest_size=8).hexdigest()


def row(folded: Folded) -> EntityRow:
    """The row of a state that is not purged."""
    entity = folded.entity
    core, optional = split(entity)
    return (
        entity.kind,
        int(entity.deleted),
        entity.name,
        entity.id,
        entity.fqn,
        entity.status,
        msgspec.json.encode(scopes_of(entity)).decode(),
        folded.position,
        document.encode(core),
        document.encode(optional),
    )


def row_digest(columns: EntityRow) -> bytes:
    """16 bytes that differ when any column does; their sum is a digest of a set of rows."""
    return blake2b(_columns.encode(columns), digest_size=16).digest()


def stream_row(stream: Sequence[RecordedEvent]) -> EntityRow | None:
    """The row of an entity after all events of its stream; None when it is purged."""
    entity_id = stream[0].entity_id
    state = fold(entity_id, (recorded.event for recorded in stream))
    return None if state is None or state.purged else row(Folded(state, stream[-1].position))


def split(entity: Entity) -> tuple[Body, Body]:
    """The fields that lists always show, and those that `fields` may add."""
    core = document.fields(entity)
    optional = {key: core.pop(key) for key in KINDS[entity.kind].optional if key in core}
    return core, optional


def scopes_of(entity: Entity) -> list[str]:
    """Ids of the entities to which a list of this kind can be narrowed and still show it."""
    scopes: set[str] = set()
    for key in KINDS[entity.kind].filters.values():
        if (raw := entity.body.get(key)) is not None:
            value = _references.decode(raw)
            scopes.update(one.id for one in (value if isinstance(value, list) else (value,)))
    return sorted(scopes)
