"""Commands: changes of one entity that are asked for, with clock, actor and ids from outside."""

import msgspec
from msgspec import Raw

from domain.events import Body, Via


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of all commands."""

    actor: str
    at: int
    """Milliseconds since the Unix epoch."""
    request_id: str
    via: Via | None = None
    """The door that the request came through, which the events record."""
    expected_version: int | None = None
    """Tenths; when given, the entity must be at this version."""
    expected_event: str | None = None
    """The `last_event` that the entity must have, if it is given."""


class CreateEntity(Command, frozen=True, kw_only=True):
    """Bring an entity into being; the body is complete, its references resolved."""

    kind: str
    name: str
    fqn: str
    parent_id: str | None = None
    body: Body


class Ingestion(msgspec.Struct, frozen=True, kw_only=True):
    """A write by a bot, which reports the state of a source."""

    source_hash: Raw | None = None
    """The `sourceHash` that the bot gives, as JSON; None when it gives none."""
    override: bool = False
    """True if the bot's values replace what people curated."""


class NewName(msgspec.Struct, frozen=True):
    """A name, and the qualified name that follows from it."""

    name: str
    fqn: str


class ChangeEntity(Command, frozen=True, kw_only=True):
    """Make the body read as given; a soft-deleted entity is restored first."""

    body: Body
    renaming: NewName | None = None
    """The name that the entity is to have; None where it keeps its own."""
    ingestion: Ingestion | None = None
    """Given for a bot's write, which keeps what people curated; see `domain.aggregate.curation`."""


class FollowRenaming(Command, frozen=True, kw_only=True):
    """Change what another entity's new name changes; a soft-deleted entity stays soft-deleted."""

    body: Body
    """The body with new names in its references and labels."""
    fqn: str
    """The qualified name, another one where the renamed entity is above this one."""


class SoftDeleteEntity(Command, frozen=True, kw_only=True):
    """Mark deleted; the name stays claimed."""


class RestoreEntity(Command, frozen=True, kw_only=True):
    """Make a soft-deleted entity live again."""


class PurgeEntity(Command, frozen=True, kw_only=True):
    """Delete for good; the name is free again."""
