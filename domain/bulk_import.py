"""Loads JSON lines into the log in large transactions, keeping the good lines of a bad file.

A line is one entity, parents before children:
`{"entityType": ..., "name": ..., "fullyQualifiedName": ..., ...}`, otherwise like the body of a
PUT. An `id` is kept when the entity is new. What the log has already stores no event.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

import msgspec

from domain import payloads
from domain.commands import ChangeEntity
from domain.entity import Entity, decide
from domain.errors import (
    AlreadyExists,
    CatalogError,
    ConcurrentChange,
    InvalidInput,
    StoreUnavailable,
)
from domain.event_store.port import EventStore, RecordedEvent
from domain.events import EntityCreated, EntityRestored, Event
from domain.hierarchy import expectations
from domain.ids import new_id
from domain.import_lines import ImportLine, ReadAhead, read_line
from domain.import_lookups import ImportNames, StatesAhead
from domain.planning import record
from domain.registry import KINDS
from domain.write_context import WriteContext

BATCH_LINES = 1_000
"""The most lines in one transaction."""
BATCH_BYTES = 16_000_000
"""Bytes of lines at which a transaction ends, although it has fewer."""

NumberedLine = tuple[int, bytes]
"""The number of a line, from 1, and its bytes."""


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


class ImportStopped(StoreUnavailable):
    """The log could not be read or written, so that no further line was imported."""

    def __init__(self, message: str, stored: Batch, upto: int) -> None:
        super().__init__(message)
        self.stored = stored
        """What those lines came to that were imported before."""
        self.upto = upto
        """The number of the last line before which, and with which, every good line is stored."""


class BulkImport:
    """Feeds lines into the log; one transaction for each call of `load`."""

    def __init__(
        self,
        store: EventStore,
        context: WriteContext,
        *,
        now: Callable[[], int],
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self._store = store
        self._context = context
        self._now = now
        self._make_id = make_id
        self._names = ImportNames(store)

    def load(self, lines: list[NumberedLine], ahead: Sequence[ReadAhead] = ()) -> Batch:
        """Import the lines in one transaction; when another writer interferes, one by one.

        `ahead` has the lines as they were read elsewhere, if they were. Raises ImportStopped when
        the log cannot be read or written now.
        """
        try:
            return self._load(lines, ahead)
        except StoreUnavailable as error:
            raise ImportStopped(error.message, Batch(), lines[0][0] - 1) from error
        except (ConcurrentChange, AlreadyExists) as error:
            self._names.forget()
            if len(lines) == 1:
                return Batch(lines=1, bad=[BadLine(lines[0][0], error.message)])
        whole = Batch()
        for line in lines:
            try:
                whole.add(self.load([line]))
            except ImportStopped as stopped:
                raise ImportStopped(stopped.message, whole, stopped.upto) from stopped
        return whole

    def _load(self, lines: list[NumberedLine], ahead: Sequence[ReadAhead]) -> Batch:
        batch = Batch(lines=len(lines))
        touched: dict[str, Entity] = {}
        recorded: list[RecordedEvent] = []
        changes: list[tuple[list[Event], Entity]] = []
        entities: list[tuple[int, ImportLine]] = []
        for (number, line), read in zip_longest(lines, ahead):
            try:
                entities.append((number, _good(read) if read is not None else read_line(line)))
            except InvalidInput as error:
                batch.bad.append(BadLine(number, error.message))
        named = [(line.kind, line.draft.fqn) for _, line in entities if line.draft.fqn is not None]
        ids = [line.id for _, line in entities if line.id is not None]
        held = self._names.foresee(named, ids)
        states = StatesAhead(self._store, (claim.id for claim in held))
        for number, entity in entities:
            try:
                state, entity_id, decided = self._decide(entity, touched, states, batch)
            except StoreUnavailable:
                raise
            except CatalogError as error:
                batch.bad.append(BadLine(number, error.message))
                continue
            events, after = record(entity_id, state, decided)
            if events and after is not None:
                recorded += events
                changes.append((decided, after))
                touched[entity_id] = after
                if any(isinstance(event, EntityCreated | EntityRestored) for event in decided):
                    self._names.expect(after)
        if recorded:
            self._store.append(recorded, expecting=expectations(changes))
        batch.events = len(recorded)
        batch.bad.sort(key=lambda bad: bad.number)
        self._names.trim()
        return batch

    def _decide(
        self, line: ImportLine, touched: dict[str, Entity], states: StatesAhead, batch: Batch
    ) -> tuple[Entity | None, str, list[Event]]:
        """The state before a line, the id of its entity, and the events; counts what it does.

        `touched` are the entities that this batch has changed already.
        """
        kind, entity_id = KINDS[line.kind], line.id
        payload = payloads.resolve(
            kind,
            line.draft,
            self._names,
            self._names.body,
            lambda fqn: self._state(kind.name, fqn, touched, states),
        )
        state = payload.state
        if state is None:
            if entity_id is None:
                entity_id = self._make_id()
            elif self._names.is_used(entity_id):
                raise AlreadyExists(f"id {entity_id} is the id of another entity")
            decided = decide(payload.creation(kind, self._context, self._now()), None)
            batch.created += 1
        else:
            entity_id = state.id
            decided = decide(
                ChangeEntity(
                    actor=self._context.actor,
                    at=self._now(),
                    request_id=self._context.request_id,
                    body=payload.onto(state),
                ),
                state,
            )
            batch.changed += bool(decided)
            batch.unchanged += not decided
        return state, entity_id, decided

    def _state(
        self, kind: str, fqn: str, touched: dict[str, Entity], states: StatesAhead
    ) -> Entity | None:
        claim = self._names.claim(kind, fqn)
        if claim is None:
            return None
        state = touched.get(claim.id) or states.get(claim.id)
        assert state is not None
        return None if state.purged else state


def _good(read: ImportLine | str) -> ImportLine:
    """A line that was read elsewhere; raises InvalidInput when it was found to be bad."""
    if isinstance(read, str):
        raise InvalidInput(read)
    return read


def batches(
    lines: Iterable[bytes], size: int = BATCH_LINES, max_bytes: int = BATCH_BYTES
) -> Iterator[list[NumberedLine]]:
    """Numbered, non-blank lines in groups that end at `size` lines or at `max_bytes`."""
    group: list[NumberedLine] = []
    held = 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            group.append((number, line))
            held += len(line)
        if len(group) == size or held >= max_bytes:
            yield group
            group, held = [], 0
    if group:
        yield group
