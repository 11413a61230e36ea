"""The states of entities that were replaced, and the rows in which the past is stored.

Positions say when: a state holds from the position of its event up to that of the next one.
"""

import msgspec

from projections.entities.daily_counts import CoverageStep
from projections.entities.stored_entity import (
    COVERED,
    StoredEntity,
    columns_digest,
    decode_scopes,
    stored_entity,
)
from projections.feeding.port import Folded

LARGE = 4_096
"""Bytes of the JSON of a replaced state that are not kept any more: they are folded from the log
when they are read."""
ANY_STATUS = ""
"""Stands for a status in the total of all entities of a kind, whatever status they have."""

ScopeKey = tuple[str, str, int, str, str]
"""Scope, kind, deletion state, name and id: the key of `scopes`."""
ScopeRow = tuple[str, str, int, str, str, str | None]
"""A membership: the key, and the status."""
Membership = tuple[str, str, int, str, str, str | None, int]
"""A row of `scopes`: a membership, and the position since when it holds."""
EndedMembership = tuple[str, str, int, str, str, int, int, str | None]
"""A row of `history_scopes`: the key, the positions of its end and of its beginning, the status."""
Series = tuple[str, int, str]
"""A total of entities: of a kind, in a deletion state, with a status or ANY_STATUS."""
Step = tuple[str, int, str, int, int]
"""A series, a position, and a number there."""
Steps = dict[Series, dict[int, int]]
"""Series -> position -> a number that is added there, which may be 0."""


class HeldState(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A state that a commit finds stored or passes through: the fields that a history keeps."""

    kind: str
    deleted: int
    name: str
    id: str
    fqn: str
    status: str | None
    scopes: str
    covered: int
    position: int
    core: bytes | None
    """The `core` of the StoredEntity; None if it has more than LARGE bytes."""
    optional: bytes | None
    digest: bytes
    """The digest of the StoredEntity."""


class EntityChange(msgspec.Struct, frozen=True, gc=False):
    """The states of one entity after some events of the log."""

    passed: tuple[HeldState, ...]
    """The states after these events, in order, without the last one, which is `stored`."""
    stored: StoredEntity | None
    """The last state; None for a purged entity."""
    purged: int | None = None
    """The position of the last purge among these events; None without one."""


def entity_change(folded: Folded) -> EntityChange:
    """The EntityChange of an entity by a folded batch of events."""
    passed = tuple(held_state(stored_entity(one)) for one in folded.replaced)
    if folded.entity.purged:
        return EntityChange(passed, None, folded.position)
    return EntityChange(passed, stored_entity(folded))


class ReplacedState(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A row of `history`: a state that another one replaced."""

    kind: str
    deleted: int
    name: str
    id: str
    fqn: str
    status: str | None
    scopes: str
    since: int
    """Position of the event that led to the state."""
    until: int
    """Position of the event that replaced the state."""
    core: bytes | None
    """JSON of the core fields; None if it was too large to be kept."""
    optional: bytes | None
    digest: bytes
    """Digest of all other fields, 16 bytes."""


def held_state(one: StoredEntity) -> HeldState:
    """The part of a stored entity of which a history can be made."""
    core, optional = (None if len(json) > LARGE else json for json in (one.core, one.optional))
    return HeldState(
        one.kind,
        one.deleted,
        one.name,
        one.id,
        one.fqn,
        one.status,
        one.scopes,
        one.covered,
        one.position,
        core,
        optional,
        one.digest,
    )


def replaced_state(state: HeldState, until: int) -> ReplacedState:
    """The row of `history` for a state that held up to a position."""
    columns = (
        *(state.kind, state.deleted, state.name, state.id, state.fqn, state.status, state.scopes),
        *(state.position, until, state.core, state.optional),
    )
    return ReplacedState(*columns, columns_digest(columns))


def sorted_steps(steps: Steps) -> list[Step]:
    """The steps that add anything, in the order of series and position."""
    return [
        (*series, at, n)
        for series, added in sorted(steps.items())
        for at, n in sorted(added.items())
        if n
    ]


def coverage_steps(kind: str, before: int, after: int, position: int) -> list[CoverageStep]:
    """The changes of coverage where an entity's `covered` changes at a position."""
    return [
        (kind, key, position, step)
        for n, key in enumerate(COVERED)
        if (step := (after >> n & 1) - (before >> n & 1))
    ]


def memberships(state: HeldState | ReplacedState) -> set[ScopeRow]:
    """The rows of `scopes` of an entity in a state."""
    return {
        (scope, state.kind, state.deleted, state.name, state.id, state.status)
        for scope in decode_scopes(state.scopes)
    }
