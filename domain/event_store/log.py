"""The event store port on the library's Application."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from eventsourcing.application import Application
from eventsourcing.persistence import IntegrityError, PersistenceError

from domain import events
from domain.errors import AlreadyExists, ConcurrentChange, StoreUnavailable
from domain.event_store.mapper import EventMapper
from domain.event_store.port import Claim, RecordedEvent, RememberedAnswer
from domain.event_store.sqlite import ClaimChange, Recorder

_MAX_POSITION = 2**63 - 1


class EventLog(Application[str]):
    """An EventStore in one SQLite file; made by `open_event_log`."""

    name = "catalog"

    def construct_mapper(self) -> EventMapper:
        return EventMapper()

    @property
    def _rows(self) -> Recorder:
        return cast("Recorder", self.recorder)

    @property
    def _mapper(self) -> EventMapper:
        return cast("EventMapper", self.mapper)

    def append(
        self, recorded: Sequence[RecordedEvent], answer: RememberedAnswer | None = None
    ) -> int:
        """Store all events, the claims that follow from them and the answer, or nothing."""
        stored = [self._mapper.to_stored_event(event) for event in recorded]
        changes = [change for event in recorded for change in _claim_changes(event)]
        with _errors_told(recorded):
            positions = self._rows.insert_events(stored, claim_changes=changes, answer=answer)
        return positions[-1] if positions else self.head()

    def stream(
        self, entity_id: str, *, after: int = 0, upto: int | None = None
    ) -> list[RecordedEvent]:
        """The entity's events with stream versions in (after, upto], in order."""
        with _errors_told(()):
            stored = self._rows.select_events(entity_id, gt=after, lte=upto)
        return [self._mapper.to_domain_event(event) for event in stored]

    def read(self, after: int, limit: int, upto: int | None = None) -> list[RecordedEvent]:
        """At most `limit` events with positions in (after, upto], in log order."""
        with _errors_told(()):
            rows = self._rows.read_log(after, _MAX_POSITION if upto is None else upto, limit)
        decode = self._mapper.decode
        return [
            RecordedEvent(entity_id, stream_version, decode(topic, state), position)
            for entity_id, stream_version, topic, state, position in rows
        ]

    def head(self) -> int:
        """Position of the newest event, 0 when there is none."""
        with _errors_told(()):
            return self._rows.max_notification_id() or 0

    def claim(self, kind: str, fqn: str) -> Claim | None:
        """Who holds a qualified name."""
        return self._one_claim("kind = ? AND fqn = ?", (kind, fqn))

    def claim_by_id(self, entity_id: str) -> Claim | None:
        """What name an entity holds."""
        return self._one_claim("id = ?", (entity_id,))

    def claims(self, keys: Sequence[tuple[str, str]]) -> list[Claim]:
        """Who holds each of these pairs of kind and qualified name, for those that are held."""
        with _errors_told(()):
            return self._rows.select_named_claims(keys)

    def children(self, entity_id: str) -> list[Claim]:
        """The claims whose parent it is, in order of kind and qualified name."""
        with _errors_told(()):
            return self._rows.select_claims("parent_id = ?", (entity_id,))

    def answer(self, actor: str, key: str) -> RememberedAnswer | None:
        """What a write under this key led to, if it is still remembered."""
        with _errors_told(()):
            return self._rows.select_answer(actor, key)

    def _one_claim(self, where: str, parameters: tuple[str, ...]) -> Claim | None:
        with _errors_told(()):
            found = self._rows.select_claims(where, parameters)
        return found[0] if found else None


def open_event_log(path: Path | str) -> EventLog:
    """The log in the SQLite file at `path`, made when it is missing.

    `path` may also be a SQLite URI such as `file:test?mode=memory&cache=shared`. Raises
    StoreUnavailable when the file cannot be opened.
    """
    with _errors_told(()):
        return EventLog(
            env={
                "PERSISTENCE_MODULE": "domain.event_store.sqlite:Factory",
                "SQLITE_DBNAME": str(path),
            }
        )


def _claim_changes(recorded: RecordedEvent) -> Iterator[ClaimChange]:
    """What an event means for the entity's claim."""
    event, entity_id = recorded.event, recorded.entity_id
    if isinstance(event, events.EntityCreated):
        yield "take", (event.kind, event.fqn, entity_id, event.name, event.parent_id)
    elif isinstance(event, events.EntitySoftDeleted):
        yield "delete", (entity_id,)
    elif isinstance(event, events.EntityRestored):
        yield "restore", (entity_id,)
    elif isinstance(event, events.EntityPurged):
        yield "release", (entity_id,)


@contextmanager
def _errors_told(recorded: Sequence[RecordedEvent]) -> Iterator[None]:
    """The one place where the library's errors become the catalog's."""
    try:
        yield
    except IntegrityError as error:
        if "claims.kind" in str(error):
            names = [r.event.fqn for r in recorded if isinstance(r.event, events.EntityCreated)]
            raise AlreadyExists(f"a name is taken: {', '.join(map(repr, names[:5]))}") from error
        raise ConcurrentChange("another writer was first; try again") from error
    except (PersistenceError, sqlite3.Error, OSError) as error:
        raise StoreUnavailable(f"the event log cannot be used now: {error}") from error
