"""Checks of the log against itself: each stream is folded event by event, then its claims compared.

A stream is only followed up to its first bad event, because later events mean nothing then.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import asdict

from domain import events
from domain.aggregate.entity import Entity, evolve
from domain.contracts.proof import document_fault
from domain.errors import LaterRelease
from domain.event_store.appends import claim_of
from domain.event_store.mapper import decode_event
from domain.event_store.stored import Claim, Problem, StoredRow
from domain.events import Event
from domain.kinds.bodies.contracts import GIVEN

Follow = Callable[[int, int, Entity | None, Entity], None]
"""Called with the position of an event, its time in milliseconds since the Unix epoch, and the
states before it (None: there is none) and after it."""
_DAY_MS = 24 * 60 * 60 * 1000


class Problems:
    """Counts all problems and keeps those at the lowest positions, at least one."""

    def __init__(self, kept: int) -> None:
        self._kept = max(kept, 1)
        self._lowest: list[Problem] = []
        self.count = 0

    def add(self, position: int, entity_id: str, what: str) -> None:
        """Count a problem, and keep it unless enough problems are at lower positions."""
        self.count += 1
        self._lowest.append(Problem(position, entity_id, what))
        if len(self._lowest) > 2 * self._kept:
            self._lowest = heapq.nsmallest(self._kept, self._lowest)

    def lowest(self) -> list[Problem]:
        """The kept problems in order of position."""
        return heapq.nsmallest(self._kept, self._lowest)


class FutureEvents(msgspec.Struct, rename="camel"):
    """Events dated in the future: the clock was wrong when they were made, or is wrong now."""

    count: int = 0
    position: int = 0
    """The lowest position of such an event."""
    latest: int = 0
    """The time of the latest such event, in milliseconds since the Unix epoch."""

    def add(self, position: int, at: int) -> None:
        """Count an event."""
        self.position = position if not self.count else min(self.position, position)
        self.latest = max(self.latest, at)
        self.count += 1


class StreamStates(msgspec.Struct):
    """The states of one entity after each of its events, up to the first bad event."""

    states: list[tuple[int, Entity]]
    """Pairs of an event's position and the state after the event, in order.

    Only states at the pins of the `StreamReader`, and the last state, are kept.
    """
    events: int = 0
    """Number of good events."""
    whole: bool = True
    """True if all events of the entity are good."""

    def at(self, position: int) -> tuple[int, Entity | None]:
        """Position of the last event up to a position, and the state after this event."""
        for at, state in reversed(self.states):
            if at <= position:
                return at, state
        return 0, None


class StreamReader:
    """Folds streams, and adds the faults of their events to the problems."""

    def __init__(
        self,
        problems: Problems,
        *,
        now: int,
        pins: Sequence[int] = (),
        follow: Sequence[Follow] = (),
    ) -> None:
        """`now` is in ms since the epoch; events more than a day beyond it are `future` ones.

        `pins` are the positions at which states are asked for. Other states are not kept, since an
        entity may have very many. Each function in `follow` is called for each good event.
        """
        self._follow = follow
        self._pins = pins
        self._problems = problems
        self._latest = now + _DAY_MS
        self.future = FutureEvents()

    def read(self, rows: Iterable[StoredRow]) -> StreamStates:
        """Fold the rows of one stream up to its first bad event."""
        stream = StreamStates([])
        states = stream.states
        state: Entity | None = None
        previous = 0
        for entity_id, stream_version, type_name, payload, position in rows:
            wrong = None
            if stream_version != stream.events + 1:
                wrong = f"stream version {stream_version} where {stream.events + 1} is due"
            elif position < previous:
                wrong = f"stream version {stream_version} comes before the one it follows"
            else:
                try:
                    event = decode_event(type_name, payload)
                    wrong = self._misfit(state, event)
                    if wrong is None:
                        before, state = state, evolve(state, event, entity_id)
                        wrong = _misread_document(before, state)
                        if event.at > self._latest:
                            self.future.add(position, event.at)
                except LaterRelease as error:
                    wrong = f"of a later release, not damaged: {error}"
                except Exception as error:  # whatever a damaged payload or an upcaster raises
                    wrong = f"{type_name} cannot be applied: {type(error).__name__}: {error}"
            if wrong is not None or state is None:
                self._problems.add(position, entity_id, wrong or "nothing came of it")
                stream.whole = False
                return stream
            if states and not any(previous <= pin < position for pin in self._pins):
                states.pop()
            states.append((position, state))
            for follow in self._follow:
                follow(position, event.at, before, state)
            stream.events += 1
            previous = position
        return stream

    def _misfit(self, state: Entity | None, event: Event) -> str | None:
        """The reason why an event cannot follow a state; None when it can."""
        creation = isinstance(event, events.EntityCreated)
        if event.at <= 0:
            return f"its time, {event.at}, is before 1970"
        if state is None:
            return None if creation else "the stream does not begin with a creation"
        if creation:
            return "the entity is created again"
        if state.purged:
            return "the entity was purged before"
        if event.kind != state.kind:
            return f"a {event.kind} where the entity is a {state.kind}"
        if event.version < state.version:
            return f"version {event.version} (in tenths) after {state.version}"
        return None


def _misread_document(before: Entity | None, state: Entity) -> str | None:
    """The fault of the document that an event gave a contract; None for any other event."""
    if GIVEN not in state.body or (before and before.body.get(GIVEN) == state.body[GIVEN]):
        return None
    return document_fault(state)


class ClaimChecker:
    """Compares the claims table with the claims that follow from events, in order of entity id.

    Call `meet` with every entity, then `finish`.
    """

    def __init__(self, claims: Iterator[Claim], problems: Problems) -> None:
        self._claims = claims
        self._problems = problems
        self._next = next(claims, None)

    def meet(self, entity_id: str, stream: StreamStates) -> None:
        """Compare an entity's claim with its last state; skipped after a bad event."""
        self._ghosts_below(entity_id)
        stored = None
        if self._next is not None and self._next.id == entity_id:
            stored, self._next = self._next, next(self._claims, None)
        if not stream.whole or not stream.states:
            return
        position, entity = stream.states[-1]
        due = None if entity.purged else claim_of(entity)
        if due == stored:
            return
        if stored is None:
            what = f"the claim on {entity.kind} {entity.fqn!r} is missing"
        elif due is None:
            what = f"a claim on {stored.kind} {stored.fqn!r} is left of a purged entity"
        else:
            shown = ", ".join(
                f"{name} {value!r}"
                for name, value in asdict(stored).items()
                if value != getattr(due, name)
            )
            what = f"the claim on {entity.kind} {entity.fqn!r} differs from the events: {shown}"
        self._problems.add(position, entity_id, what)

    def finish(self) -> None:
        """Add the claims whose ids come after the last entity to the problems."""
        self._ghosts_below(None)

    def _ghosts_below(self, entity_id: str | None) -> None:
        while self._next is not None and (entity_id is None or self._next.id < entity_id):
            ghost, self._next = self._next, next(self._claims, None)
            what = f"the log has a claim on {ghost.kind} {ghost.fqn!r}, but no such entity"
            self._problems.add(0, ghost.id, what)
