"""Prepares the append of a write before its transaction begins."""

from collections.abc import Sequence

from domain.aggregate.entity import Entity
from domain.event_store.claims import claim_changes
from domain.event_store.features import features_of
from domain.event_store.mapper import EventMapper
from domain.event_store.port import RecordedEvent
from domain.event_store.refusals import another_epoch
from domain.event_store.writes import Append, Expectations, Refusal, RememberedAnswer

_mapper = EventMapper()


def prepared(
    recorded: Sequence[RecordedEvent],
    answer: RememberedAnswer | None = None,
    *,
    expecting: Expectations = Expectations(),  # noqa: B008 - it is frozen
    epoch: int | None = None,
    states: Sequence[Entity] = (),
) -> Append:
    """The append of events and of an answer, decided in an epoch of the log.

    `states` are the entities as the events leave them, those that are worth remembering.
    Events are encoded by the thread of the write, so that whoever commits does nothing but store.
    """
    events = [each.event for each in recorded]
    return Append(
        rows=[_mapper.to_row(event) for event in recorded],
        changes=[
            change for event in recorded for change in claim_changes(event.entity_id, event.event)
        ],
        features=features_of(events),
        answer=answer,
        expecting=expecting,
        epoch=epoch,
        events=events,
        states=states,
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
