"""An entity as the API shows it: the body between its identity and its version."""

import msgspec
from msgspec import Raw

from domain.entity import Entity
from domain.events import Body
from domain.lifecycle import format_version
from domain.registry import KINDS

SERVER_KEYS = ("id", "name", "fullyQualifiedName", "version", "updatedAt", "updatedBy", "deleted")
"""Keys that callers read and only the catalog writes."""


def fields(entity: Entity) -> Body:
    """Every key of the entity's document with its JSON bytes, in the order they are shown.

    `deleted` is there only when it is true: OpenMetadata's client has no such key on kinds
    that it never soft-deletes.
    """
    raw = msgspec.json.encode
    shown = {
        "id": Raw(raw(entity.id)),
        "name": Raw(raw(entity.name)),
        "fullyQualifiedName": Raw(raw(entity.fqn)),
        **stand_ins(entity),
        **entity.body,
        "version": Raw(format_version(entity.version).encode()),
        "updatedAt": Raw(raw(entity.updated_at)),
        "updatedBy": Raw(raw(entity.updated_by)),
    }
    if entity.deleted:
        shown["deleted"] = Raw(b"true")
    return shown


def stand_ins(entity: Entity) -> Body:
    """What is shown in place of keys that OpenMetadata's client needs and nobody recorded."""
    missing = KINDS[entity.kind].body.stand_ins(entity.name)
    return {
        key: Raw(msgspec.json.encode(value))
        for key, value in missing.items()
        if key not in entity.body
    }


def encode(shown: Body) -> bytes:
    """The JSON object of keys and finished values; no value is decoded."""
    return msgspec.json.encode(shown)
