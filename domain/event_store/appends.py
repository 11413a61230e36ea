"""Makes of a write what a transaction of the log stores, before there is a transaction."""

from collections.abc import Sequence

from domain.event_store.claims import claim_changes
from domain.event_store.mapper import EventMapper
from domain.event_store.port import RecordedEvent
from domain.event_store.writes import (
    Append,
    Expectations,
    Refusal,
    RememberedAnswer,
)

_mapper = EventMapper()


def prepared(
    recorded: Sequence[RecordedEvent],
    answer: RememberedAnswer | None = None,
    *,
    expecting: Expectations = Expectations(),  # noqa: B008 - it is frozen
) -> Append:
    """The append of these events and of this answer.

    Events are encoded by the thread of the write, so that whoever commits does nothing but store.
    """
    return Append(
        rows=[_mapper.to_row(event) for event in recorded],
        changes=[
            change for event in recorded for change in claim_changes(event.entity_id, event.event)
        ],
        answer=answer,
        expecting=expecting,
    )


def position_of(result: int | Refusal) -> int:
    """The position of a stored append; raises the refusal of one that was not stored."""
    if isinstance(result, int):
        return result
    raise result
