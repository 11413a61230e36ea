"""The context of a write: who asks for it, by which request, and under which conditions."""

from collections.abc import Collection

import msgspec

from domain.events import Via


class TakesLong(Exception):
    """A plan would have to read the whole log, which is for turns of their own."""


class WriteContext(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that hold for a whole write, whatever is written."""

    actor: str
    """Name of the caller, which the events record."""
    request_id: str
    """Id of the request, which the events record."""
    via: Via | None = None
    """The door that the request came through, which the events record; None for API and pages."""
    by_bot: bool = False
    """True if the caller is a bot, whose PUTs keep what people curated."""
    override_metadata: bool = False
    """True if a bot's PUTs replace what people curated all the same."""
    sees_columns: Collection[str] | None = None
    """Kinds of which the caller sees the columns; None for all."""
    sees_whole: Collection[str] | None = None
    """Kinds of which the caller sees all that there is; None for all."""
    contract_first: bool = False
    """True if a contract may promise columns that its entity does not have, or not yet."""
    may_bring: bool = True
    """True if the caller may create the parent that an entity brings along."""
    editable: Collection[str] | None = None
    """The kinds that the caller may edit; None for all of them."""
    expected_version: int | None = None
    """Tenths of the version at which the entity must be; None for any version."""
    expected_event: str | None = None
    """The `last_change` that the entity must have; None for any."""
    must_exist: bool = False
    """True if the write is refused where there is no such entity yet."""
    must_not_exist: bool = False
    """True if the write is refused where there is such an entity."""
    brief: bool = False
    """True if nothing is planned that takes longer the longer the log is: `TakesLong` instead."""
    idempotency_key: str | None = None
    """Under this key of the actor a repetition of the request is answered as the first time."""
    digest: bytes = b""
    """Digest of the whole request, which tells a repetition from another request under its key."""

    @property
    def plainly(self) -> "WriteContext":
        """The context of what a write does beside what was asked for: without its conditions."""
        return WriteContext(actor=self.actor, request_id=self.request_id, via=self.via)
