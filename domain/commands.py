"""What the catalog can be asked to do to one entity, with clock, actor and ids decided outside."""

import msgspec

from domain.events import Body


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What all commands carry."""

    actor: str
    at: int
    """Milliseconds since the Unix epoch."""
    request_id: str
    expected_version: int | None = None
    """Tenths; when given, the entity must be at this version."""


class CreateEntity(Command, frozen=True, kw_only=True):
    """Bring an entity into being; the body is complete, its references resolved."""

    kind: str
    name: str
    fqn: str
    parent_id: str | None = None
    body: Body


class ChangeEntity(Command, frozen=True, kw_only=True):
    """Make the body read as given; a soft-deleted entity is restored first."""

    body: Body


class SoftDeleteEntity(Command, frozen=True, kw_only=True):
    """Mark deleted; the name stays claimed."""


class RestoreEntity(Command, frozen=True, kw_only=True):
    """Make a soft-deleted entity live again."""


class PurgeEntity(Command, frozen=True, kw_only=True):
    """Delete for good; the name is free again."""
