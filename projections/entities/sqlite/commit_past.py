"""Writes the past of entities to SQLite: the states that a commit replaces, and totals of then."""

import sqlite3
from collections.abc import Mapping

import msgspec
from msgspec.structs import astuple

from domain.edges import EDGE, edge_ends
from projections.entities.replaced_states import (
    EntityChange,
    HeldState,
    PastChanges,
    ReplacedState,
    scope_rows,
)
from projections.entities.sqlite.tables import (
    INSERT_HISTORY_SCOPE,
    INSERT_PAST,
    INSERT_REPLACED,
    INSERT_TOTAL,
)
from projections.entities.stored_entity import held_digests

_ROWS_OF = (
    "SELECT kind, deleted, name, id, fqn, status, scopes, since, until, NULL, NULL, digest"
    " FROM history WHERE id = ?"
)
_EDGES_OF = f"SELECT DISTINCT id FROM history_scopes WHERE scope = ? AND kind = '{EDGE}'"
_STORED = "SELECT e.id FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value"
_REMOVE = "DELETE FROM history WHERE id = ?"
_UNLIST = (
    "DELETE FROM history_scopes WHERE scope = ? AND kind = ? AND deleted = ? AND name = ?"
    " AND id = ? AND until = ?"
)
_LAST_TOTAL = (
    "SELECT n FROM kind_totals WHERE kind = ? AND deleted = ? AND status = ?"
    " ORDER BY position DESC LIMIT 1"
)
_FORGET = "INSERT INTO forgotten VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
_PAST = "SELECT kind, n, sum FROM pasts WHERE kind = ?"


def write_past(
    connection: sqlite3.Connection,
    held: Mapping[str, HeldState],
    entities: Mapping[str, EntityChange],
) -> None:
    """Keep the states that are replaced, within the connection's transaction.

    `held` are those that were stored before it, and `entities` what became of them, which must be
    stored already.
    """
    changes = PastChanges()
    for entity_id, change in entities.items():
        changes.add(held.get(entity_id), change)
    if ends := changes.ends:
        ids = msgspec.json.encode(ends).decode()
        changes.keep_edges({entity_id for (entity_id,) in connection.execute(_STORED, (ids,))})
    for entity_id in changes.purged:
        _remove(connection, entity_id, changes)
    totals = {
        series: n for series in changes.series for (n,) in connection.execute(_LAST_TOTAL, series)
    }
    digests = held_digests(
        row for kind in changes.kinds for row in connection.execute(_PAST, (kind,))
    )
    for statement, rows in (
        (INSERT_REPLACED, [astuple(row) for row in changes.replaced]),
        (INSERT_HISTORY_SCOPE, [each for row in changes.replaced for each in scope_rows(row)]),
        (INSERT_TOTAL, changes.totals(totals)),
        (_FORGET, changes.forgotten),
        (INSERT_PAST, changes.pasts(digests)),
    ):
        if rows:
            connection.executemany(statement, rows)


def _remove(connection: sqlite3.Connection, entity_id: str, changes: PastChanges) -> None:
    """Remove the past of a purged entity, and that of edges between it and others."""
    edges = connection.execute(_EDGES_OF, (entity_id,)).fetchall()
    for (one,) in ((entity_id,), *edges):
        rows = [ReplacedState(*row) for row in connection.execute(_ROWS_OF, (one,))]
        if one != entity_id and entity_id not in edge_ends(rows[0].fqn):
            # The entity was the pipeline of the edge.
            continue
        changes.remove(rows)
        connection.execute(_REMOVE, (one,))
        unlisted = [each[:6] for row in rows for each in scope_rows(row)]
        connection.executemany(_UNLIST, unlisted)
