"""Writes the past of entities to PostgreSQL: states that a commit replaces, and totals of then."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import astuple

from domain.edges import EDGE, edge_ends
from domain.event_store.postgres.link import Link
from projections.entities.daily_counts import DayCounts
from projections.entities.postgres.database import EntityTables, write_rows
from projections.entities.replaced_states import (
    EntityChange,
    HeldState,
    PastChanges,
    ReplacedState,
    memberships,
)
from projections.entities.stored_entity import held_digests

_ROWS_OF = (
    "SELECT kind, deleted, name, id, fqn, status, scopes, since, until, NULL::bytea, NULL::bytea,"
    " digest FROM {}.history WHERE id = ANY (%b::text[]) ORDER BY id, until"
)
_EDGES_OF = " UNION ".join(
    f"SELECT id FROM {{}}.{table} WHERE scope = ANY (%b::text[]) AND kind = '{EDGE}'"
    for table in ("history_scopes", "scopes")
)
_STORED = "SELECT id FROM {}.entities WHERE id = ANY (%b::text[])"
_REMOVE = "DELETE FROM {}.history WHERE id = ANY (%b::text[])"
KEYS = "unnest(%b::text[], %b::text[], %b::int8[], %b::text[], %b::text[]"
SAME_MEMBERSHIP = (
    "(s.scope, s.kind, s.deleted, s.name, s.id)"
    " = (one.scope, one.kind, one.deleted, one.name, one.id)"
)
ENDED_COLUMNS = "s.scope, s.kind, s.deleted, s.name, s.id, {}.until, s.since, s.status"
_REMOVE_ENDED = (
    f"DELETE FROM {{}}.history_scopes s USING {KEYS}) AS one (scope, kind, deleted, name, id)"
    f" WHERE {SAME_MEMBERSHIP} RETURNING {ENDED_COLUMNS.format('s')}"
)
_MOVED = (
    f"SELECT {ENDED_COLUMNS.format('one')} FROM {{}}.scopes s"
    f" JOIN {KEYS}, %b::int8[]) AS one (scope, kind, deleted, name, id, until) ON {SAME_MEMBERSHIP}"
    " WHERE s.since < one.until"
)
_UNLIST = (
    f"DELETE FROM {{}}.scopes s USING {KEYS}) AS one (scope, kind, deleted, name, id)"
    f" WHERE {SAME_MEMBERSHIP}"
)
_LIST = f"INSERT INTO {{}}.scopes SELECT * FROM {KEYS}, %b::text[], %b::int8[])"
_KEEP = (
    "INSERT INTO {}.history SELECT * FROM unnest(%b::text[], %b::int4[], %b::text[], %b::text[],"
    " %b::text[], %b::text[], %b::text[], %b::int8[], %b::int8[], %b::bytea[], %b::bytea[],"
    " %b::bytea[])"
)
_END = f"INSERT INTO {{}}.history_scopes SELECT * FROM {KEYS}, %b::int8[], %b::int8[], %b::text[])"
SERIES = "unnest(%b::text[], %b::int4[], %b::text[]"
_LAST_TOTALS = (
    "SELECT s.kind, s.deleted, s.status, t.n"
    f" FROM {SERIES}) AS s (kind, deleted, status) CROSS JOIN LATERAL"
    " (SELECT n FROM {}.kind_totals k WHERE k.kind = s.kind AND k.deleted = s.deleted"
    " AND k.status = s.status ORDER BY position DESC LIMIT 1) t"
)
_ROWS_OF_SERIES = f"SELECT * FROM {SERIES}, %b::int8[], %b::int8[])"
_TOTAL = (
    f"INSERT INTO {{}}.kind_totals {_ROWS_OF_SERIES}"
    " ON CONFLICT (kind, deleted, status, position) DO UPDATE SET n = excluded.n"
)
FORGET = (
    f"INSERT INTO {{}}.forgotten AS f {_ROWS_OF_SERIES}"
    " ON CONFLICT (kind, deleted, status, position) DO UPDATE SET n = f.n + excluded.n"
)
PASTS = "SELECT kind, n, sum FROM {}.pasts WHERE kind = ANY (%b::text[])"
PAST = (
    "INSERT INTO {}.pasts AS p"
    " SELECT * FROM unnest(%b::text[], %b::int8[], %b::int8[], %b::bytea[])"
    " ON CONFLICT (kind) DO UPDATE SET position = greatest(p.position, excluded.position),"
    " n = excluded.n, sum = excluded.sum"
)

_DAYS = (
    "INSERT INTO {}.days AS d SELECT * FROM unnest(%b::int8[], %b::text[], %b::text[], %b::int8[])"
    " ON CONFLICT (kind, what, day) DO UPDATE SET n = d.n + excluded.n"
)


def write_past(
    link: Link,
    tables: EntityTables,
    held: Mapping[str, HeldState],
    entities: Mapping[str, EntityChange],
    days: DayCounts,
) -> None:
    """Keep the states that are replaced, within the link's transaction.

    `held` are those that were stored before it, and `entities` what became of them, which must be
    stored already. `days` have the events of the commit.
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
    for kind, deleted, status, n in asked(link, tables, _LAST_TOTALS, changes.series):
        totals[kind, deleted, status] = n
    days.add_coverage(changes.coverage)
    digests = held_digests(link.rows(tables.within(PASTS), [*changes.kinds]))
    moved = asked(link, tables, _MOVED, changes.moved)
    for statement, written in (
        (_KEEP, [astuple(row) for row in changes.replaced]),
        (_END, [*changes.ended, *moved]),
        (_UNLIST, changes.unlisted),
        (_LIST, changes.listed),
        (_TOTAL, changes.totals(totals)),
        (FORGET, changes.forgotten),
        (PAST, changes.pasts(digests, moved)),
        (_DAYS, days.rows),
    ):
        write_rows(link, tables, statement, written)


def _remove(link: Link, tables: EntityTables, changes: PastChanges) -> None:
    """Remove the past of purged entities, and that of edges between them and others."""
    purged = changes.purged
    edges = {edge_id for (edge_id,) in link.rows(tables.within(_EDGES_OF), purged, purged)}
    gone = {*purged}
    # Of an edge the entity may be the pipeline.
    rows = [
        row
        for row in (
            ReplacedState(*each) for each in link.rows(tables.within(_ROWS_OF), [*gone, *edges])
        )
        if row.id in gone or not gone.isdisjoint(edge_ends(row.fqn))
    ]
    keys = {key[:5] for row in rows for key in memberships(row)}
    changes.remove(rows, asked(link, tables, _REMOVE_ENDED, [*keys]))
    link.execute(tables.within(_REMOVE).encode(), ([*{row.id for row in rows}],))


def asked(
    link: Link, tables: EntityTables, sql: str, given: Sequence[tuple[Any, ...]]
) -> list[Any]:
    """The rows of a statement the values of which are the columns of what is given."""
    if not given:
        return []
    return link.rows(tables.within(sql), *([*column] for column in zip(*given, strict=True)))
