"""The seven events that every kind shares, and two about contracts: a fact, who caused it, when,
and by which request.

They are a public, stored format: type names are fixed strings, fields are only ever added
with defaults, and older payloads are lifted by `domain.aggregate.upcasters`. What a later release
has added is refused by an older one, which would lose it; `domain.event_store.features` names the
releases.
"""

from typing import Any

import msgspec
from msgspec import Raw

Body = dict[str, Raw]
"""A kind's payload: top-level key -> its value as JSON bytes."""


values_by_key = msgspec.json.Decoder(Body).decode
"""The JSON of an object as key -> the JSON of its value, which is not decoded."""


def encode(value: Any) -> Raw:
    """A value as it is held in a body."""
    return Raw(msgspec.json.encode(value))


class Via(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
):
    """The door that a request came through where its actor did not ask in person: for whom an agent
    or a pipeline acted is the actor, and this is who acted."""

    door: str
    """`mcp` for agents, `openlineage` for pipelines."""
    what: str | None = None
    """The tool that an agent called, or the job that ran."""
    run: str | None = None
    """The id of the job's run."""
    agent: str | None = None
    """The client that acted, as the token of the request proves it."""
    client: str | None = None
    """The name that the client gives itself, which nothing proves."""


class Event(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
):
    """The fields of all events."""

    kind: str
    actor: str
    at: int
    """Milliseconds since the Unix epoch."""
    version: int
    """The entity's decimal version after the event, in tenths: 1 is 0.1, 10 is 1.0."""
    request_id: str
    via: Via | None = None
    """None where the actor asked over the API or the pages."""


class EntityCreated(Event, frozen=True, kw_only=True, gc=False):
    """An entity came to be."""

    name: str
    fqn: str
    parent_id: str | None = None
    body: Body


class EntityChanged(Event, frozen=True, kw_only=True, gc=False):
    """Parts of the body changed: an RFC 6902 patch of add, remove and replace operations."""

    patch: list[dict[str, Any]]


class EntityStatusChanged(Event, frozen=True, kw_only=True, gc=False):
    """The entity moved to another status of its kind."""

    status: str


class EntitySoftDeleted(Event, frozen=True, kw_only=True, gc=False):
    """The entity was marked deleted; its name stays claimed."""


class EntityRestored(Event, frozen=True, kw_only=True, gc=False):
    """A soft-deleted entity is live again."""


class EntityPurged(Event, frozen=True, kw_only=True, gc=False):
    """The entity was hard-deleted; its name is free again, its history stays in the log."""


class EntityRenamed(Event, frozen=True, kw_only=True, gc=False):
    """The entity has another qualified name, as it or something above it was renamed; the name that
    it had stays claimed until it is purged."""

    name: str
    fqn: str


class ContractJudged(Event, frozen=True, kw_only=True, gc=False):
    """A contract was held against what was known; its `version` was judged, and stays."""

    position: int
    """Position of the log up to which all that bears on it was known."""
    verdict: str
    """Success, PartialSuccess, Failed or Unknown."""
    reasons: str
    """Words on what failed and what was not evaluated."""
    valid_until: int | None = None
    """Milliseconds since the Unix epoch from which on time alone may make it another one."""
    latest: dict[str, Any] | None = None
    """The newest result that is kept, by whoever found it: `timestamp`, `status`, `resultId`."""


class ContractBreaking(Event, frozen=True, kw_only=True, gc=False):
    """A change of an Active contract breaks those who read the data; its `version` broke it."""

    before: int
    """The version to which the contract was held, in tenths."""
    bump: str
    """The number of a document's version that such changes raise: major."""
    changes: list[dict[str, str]]
    """The rule and the path of each breaking change, the first of them."""
    total: int
    """Number of breaking changes."""


REMARKS = (ContractJudged, ContractBreaking)
"""Events that remark on an entity without changing its content, version or author."""

EVENT_TYPES: dict[str, type[Event]] = {
    "entity.created": EntityCreated,
    "entity.changed": EntityChanged,
    "entity.status-changed": EntityStatusChanged,
    "entity.soft-deleted": EntitySoftDeleted,
    "entity.restored": EntityRestored,
    "entity.purged": EntityPurged,
    "entity.renamed": EntityRenamed,
    "contract.judged": ContractJudged,
    "contract.breaking": ContractBreaking,
}
"""Stored type name -> event class."""

TYPE_NAMES = {event_type: name for name, event_type in EVENT_TYPES.items()}
"""Event class -> stored type name."""
