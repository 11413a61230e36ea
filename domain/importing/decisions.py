"""Decides what the lines of one transaction of an import change, on the state that they find."""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

import msgspec

from domain.aggregate.commands import ChangeEntity
from domain.aggregate.entity import Entity, decide
from domain.errors import AlreadyExists, CatalogError, InvalidInput, StoreUnavailable
from domain.event_store.port import EventStore, RecordedEvent
from domain.event_store.writes import Expectations
from domain.events import Event
from domain.importing.lines import (
    ImportLine,
    LinesRead,
    NumberedLine,
    ReadAhead,
    SentLine,
    read_line,
)
from domain.importing.lookups import AttachedAhead, ImportNames, StatesAhead
from domain.kinds.registry import KINDS
from domain.requests import payloads
from domain.requests.attachments import HeldColumns, check_sole, named_columns
from domain.requests.body_rules import check_body
from domain.write_context import WriteContext
from domain.writing.hierarchy import expectations
from domain.writing.plans import record

Line = ImportLine | SentLine


class BadLine(msgspec.Struct, frozen=True):
    """A line that was not imported, and why."""

    number: int
    reason: str


class Batch(msgspec.Struct):
    """What one transaction's worth of lines came to."""

    lines: int = 0
    events: int = 0
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    bad: list[BadLine] = []

    def add(self, other: "Batch") -> None:
        """Count another batch in."""
        self.lines += other.lines
        self.events += other.events
        self.created += other.created
        self.changed += other.changed
        self.unchanged += other.unchanged
        self.bad = [*self.bad, *other.bad]


class Decision(msgspec.Struct, frozen=True):
    """What is to be appended for some lines, and what they come to once it is."""

    batch: Batch
    recorded: list[RecordedEvent]
    expecting: Expectations
    states: dict[str, Entity]
    """The entities that the lines change, by id, as they leave them."""


class Decider:
    """Decides on lines as a PUT of each, one after the other, would."""

    def __init__(
        self,
        store: EventStore,
        names: ImportNames,
        context: WriteContext,
        now: Callable[[], int],
        make_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._names = names
        self._context = context
        self._now = now
        self._make_id = make_id

    def decide(
        self,
        lines: Sequence[NumberedLine],
        read: LinesRead,
        appended: Mapping[str, Entity],
    ) -> Decision:
        """The decision on lines, which `read` has as they were read elsewhere, if they were.

        `appended` are the entities, by id, that readers of the log may not find there yet. Raises
        StoreUnavailable.
        """
        batch = Batch(lines=len(lines))
        entities = _readable(lines, read.lines, batch.bad)
        named = [(line.kind, line.draft.fqn) for _, line in entities if line.draft.fqn is not None]
        ids = [line.id for _, line in entities if line.id is not None]
        claims = self._names.foresee(named, ids, read.names)
        attached = [(line, name) for _, line in entities if (name := _attached_to(line))]
        parents = self._names.held({name for _, name in attached})
        self._names.foresee_columns(
            parents[name]
            for line, name in attached
            if name in parents
            and (agreement := KINDS[line.kind].agreement) is not None
            and agreement.describes in line.draft.given
        )
        states = _States(
            appended,
            StatesAhead(self._store, (claim.id for claim in claims)),
            AttachedAhead(self._store, parents.values()),
        )
        recorded: list[RecordedEvent] = []
        changes: list[tuple[list[Event], Entity]] = []
        for number, line in entities:
            try:
                before, entity_id, decided = self._decide(line, states, batch)
            except StoreUnavailable:
                raise
            except CatalogError as error:
                batch.bad.append(BadLine(number, error.message))
                continue
            events, after = record(entity_id, before, decided)
            if events and after is not None:
                recorded += events
                changes.append((decided, after))
                states.change(after, created=before is None)
                self._names.expect(after)
        batch.events = len(recorded)
        batch.bad.sort(key=lambda bad: bad.number)
        return Decision(batch, recorded, expectations(changes), states.changed)

    def _decide(
        self, line: Line, states: "_States", batch: Batch
    ) -> tuple[Entity | None, str, list[Event]]:
        """The state before a line, the id of its entity, and the events; counts what it does."""
        kind, entity_id = KINDS[line.kind], line.id

        def holder(fqn: str) -> Entity | None:
            claim = self._names.claim(kind.name, fqn)
            return None if claim is None else states.get(claim.id)

        payload = payloads.resolve(kind, line.draft, self._names, self._names.body, holder)
        before = payload.state
        named = named_columns(kind, payload.body, before)
        if named and payload.parent_id is not None:
            held = states.columns(payload.parent_id) or self._names.columns(payload.parent_id)
            held.check(named)
        body = payload.body if before is None else payload.onto(before)
        check_body(self._names.claim_by_id, kind, body, before, self._context)
        if before is None or before.deleted:
            check_sole(kind, payload.body, payload.parent_id, states.having_live)
        if before is None:
            if entity_id is None:
                entity_id = self._make_id()
            elif self._names.is_used(entity_id):
                raise AlreadyExists(f"id {entity_id} is the id of another entity")
            decided = decide(payload.creation(kind, self._context, self._now()), None)
            batch.created += 1
            return None, entity_id, decided
        command = ChangeEntity(
            actor=self._context.actor,
            at=self._now(),
            request_id=self._context.request_id,
            body=body,
            ingestion=payload.ingestion(self._context),
        )
        decided = decide(command, before)
        batch.changed += bool(decided)
        batch.unchanged += not decided
        return before, before.id, decided


class _States:
    """The newest states of entities: as earlier lines leave them, or as the log has them."""

    def __init__(
        self, appended: Mapping[str, Entity], ahead: StatesAhead, attached: AttachedAhead
    ) -> None:
        self.changed: dict[str, Entity] = {}
        """Entities that lines of the same transaction change."""
        for state in appended.values():
            attached.count(state)
        self._appended = appended
        self._ahead = ahead
        self._attached = attached
        self.having_live = attached.having_live
        self._columns: dict[str, tuple[Entity, HeldColumns]] = {}

    def change(self, entity: Entity, *, created: bool) -> None:
        """Remember an entity as a line leaves it, which may have created it."""
        self.changed[entity.id] = entity
        self._attached.count(entity)
        if created:
            self._attached.bear(entity)

    def get(self, entity_id: str) -> Entity | None:
        """The state of an entity that holds a name; None when the entity is purged."""
        state = self.decided(entity_id) or self._ahead.get(entity_id)
        assert state is not None
        return None if state.purged else state

    def decided(self, entity_id: str) -> Entity | None:
        """The state as lines leave it that readers of the log may not find there yet."""
        return self.changed.get(entity_id) or self._appended.get(entity_id)

    def columns(self, entity_id: str) -> HeldColumns | None:
        """The columns of an entity as lines leave it; None where they are for the log to say."""
        state = self.decided(entity_id)
        if state is None:
            return None
        known = self._columns.get(entity_id)
        if known is None or known[0] is not state:
            known = self._columns[entity_id] = state, HeldColumns.of(state)
        return known[1]


def _readable(
    lines: Sequence[NumberedLine], read: Sequence[ReadAhead], bad: list[BadLine]
) -> list[tuple[int, Line]]:
    """The lines that can be read, with their numbers; adds the others to `bad`."""
    entities: list[tuple[int, Line]] = []
    for (number, line), ahead in zip_longest(lines, read):
        try:
            entity: Line | str = read_line(line) if ahead is None else ahead
        except InvalidInput as error:
            entity = error.message
        if isinstance(entity, str):
            bad.append(BadLine(number, entity))
        else:
            entities.append((number, entity))
    return entities


def _attached_to(line: Line) -> tuple[str, str] | None:
    """Kind and qualified name of the entity to which a line attaches something, if it names one."""
    if KINDS[line.kind].agreement is None or line.draft.parent is None:
        return None
    ref = line.draft.parent[1]
    if isinstance(ref, str) or ref.type is None or ref.fully_qualified_name is None:
        return None
    return ref.type, ref.fully_qualified_name
