"""What the catalog can be asked to do to one entity, with clock, actor and ids decided outside."""

import msgspec
from msgspec import Raw

from domain.events import Body


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What all commands carry."""

    actor: str
    at: int
    """Milliseconds since the Unix epoch."""
    request_id: str
    expected_version: int | None = None
    """Tenths; when given, the entity must be at this version."""
    expected_event: str | None = None
    """When given, the `last_event` that the entity must have."""


class CreateEntity(Command, frozen=True, kw_only=True):
    """Bring an entity into being; the body is complete, its references resolved."""

    kind: str
    name: str
    fqn: str
    parent_id: str | None = None
    body: Body


class Ingestion(msgspec.Struct, frozen=True, kw_only=True):
    """That a change comes from a bot, which writes what it found at a source."""

    source_hash: Raw | None = None
    """The `sourceHash` that the bot gives, as JSON; None when it gives none."""
    override: bool = False
    """Whether what the bot gives replaces what people curated."""


class ChangeEntity(Command, frozen=True, kw_only=True):
    """Make the body read as given; a soft-deleted entity is restored first."""

    body: Body
    ingestion: Ingestion | None = None
    """Given for a bot's write, which keeps what people curated; see `domain.aggregate.curation`."""


class SoftDeleteEntity(Command, frozen=True, kw_only=True):
    """Mark deleted; the name stays claimed."""


class RestoreEntity(Command, frozen=True, kw_only=True):
    """Make a soft-deleted entity live again."""


class PurgeEntity(Command, frozen=True, kw_only=True):
    """Delete for good; the name is free again."""
