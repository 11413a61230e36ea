"""The changes between two positions of the log, entity by entity."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Literal

import msgspec

from domain.aggregate.entity import Entity, evolve
from domain.event_store.entity_reads import RecordedEvent, StreamSpan, whole_streams
from domain.event_store.port import EventStore
from domain.event_store.stored import Claim
from domain.events import EntityCreated, EntityRenamed
from domain.kinds.registry import kinds_below
from domain.reading import changes

PAUSE = 500
"""Events that are read at a time, some milliseconds of work unless entities are large."""

Change = Literal["created", "changed", "deleted", "restored", "purged"]


class Ends(msgspec.Struct, frozen=True):
    """An entity at two positions of the log."""

    before: Entity | None
    """The entity at the first position; None where it was not there yet."""
    after: Entity
    """The entity at the second position, with `purged` where it was purged up to there."""

    def change(self, cut: Callable[[bytes], bytes] | None = None) -> Change | None:
        """The one word for what became of the entity; None where it is shown as it was.

        `cut` takes from the JSON of an entity what is not shown of it.
        """
        if self.after.purged:
            return "purged"
        if self.before is None:
            return "created"
        if self.before.deleted != self.after.deleted:
            return "deleted" if self.after.deleted else "restored"
        differing = changes.state_differences(self.before, self.after, cut)
        return None if next(differing, None) is None else "changed"

    @property
    def states(self) -> tuple[Entity, ...]:
        """The states that exist, the earlier one first."""
        return (self.after,) if self.before is None else (self.before, self.after)


class Root(msgspec.Struct, frozen=True):
    """An entity that a comparison is narrowed to, with all that is below it."""

    kinds: frozenset[str]
    """The kinds of the entity and of what may be below it."""
    names: tuple[str | None, str | None]
    """The qualified names of the entity at the two positions."""

    def holds(self, ends: Ends) -> bool:
        """True if an entity was this root, or below it, at one of the positions."""
        earlier, later = self.names
        before = None if ends.before is None else ends.before.fqn
        return ends.after.kind in self.kinds and (
            _is_below(before, earlier) or _is_below(ends.after.fqn, later)
        )

    def ever_holds(self, claim: Claim) -> bool:
        """False if an entity certainly was not below this root at either position, else True."""
        if claim.kind not in self.kinds:
            return False
        return bool(claim.former_names) or any(_is_below(claim.fqn, name) for name in self.names)


def _is_below(fqn: str | None, name: str | None) -> bool:
    return fqn is not None and name is not None and (fqn == name or fqn.startswith(f"{name}."))


def events_between(
    store: EventStore, before: int, after: int, batch: int
) -> Iterator[list[RecordedEvent]]:
    """The events after one position up to another, in log order, at most `batch` at a time."""
    while events := store.read(before, batch, after):
        yield events
        before = events[-1].position


def ends_of(
    store: EventStore, ids: Sequence[str], before: int, after: int
) -> Iterator[Ends | None]:
    """Entities at two positions, in the order of their ids; all were created up to the second.

    None stands between them after each PAUSE events, so that readers may do something else.
    Streams are read as the iterator goes on; the states of one entity are held at a time.
    """
    recorded = enumerate(whole_streams(store, ids, upto=after), 1)
    for entity_id, stream in groupby(recorded, key=lambda each: each[1].entity_id):
        earlier = state = None
        for number, each in stream:
            state = evolve(state, each.event, entity_id)
            if each.position <= before:
                earlier = state
            if number % PAUSE == 0:
                yield None
        assert state is not None
        yield Ends(earlier, state)


def root_of(store: EventStore, claim: Claim, before: int, after: int) -> Root:
    """The entity of a claim as one that a comparison of two positions is narrowed to."""
    kinds = kinds_below(claim.kind) | {claim.kind}
    # The creation has the name of an entity that was never renamed.
    last = None if claim.former_names else 1
    earlier = later = None
    for each in store.streams([StreamSpan(claim.id, upto=last)], upto=after):
        if isinstance(each.event, EntityCreated | EntityRenamed):
            later = each.event.fqn
            if each.position <= before:
                earlier = later
    return Root(kinds, (earlier, later))
