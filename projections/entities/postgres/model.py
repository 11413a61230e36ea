"""The port of the sorted read model over a schema of a PostgreSQL database."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from domain.edges import EDGE
from domain.errors import StoreUnavailable
from domain.event_store.port import MAX_INTEGER
from domain.event_store.postgres.link import Link, spelled
from domain.kinds.names import name_key
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
from projections.entities.list_sql import Statement
from projections.entities.port import (
    DOCUMENTS_BYTES,
    EdgeReader,
    EntityTooLarge,
    SortedReadModel,
    StoredDocument,
)
from projections.entities.postgres.commit import PostgresCommit
from projections.entities.postgres.database import EntityTables, postgres_errors
from projections.entities.postgres.pages import PostgresListReader
from projections.entities.postgres.snapshot import PostgresEntitySnapshot
from projections.entities.pruning import prune
from projections.entities.replaced_states import EntityChange
from projections.entities.scopes import former_scope
from projections.entities.single_entities import with_all_fields
from projections.entities.stored_entity import HELD_DIGESTS, held_digests
from projections.feeding.port import Checkpoint, Damaged, Superseded, moved_on

_DOCUMENT = {
    key: (
        "SELECT stored.* FROM (SELECT) one LEFT JOIN (SELECT e.position, e.last_event, e.deleted,"
        " CASE WHEN octet_length(core) + octet_length(optional) <= %b THEN core END AS core,"
        " CASE WHEN octet_length(core) + octet_length(optional) <= %b THEN optional END AS optional"
        f" FROM {{}}.entities e WHERE e.kind = %b AND e.{condition}) stored ON true"
    )
    for key, condition in (
        ("id", "id = %b"),
        (
            "fqn_key",
            "id = coalesce((SELECT id FROM {}.entities WHERE fqn_key = %b),"
            " (SELECT f.id FROM {}.scopes f WHERE f.scope = %b AND f.kind = %b))",
        ),
    )
}
"""Gives NULL for what no entity has, and for the JSON of one that is too large."""
_DOCUMENTS = (
    "SELECT stored.* FROM (SELECT) one LEFT JOIN (SELECT id, core, optional FROM"
    " (SELECT *, sum(size) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) - size AS before FROM"
    " (SELECT e.id, core, optional, place, octet_length(core) + octet_length(optional) AS size"
    " FROM unnest(%b::text[]) WITH ORDINALITY asked (id, place)"
    " JOIN {}.entities e ON e.id = asked.id) sized) summed WHERE before < %b) stored ON true"
)
"""Gives NULL where it finds nothing."""
_DELETED = (
    "SELECT kind, sum(n)::int8 FROM {}.counters WHERE scope = '' AND deleted = 1 GROUP BY kind"
)
_LIVE_TOTALS = LIVE_TOTALS.format(
    "{}.",
    "{}.",
    days="unnest(%b::int8[]) AS one (value)",
    series="unnest(%b::text[], %b::text[]) AS s (kind, status)",
)
_MOVE = (
    "UPDATE {}.checkpoint SET position = %b, fingerprint = %b"
    " WHERE one = 1 AND position = %b AND fingerprint = %b"
)
_CHECKPOINT = "SELECT position, fingerprint FROM {}.checkpoint"
_AT_ONCE = 50
"""Documents that one statement reads."""
_EDGES_AT_ONCE = 100
"""Edges that one statement reads."""
_EDGES_OF_SCOPE = (
    "SELECT s.name, s.id, e.core FROM (SELECT name, id FROM {{}}.scopes"
    f" WHERE scope = %b AND kind = '{EDGE}' AND deleted = 0 AND name {{}} %b"
    f" AND (name, id) > (%b, %b) ORDER BY name, id LIMIT {_EDGES_AT_ONCE}) s"
    " JOIN {{}}.entities e ON e.id = s.id ORDER BY s.name, s.id"
)
_EDGE_OF_NAME = "SELECT core FROM {}.entities WHERE fqn_key = %b"
_DELETED_OF = "SELECT id FROM {}.entities WHERE id = ANY (%b::text[]) AND deleted = 1"


class PostgresEdgeReader(EdgeReader):
    """Reads edges on a connection that sees one state of the tables."""

    def __init__(self, tables: EntityTables, link: Link) -> None:
        self._tables = tables
        self._link = link

    def deleted(self, ids: Sequence[str]) -> set[str]:
        """Return those of the entities that are soft-deleted."""
        return {entity_id for (entity_id,) in self._rows(_DELETED_OF, [*ids])}

    def _named(self, fqn: str) -> Iterator[bytes]:
        for (core,) in self._rows(_EDGE_OF_NAME, name_key(EDGE, fqn)):
            yield core

    def _listed(self, entity_id: str, sign: str) -> Iterator[bytes]:
        sql, after = _EDGES_OF_SCOPE.format(sign), ("", "")
        while rows := self._rows(sql, entity_id, entity_id, *after):
            for name, edge_id, core in rows:
                after = name, edge_id
                yield core
            if len(rows) < _EDGES_AT_ONCE:
                return

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._link.rows(self._tables.within(sql), *values)


class PostgresReadModel(SortedReadModel):
    """The sorted read model in the schema of one generation."""

    def __init__(self, tables: EntityTables, writer: Callable[[], Link]) -> None:
        """`writer` gives the session that commits; raises StoreUnavailable when there is none."""
        self.tables = tables
        self._writer = writer

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; 0 and "" before the first commit."""
        ((position, fingerprint),) = self.tables.ask((_CHECKPOINT, ()))
        return position, fingerprint

    def deleted(self) -> dict[str, int]:
        """Kind -> how many of its entities are soft-deleted; kinds without any may be absent."""
        return dict(self.tables.ask((_DELETED, ())))

    def ask(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a statement; raises Superseded as well when another generation is live."""
        return self.tables.ask_live((spelled(sql), values))

    def prune(self, upto: int, most: int) -> Horizon:
        """Move the horizon on to a position, by `most` positions at most; see the port.

        Raises Damaged when the tables are gone.
        """
        link = self._writer()
        try:
            with postgres_errors(), link.transaction():
                return prune(PostgresCommit(link, self.tables), upto, most)
        except Superseded as gone:
            raise Damaged(gone.message) from gone

    def daily_figures(self, days: range, series: Sequence[tuple[str, str]]) -> DailyFigures:
        """The counts of some days, and the live entities of each kind and status at their ends."""
        of_series = [kind for kind, _ in series], [status for _, status in series]
        within = self.tables.within
        with self.tables.reading() as link:
            return DailyFigures(
                link.rows(within(spelled(COUNTS)), days[0], days[-1], days[0] - 1, days[0]),
                link.rows(within(_LIVE_TOTALS), [*days], *of_series),
            )

    def digests(self) -> dict[str, tuple[int, int]]:
        """Kind -> number of its entities, and the sum of their digests modulo 2**128."""
        return held_digests(self.tables.ask((HELD_DIGESTS, ())))

    def read_list(self, request: ListRequest, place: Place | None) -> PostgresListReader:
        """Begin to read the page of `request`; `place` is what the request's cursor stands for."""
        return PostgresListReader(self.tables, request, place)

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
        entity, when its core and its optional fields have more than `most_bytes` together.
        """
        if entity_id is not None and "\0" in entity_id:
            return None
        most = MAX_INTEGER if most_bytes is None else most_bytes
        statement: Statement
        if entity_id is not None:
            statement = _DOCUMENT["id"], (most, most, kind, entity_id)
        else:
            assert fqn is not None
            names = name_key(kind, fqn), former_scope(fqn), kind
            statement = _DOCUMENT["fqn_key"], (most, most, kind, *names)
        ((position, last_event, deleted, core, optional),) = self.tables.ask_live(statement)
        if position is None:
            return None
        if core is None:
            raise EntityTooLarge
        return StoredDocument(core, optional, position, last_event, bool(deleted))

    def documents(
        self, entity_ids: Iterable[str], most_bytes: int = DOCUMENTS_BYTES
    ) -> dict[str, bytes]:
        """Id -> JSON with every field, of the first of these entities; see the port."""
        left = deque(each for each in entity_ids if "\0" not in each)
        documents: dict[str, bytes] = {}
        while left and most_bytes > 0:
            part = [left.popleft() for _ in range(min(_AT_ONCE, len(left)))]
            rows = self.tables.ask_live((_DOCUMENTS, (part, most_bytes)))
            read = {each: with_all_fields(*json) for each, *json in rows if each is not None}
            documents |= {each: read[each] for each in part if each in read}
            most_bytes -= sum(map(len, read.values()))
        return documents

    @contextmanager
    def edges(self, past: PastOfList | None = None) -> Iterator[EdgeReader]:
        """One consistent state of the lineage, which is held until the block ends."""
        if past is not None:
            with self.read_list(edges_as_of(past), None) as reader:
                yield reader.edges(past)
            return
        with self.tables.reading() as link:
            yield PostgresEdgeReader(self.tables, link)

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

        Raises StoreUnavailable, having changed nothing, when the checkpoint is not `after`; Damaged
        when the tables are gone.
        """
        link = self._writer()
        try:
            with postgres_errors(), link.transaction():
                # Waits for the disk: what a list has shown must not be gone after a crash, though
                # it would be made again soon.
                moved = link.execute(
                    self.tables.within(_MOVE).encode(), (position, fingerprint, *after)
                )
                if moved.rowcount != 1:
                    raise moved_on("sorted read model", after)
                write_entities(PostgresCommit(link, self.tables), entities, moments, events)
        except Superseded as gone:
            raise Damaged(gone.message) from gone

    @contextmanager
    def snapshot(self) -> Iterator[PostgresEntitySnapshot]:
        """One consistent state of the tables, kept readable until the block ends."""
        with self.tables.snapshot() as link:
            yield PostgresEntitySnapshot(self.tables, link)

    def damage(self) -> list[str]:
        """Nothing: pages and indexes are for the server to check."""
        return []

    def close(self) -> None:
        """Do nothing: the connections are those of all generations."""


def no_writer() -> Link:
    """Raise StoreUnavailable: the writer of a read model that is opened to be read."""
    raise StoreUnavailable("the sorted read model was opened to be read")
