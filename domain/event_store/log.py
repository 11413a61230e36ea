"""The event store port on the library's Application."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import cast

from eventsourcing.application import Application
from eventsourcing.persistence import IntegrityError, PersistenceError

from domain import events
from domain.errors import AlreadyExists, ConcurrentChange, Conflict, StoreUnavailable
from domain.event_store.claims import claim_changes
from domain.event_store.mapper import EventMapper
from domain.event_store.port import Claim, LiveStreams, RecordedEvent, RememberedAnswer
from domain.event_store.snapshot import LogSnapshot, connect, find_damage, open_snapshot
from domain.event_store.sqlite import Recorder
from domain.event_store.transfer import ExportReader, export, insert
from domain.events import Event

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
        changes = [
            change for event in recorded for change in claim_changes(event.entity_id, event.event)
        ]
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

    def identity(self) -> str:
        """Random text made with the log."""
        with _errors_told(()):
            return self._rows.select_identity()

    def live(self, *, by_name: bool) -> LiveStreams:
        """The entities that are not purged, in order of ids or of lists (`by_name`)."""
        with _errors_told(()):
            head, ids, streams = self._rows.select_live(by_name)
        found = LiveStreams(head, ids)
        if len(found) != streams:
            raise StoreUnavailable(
                f"the log is damaged: {len(found)} names are claimed by {streams} entities"
            )
        return found

    def streams(self, entity_ids: Sequence[str], upto: int) -> Iterator[list[RecordedEvent]]:
        """The streams of these entities up to a position, in this order; empty ones left out."""
        with _errors_told(()):
            rows = self._rows.select_streams(entity_ids, upto)
        decode = self._mapper.decode
        for _, stream in groupby(rows, key=itemgetter(0)):
            yield [
                RecordedEvent(entity_id, stream_version, decode(topic, state), position)
                for entity_id, stream_version, topic, state, position in stream
            ]

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

    @contextmanager
    def snapshot(self) -> Iterator[LogSnapshot]:
        """The log as it is now, whatever is appended until the block ends."""
        with _errors_told(()):
            snapshot = open_snapshot(self.database)
            try:
                yield snapshot
            finally:
                snapshot.close()

    def decode(self, type_name: str, payload: bytes) -> Event:
        """The event of a stored row; raises msgspec.MsgspecError or KeyError for a damaged one."""
        return self._mapper.decode(type_name, payload)

    def former_holders(self, kind: str, fqn: str) -> list[str]:
        """Ids of the entities that were ever created under a name, in order; reads the log."""
        with self.snapshot() as snapshot:
            rows = snapshot.creations(fqn)
            created = [(entity_id, self.decode(topic, state)) for entity_id, topic, state in rows]
        return [
            entity_id
            for entity_id, event in created
            if isinstance(event, events.EntityCreated) and (event.kind, event.fqn) == (kind, fqn)
        ]

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file: nothing, when it is sound."""
        return find_damage(self.database)

    def export(self, snapshot: LogSnapshot) -> Iterator[bytes]:
        """The lines of `domain.event_store.transfer`."""
        return export(snapshot, self.decode)

    def restore(self, reader: ExportReader) -> Iterator[int]:
        """Take over an exported log, all of it or nothing; yields how many events it has so far.

        The events keep their positions; claims are derived from them. Raises Conflict when this
        log has events, InvalidInput when the export is not whole or no log.
        """
        with _errors_told(()), closing(connect(self.database)) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA cache_size=-65536")
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT 1 FROM stored_events").fetchone() is not None:
                raise Conflict("only an empty log can be imported into: this one has events")
            yield from insert(connection, reader, self.decode)
            connection.execute("COMMIT")

    @property
    def database(self) -> str:
        """Path or URI of the SQLite file, to open it once more."""
        return cast("Recorder", self.recorder).datastore.pool.db_name

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
