"""The port of the sorted read model over a SQLite file."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from domain.edges import EDGE
from domain.reading.horizon import Horizon
from domain.reading.moments import Moment
from projections.entities.commit import write_entities
from projections.entities.cursors import Place
from projections.entities.daily_counts import (
    COUNTS,
    LIVE_TOTALS,
    NO_EVENTS,
    DailyFigures,
    EventCounts,
)
from projections.entities.list_port import ListRequest, PastOfList, edges_as_of
from projections.entities.port import (
    DOCUMENTS_BYTES,
    EdgeReader,
    EntityTooLarge,
    SortedReadModel,
    StoredDocument,
)
from projections.entities.pruning import prune
from projections.entities.replaced_states import EntityChange
from projections.entities.scopes import former_scope
from projections.entities.single_entities import with_all_fields
from projections.entities.sqlite.commit import SqliteCommit, spelled
from projections.entities.sqlite.database import EntityDatabase, raise_as_ours, sqlite_errors
from projections.entities.sqlite.pages import SqliteListReader
from projections.entities.sqlite.snapshot import SqliteEntitySnapshot
from projections.entities.stored_entity import HELD_DIGESTS, held_digests
from projections.feeding.port import Checkpoint, NumberOf, moved_on

_BY_ID, _BY_FQN = (
    "SELECT core, optional, position, last_event, deleted FROM entities"
    f" WHERE kind = ? AND {column} = ?"
    for column in ("id", "fqn")
)
_DOCUMENTS = (
    # A CROSS JOIN keeps the order of the ids.
    "SELECT e.id, e.core, e.optional FROM json_each(?) one CROSS JOIN entities e"
    " ON e.id = one.value"
)
_BY_FORMER = "SELECT id FROM scopes WHERE scope = ? AND kind = ?"

_EDGES_OF_SCOPE = (
    "SELECT e.core FROM scopes s JOIN entities e"
    " ON e.kind = s.kind AND e.deleted = 0 AND e.name = s.name AND e.id = s.id"
    f" WHERE s.scope = ? AND s.kind = '{EDGE}' AND s.deleted = 0 AND s.name {{}} ?"
    " ORDER BY s.name, s.id"
)
_EDGE_OF_NAME = f"SELECT core FROM entities WHERE kind = '{EDGE}' AND fqn = ?"
_NOWHERE: Checkpoint = (0, "")
"""The checkpoint before the first commit, which the file has no row for."""
_BEGIN = "INSERT OR IGNORE INTO checkpoint (one, position, fingerprint) VALUES (1, ?, ?)"
_MOVE_ON = (
    "UPDATE checkpoint SET position = ?, fingerprint = ? WHERE position = ? AND fingerprint = ?"
)
_LIVE_TOTALS = LIVE_TOTALS.format(
    "",
    "",
    days="json_each(?) one",
    series="(SELECT json_extract(value, '$[0]') AS kind, json_extract(value, '$[1]') AS status"
    " FROM json_each(?)) s",
)
_DELETED = "SELECT kind, sum(n) FROM counters WHERE scope = '' AND deleted = 1 GROUP BY kind"
_DELETED_OF = (
    "SELECT e.id FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value"
    " WHERE e.deleted = 1"
)


class SqliteEdgeReader(EdgeReader):
    """Reads edges on a connection that sees one state of the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def deleted(self, ids: Sequence[str]) -> set[str]:
        """Return those of the entities that are soft-deleted."""
        rows = self._connection.execute(_DELETED_OF, (msgspec.json.encode([*ids]).decode(),))
        return {entity_id for (entity_id,) in rows}

    def _listed(self, entity_id: str, sign: str) -> Iterator[bytes]:
        return self._cores(_EDGES_OF_SCOPE.format(sign), entity_id, entity_id)

    def _named(self, fqn: str) -> Iterator[bytes]:
        return self._cores(_EDGE_OF_NAME, fqn)

    def _cores(self, sql: str, *parameters: str) -> Iterator[bytes]:
        for (core,) in self._connection.execute(sql, parameters):
            yield core


class SqliteReadModel(SortedReadModel):
    """The sorted read model in the tables of one file; made by `open_read_model`."""

    def __init__(self, database: EntityDatabase) -> None:
        self.database = database
        self._number: NumberOf = lambda kind: None

    def share_states(self, number: NumberOf) -> None:
        """Have pages share a state of the file, while the numbers of changes let them."""
        self._number = number

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; 0 and "" before the first commit."""
        with sqlite_errors():
            row = self.database.connection.execute(
                "SELECT position, fingerprint FROM checkpoint"
            ).fetchone()
        return _NOWHERE if row is None else row

    def deleted(self) -> dict[str, int]:
        """Kind -> how many of its entities are soft-deleted; kinds without any may be absent."""
        return dict(self.ask(_DELETED))

    def ask(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a statement."""
        with sqlite_errors():
            return self.database.connection.execute(spelled(sql), values).fetchall()

    def prune(self, upto: int, most: int) -> Horizon:
        """Move the horizon on to a position, by `most` positions at most; see the port."""
        with self.database.short_transaction() as connection:
            return prune(SqliteCommit(connection), upto, most)

    def daily_figures(self, days: range, series: Sequence[tuple[str, str]]) -> DailyFigures:
        """The counts of some days, and the live entities of each kind and status at their ends."""
        asked = (msgspec.json.encode([*each]).decode() for each in (days, series))
        with self.database.reading() as connection:
            return DailyFigures(
                connection.execute(
                    spelled(COUNTS), (days[0], days[-1], days[0] - 1, days[0])
                ).fetchall(),
                connection.execute(_LIVE_TOTALS, (*asked,)).fetchall(),
            )

    def digests(self) -> dict[str, tuple[int, int]]:
        """Kind -> number of its entities, and the sum of their digests modulo 2**128."""
        return held_digests(self.ask(HELD_DIGESTS))

    def read_list(self, request: ListRequest, place: Place | None) -> SqliteListReader:
        """Begin to read the page of `request`; `place` is what the request's cursor stands for."""
        return SqliteListReader(self.database, request, place, self._number)

    def document(
        self,
        kind: str,
        *,
        entity_id: str | None = None,
        fqn: str | None = None,
        most_bytes: int | None = None,
    ) -> StoredDocument | None:
        """The entity of a kind with this id or (without one) this qualified name, if any.

        A name that it had before will do, too. Raises EntityTooLarge, without reading the
        entity, when its core or its optional fields have more than half of `most_bytes`.
        """
        sql, value = (_BY_ID, entity_id) if entity_id is not None else (_BY_FQN, fqn)
        # `sqlite_errors` would add some 80 steps of the interpreter to each read of an entity.
        try:
            connection = self.database.connection
            if most_bytes is None:
                row = connection.execute(sql, (kind, value)).fetchone()
            else:
                unbounded = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most_bytes // 2)
                try:
                    row = connection.execute(sql, (kind, value)).fetchone()
                except sqlite3.DataError:
                    raise EntityTooLarge from None
                finally:
                    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, unbounded)
            if row is None and fqn is not None:
                former = connection.execute(_BY_FORMER, (former_scope(fqn), kind)).fetchone()
                if former is not None:
                    return self.document(kind, entity_id=former[0], most_bytes=most_bytes)
        except sqlite3.DatabaseError as error:
            raise_as_ours(error)
        if row is None:
            return None
        core, optional, position, last_event, deleted = row
        return StoredDocument(core, optional, position, last_event, bool(deleted))

    def documents(
        self, entity_ids: Iterable[str], most_bytes: int = DOCUMENTS_BYTES
    ) -> dict[str, bytes]:
        """Id -> JSON with every field, of the first of these entities; see the port."""
        documents: dict[str, bytes] = {}
        size = 0
        asked = msgspec.json.encode([*entity_ids]).decode()
        with sqlite_errors():
            for entity_id, *fields in self.database.connection.execute(_DOCUMENTS, (asked,)):
                documents[entity_id] = whole = with_all_fields(*fields)
                size += len(whole)
                if size >= most_bytes:
                    break
        return documents

    @contextmanager
    def edges(self, past: PastOfList | None = None) -> Iterator[EdgeReader]:
        """One consistent state of the lineage, which is held until the block ends."""
        if past is not None:
            with self.read_list(edges_as_of(past), None) as reader:
                yield reader.edges(past)
            return
        with self.database.reading() as connection:
            yield SqliteEdgeReader(connection)

    def apply(
        self,
        entities: Mapping[str, EntityChange],
        position: int,
        fingerprint: str,
        *,
        after: Checkpoint,
        moments: Sequence[Moment] = (),
        events: EventCounts = NO_EVENTS,
    ) -> None:
        """Store what became of entities, by id, and move the checkpoint.

        Raises StoreUnavailable, having changed nothing, when the checkpoint is not `after`.
        """
        with self.database.transaction() as connection:
            # The transaction has the lock of the only writer from its beginning.
            moved = connection.execute(_MOVE_ON, (position, fingerprint, *after)).rowcount
            if not moved and after == _NOWHERE:
                moved = connection.execute(_BEGIN, (position, fingerprint)).rowcount
            if not moved:
                raise moved_on("sorted read model", after)
            write_entities(SqliteCommit(connection), entities, moments, events)

    @contextmanager
    def snapshot(self) -> Iterator[SqliteEntitySnapshot]:
        """One consistent state of the file, kept readable until the block ends."""
        with self.database.snapshot() as connection:
            yield SqliteEntitySnapshot(connection)

    def damage(self) -> list[str]:
        """Return the damage that SQLite sees in the file and its indexes; 20 lines at most."""
        with self.database.snapshot() as connection:
            lines = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
        return [] if lines == ["ok"] else lines

    def close(self) -> None:
        """Close every connection; nothing may use the read model afterwards."""
        self.database.close()


def open_read_model(path: Path, *, writable: bool = True) -> SqliteReadModel:
    """The read model in the file at `path`, which is made when it is missing and `writable`.

    Raises Damaged when only building the read model anew helps, else StoreUnavailable.
    """
    model = SqliteReadModel(EntityDatabase(path, writable=writable))
    try:
        if writable:
            model.database.prepare()
        else:
            model.checkpoint()
    except BaseException:
        model.close()
        raise
    return model
