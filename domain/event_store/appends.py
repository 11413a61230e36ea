"""Prepares the append of a write before its transaction begins, with the claims that follow."""

from collections.abc import Iterator, Sequence

from domain import events
from domain.aggregate.entity import Entity
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.features import features_of
from domain.event_store.mapper import to_row
from domain.event_store.refusals import another_epoch
from domain.event_store.stored import Claim
from domain.event_store.writes import Append, ClaimChange, Expectations, Refusal, RememberedAnswer
from domain.events import Event


def prepared(
    recorded: Sequence[RecordedEvent],
    answer: RememberedAnswer | None = None,
    *,
    expecting: Expectations = Expectations(),  # noqa: B008 - it is frozen
    epoch: int | None = None,
    states: Sequence[Entity] = (),
    state_bytes: int = 0,
) -> Append:
    """The append of events and of an answer, decided in an epoch of the log.

    `states` are the entities as the events leave them, those that are worth remembering, and
    `state_bytes` are as `Append` has them.
    Events are encoded by the thread of the write, so that whoever commits does nothing but store.
    """
    happened = [each.event for each in recorded]
    return Append(
        rows=[to_row(event) for event in recorded],
        changes=[
            change for event in recorded for change in claim_changes(event.entity_id, event.event)
        ],
        features=features_of(happened),
        answer=answer,
        expecting=expecting,
        epoch=epoch,
        events=happened,
        states=states,
        state_bytes=state_bytes,
    )


def outdated(append: Append, epoch: int) -> Refusal | None:
    """The refusal of an append that was decided in another epoch of the log; None for others."""
    if append.epoch in (None, epoch):
        return None
    return another_epoch([*dict.fromkeys(row[0] for row in append.rows)])


def position_of(result: int | Refusal) -> int:
    """The position of a stored append; raises the refusal of one that was not stored."""
    if isinstance(result, int):
        return result
    raise result


def claim_changes(entity_id: str, event: Event) -> Iterator[ClaimChange]:
    """The change of an entity's claim by an event; most events change none."""
    if isinstance(event, events.EntityCreated):
        yield "take", (event.kind, event.fqn, entity_id, event.name, event.parent_id)
    elif isinstance(event, events.EntityRenamed):
        yield "rename", (event.kind, event.fqn, entity_id, event.name, None)
    elif isinstance(event, events.EntitySoftDeleted):
        yield "delete", (entity_id,)
    elif isinstance(event, events.EntityRestored):
        yield "restore", (entity_id,)
    elif isinstance(event, events.EntityPurged):
        yield "release", (entity_id,)


def claim_of(entity: Entity) -> Claim:
    """The claim that follows from the events of a live or soft-deleted entity."""
    return Claim(
        kind=entity.kind,
        fqn=entity.fqn,
        id=entity.id,
        name=entity.name,
        parent_id=entity.parent_id,
        deleted=entity.deleted,
        former_names=tuple(sorted(entity.former_names)),
    )
