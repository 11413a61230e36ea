"""Writes the past of entities to PostgreSQL: states that a commit replaces, and totals of then."""

from collections.abc import Mapping

from msgspec.structs import astuple

from domain.edges import EDGE, edge_ends
from domain.event_store.postgres.link import Link
from projections.entities.postgres.database import EntityTables, write_rows
from projections.entities.replaced_states import (
    EntityChange,
    HeldState,
    PastChanges,
    ReplacedState,
    scope_rows,
)
from projections.entities.stored_entity import held_digests

_ROWS_OF = (
    "SELECT kind, deleted, name, id, fqn, status, scopes, since, until, NULL::bytea, NULL::bytea,"
    " digest FROM {}.history WHERE id = ANY (%b::text[]) ORDER BY id, until"
)
_EDGES_OF = (
    "SELECT DISTINCT scope, id FROM {}.history_scopes"
    f" WHERE scope = ANY (%b::text[]) AND kind = '{EDGE}'"
)
_STORED = "SELECT id FROM {}.entities WHERE id = ANY (%b::text[])"
_REMOVE = "DELETE FROM {}.history WHERE id = ANY (%b::text[])"
_KEY = "scope, kind, deleted, name, id, until"
_UNLIST = (
    f"DELETE FROM {{}}.history_scopes WHERE ({_KEY}) IN (SELECT * FROM"
    " unnest(%b::text[], %b::text[], %b::int4[], %b::text[], %b::text[], %b::int8[]))"
)
_KEEP = (
    "INSERT INTO {}.history SELECT * FROM unnest(%b::text[], %b::int4[], %b::text[], %b::text[],"
    " %b::text[], %b::text[], %b::text[], %b::int8[], %b::int8[], %b::bytea[], %b::bytea[],"
    " %b::bytea[])"
)
_LIST = (
    "INSERT INTO {}.history_scopes SELECT * FROM unnest(%b::text[], %b::text[], %b::int4[],"
    " %b::text[], %b::text[], %b::int8[], %b::int8[], %b::text[])"
)
_SERIES = "unnest(%b::text[], %b::int4[], %b::text[]"
_LAST_TOTALS = (
    "SELECT s.kind, s.deleted, s.status, t.n"
    f" FROM {_SERIES}) AS s (kind, deleted, status) CROSS JOIN LATERAL"
    " (SELECT n FROM {}.kind_totals k WHERE k.kind = s.kind AND k.deleted = s.deleted"
    " AND k.status = s.status ORDER BY position DESC LIMIT 1) t"
)
_ROWS_OF_SERIES = f"SELECT * FROM {_SERIES}, %b::int8[], %b::int8[])"
_TOTAL = (
    f"INSERT INTO {{}}.kind_totals {_ROWS_OF_SERIES}"
    " ON CONFLICT (kind, deleted, status, position) DO UPDATE SET n = excluded.n"
)
_FORGET = (
    f"INSERT INTO {{}}.forgotten AS f {_ROWS_OF_SERIES}"
    " ON CONFLICT (kind, deleted, status, position) DO UPDATE SET n = f.n + excluded.n"
)
_PASTS = "SELECT kind, n, sum FROM {}.pasts WHERE kind = ANY (%b::text[])"
_PAST = (
    "INSERT INTO {}.pasts AS p"
    " SELECT * FROM unnest(%b::text[], %b::int8[], %b::int8[], %b::bytea[])"
    " ON CONFLICT (kind) DO UPDATE SET position = greatest(p.position, excluded.position),"
    " n = excluded.n, sum = excluded.sum"
)


def write_past(
    link: Link,
    tables: EntityTables,
    held: Mapping[str, HeldState],
    entities: Mapping[str, EntityChange],
) -> None:
    """Keep the states that are replaced, within the link's transaction.

    `held` are those that were stored before it, and `entities` what became of them, which must be
    stored already.
    """
    changes = PastChanges()
    for entity_id, change in entities.items():
        changes.add(held.get(entity_id), change)
    if ends := changes.ends:
        rows = link.rows(tables.within(_STORED), ends)
        changes.keep_edges({entity_id for (entity_id,) in rows})
    if changes.purged:
        _remove(link, tables, changes)
    totals: dict[tuple[str, int, str], int] = {}
    if series := changes.series:
        columns = [[*column] for column in zip(*series, strict=True)]
        for kind, deleted, status, n in link.rows(tables.within(_LAST_TOTALS), *columns):
            totals[kind, deleted, status] = n
    digests = held_digests(link.rows(tables.within(_PASTS), [*changes.kinds]))
    for statement, written in (
        (_KEEP, [astuple(row) for row in changes.replaced]),
        (_LIST, [each for row in changes.replaced for each in scope_rows(row)]),
        (_TOTAL, changes.totals(totals)),
        (_FORGET, changes.forgotten),
        (_PAST, changes.pasts(digests)),
    ):
        write_rows(link, tables, statement, written)


def _remove(link: Link, tables: EntityTables, changes: PastChanges) -> None:
    """Remove the past of purged entities, and that of edges between them and others."""
    purged = changes.purged
    edges = {edge_id for _, edge_id in link.rows(tables.within(_EDGES_OF), purged)}
    gone = {*purged}
    # Of an edge the entity may be the pipeline.
    rows = [
        row
        for row in (
            ReplacedState(*each) for each in link.rows(tables.within(_ROWS_OF), [*gone, *edges])
        )
        if row.id in gone or not gone.isdisjoint(edge_ends(row.fqn))
    ]
    if not rows:
        return
    changes.remove(rows)
    link.rows(tables.within(_REMOVE + " RETURNING id"), [*{row.id for row in rows}])
    unlisted = [each[:6] for row in rows for each in scope_rows(row)]
    write_rows(link, tables, _UNLIST, unlisted)
