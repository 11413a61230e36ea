"""Planned writes: which events, for which entities, on the state that the log has now."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from domain.aggregate import commands
from domain.aggregate.entity import Entity, decide, evolve
from domain.contracts.changes.rules import Perspective
from domain.edges import EDGE, edge_ends
from domain.errors import InvalidInput, StaleVersion
from domain.event_store.appends import prepared
from domain.event_store.entity_reads import EntityReads, RecordedEvent
from domain.event_store.writes import Append, Expectations, RememberedAnswer, Unmentioned
from domain.events import EntityCreated, EntityRestored
from domain.kinds.registry import KINDS
from domain.patches.payload_bounds import MAX_ENTITY_BYTES
from domain.write_context import WriteContext
from domain.writing.contract_gate import check_gate
from domain.writing.entity_cache import EntityCache
from domain.writing.mentions import Mentions

MAX_JOINED_BYTES = 16_000_000
"""Bytes of JSON of all entities to which one request may add references, each counted every time.

Adding a reference to an entity takes time in proportion to the entity's size.
"""
_MAKE_LIVE = frozenset((EntityCreated, EntityRestored))


class Change(StrEnum):
    """The change of the entity asked about; the log remembers answers by these."""

    CREATED = "entityCreated"
    UPDATED = "entityUpdated"
    NO_CHANGE = "entityNoChange"
    SOFT_DELETED = "entitySoftDeleted"
    DELETED = "entityDeleted"
    RESTORED = "entityRestored"


class Step(msgspec.Struct, frozen=True):
    """The events of one entity."""

    before: Entity | None
    """The entity before the events; None when they create it."""
    events: list[RecordedEvent]
    """The events, with their places in the entity's stream."""
    after: Entity

    @property
    def size(self) -> int:
        """Bytes of the entity's body after the events."""
        return sum(map(len, self.after.body.values()))


class Plan(msgspec.Struct, frozen=True):
    """The events of a write, and what they amount to for the entity that was asked about."""

    change: Change
    own: Step
    """The step of the entity that was asked about."""
    before: Sequence[Step] = ()
    after: Sequence[Step] = ()
    """Steps of other entities that are stored after `own`, as those of `before` are before it."""
    dropped: Sequence[str] = ()
    """The labels that a bot gave and that were left out, each with its place."""
    unmentioned: Unmentioned | None = None
    """Names that no other writer may have referred to; see `Expectations.unmentioned`."""
    joined_bytes: int = 0
    """Bytes of JSON of the entities to which this plan adds a reference to its own entity."""

    @property
    def steps(self) -> list[Step]:
        """The steps of all entities concerned, in the order in which they are stored."""
        return [*self.before, self.own, *self.after]


def check_joined(size: int) -> None:
    """Raise InvalidInput when a request adds references to entities of too many bytes together."""
    if size > MAX_JOINED_BYTES:
        raise InvalidInput(
            f"the entities that a request adds references to may have {MAX_JOINED_BYTES} bytes of"
            " JSON, each counted as often as it is added to: add them with several requests"
        )


class PlannerBase:
    """The base of planners; threads may share it.

    Between two plans it holds no more than what the log was last searched for.

    A plan is right for the state that it was made from. Whether that still is the newest, the log
    decides when the plan is appended.
    """

    def __init__(
        self,
        store: EntityReads,
        entities: EntityCache,
        now: Callable[[], int],
        make_id: Callable[[], str],
        gate: Perspective | None = None,
    ) -> None:
        """`gate` is the view in which no Active contract is broken; see `check_gate`."""
        self._store = store
        self._entities = entities
        self._now = now
        self._make_id = make_id
        self._gate = gate
        self._mentions = Mentions(store)

    def admitted(self, step: "Step") -> "Step":
        """The step, if the gate of contracts lets it pass; raises ContractBroken."""
        if step.events:
            check_gate(self._gate, self._store, step.before, step.after)
        return step

    @property
    def log(self) -> EntityReads:
        """The log that plans are made from."""
        return self._store


def step(
    command_type: type[commands.Command],
    state: Entity,
    context: WriteContext,
    at: int,
    *,
    checked: bool = False,
    **fields: Any,
) -> Step:
    """Return the step of a command; `checked` holds it to the conditions of the write.

    Raises StaleVersion where these do not hold, and what `decide` raises.
    """
    if checked and context.must_not_exist:
        raise StaleVersion(f"{state.kind} {state.fqn!r} exists already")
    command = command_type(
        actor=context.actor,
        at=at,
        request_id=context.request_id,
        via=context.via,
        expected_version=context.expected_version if checked else None,
        expected_event=context.expected_event if checked else None,
        **fields,
    )
    return _step(state.id, command, state)


def creation(
    entity_id: str, kind: str, fqn: str, context: WriteContext, at: int, **fields: Any
) -> Step:
    """Return the step that creates an entity; raises what `decide` raises."""
    command = commands.CreateEntity(
        actor=context.actor,
        at=at,
        request_id=context.request_id,
        via=context.via,
        kind=kind,
        fqn=fqn,
        **fields,
    )
    return _step(entity_id, command, None)


def _step(entity_id: str, command: commands.Command, before: Entity | None) -> Step:
    recorded = []
    after = before
    for event in decide(command, before):
        after = evolve(after, event, entity_id)
        recorded.append(RecordedEvent(entity_id, after.stream_version, event))
    assert after is not None
    return Step(before, recorded, after)


def append_of(
    steps: Sequence[Step],
    epoch: int | None,
    answer: RememberedAnswer | None = None,
    states: Sequence[Entity] = (),
    unmentioned: Unmentioned | None = None,
) -> Append:
    """Return the append of steps that were decided in an epoch of the log; see `prepared`."""
    recorded = [each for step in steps for each in step.events]
    expecting = replace(expectations(steps), unmentioned=unmentioned)
    return prepared(
        recorded,
        answer,
        expecting=expecting,
        epoch=epoch,
        states=states,
        state_bytes=state_bytes(steps) + MAX_ENTITY_BYTES * sum(map(_is_unread, steps)),
    )


def _is_unread(step: Step) -> bool:
    """True if a step has left out the body of an entity, which may be large."""
    known = step.after.body or step.after.purged or not step.events
    return not known and step.events[0].stream_version > 1


def state_bytes(steps: Iterable[Step]) -> int:
    """Bytes of JSON of the entities of some steps, each counted after each of its events."""
    return sum(len(step.events) * step.size for step in steps)


def expectations(steps: Iterable[Step]) -> Expectations:
    """Return the conditions for an append of the events of these steps.

    A live entity's parent is live, and every parent exists. So nothing is created or restored below
    what is deleted, nothing live is left below what is soft-deleted, and nothing at all below what
    is purged. Only one contract of an entity becomes live. A lineage edge is drawn between live
    entities, and none is left at an entity that is purged. A writer that read otherwise is refused,
    and plans again.
    """
    live, without_children, without_live_children = set[str](), set(), set()
    attached, restored = set[tuple[str, str]](), set[str]()
    for step in steps:
        types, entity = {type(each.event) for each in step.events}, step.after
        if not types:
            continue
        if entity.kind == EDGE:
            if not (entity.purged or _MAKE_LIVE.isdisjoint(types)):
                live.update(edge_ends(entity.fqn))
        elif entity.purged:
            without_children.add(entity.id)
        elif entity.deleted:
            without_live_children.add(entity.id)
        elif entity.parent_id is not None and not _MAKE_LIVE.isdisjoint(types):
            live.add(entity.parent_id)
            if KINDS[entity.kind].agreement is not None:
                attached.add((entity.kind, entity.parent_id))
        if EntityRestored in types:
            restored.add(entity.id)
    return Expectations(
        live=frozenset(live),
        without_children=frozenset(without_children),
        without_live_children=frozenset(without_live_children),
        # Entities that must have no children must have no edges either.
        without_edges=frozenset(without_children),
        # What comes back with its entity was alone when it went, or there were several already
        # before there was this rule.
        sole=frozenset(each for each in attached if each[1] not in restored),
    )
