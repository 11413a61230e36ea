"""Writes the past of entities to SQLite: the states that a commit replaces, and totals of then."""

import sqlite3
from collections.abc import Mapping
from operator import itemgetter

import msgspec
from msgspec.structs import astuple

from domain.edges import EDGE, edge_ends
from projections.entities.daily_counts import DayCounts
from projections.entities.replaced_states import (
    EntityChange,
    HeldState,
    PastChanges,
    ReplacedState,
    memberships,
)
from projections.entities.sqlite.tables import (
    ADD_TO_DAY,
    FORGET,
    INSERT_ENDED,
    INSERT_PAST,
    INSERT_REPLACED,
    INSERT_SCOPE,
    INSERT_TOTAL,
)
from projections.entities.stored_entity import held_digests

_ROWS_OF = (
    "SELECT kind, deleted, name, id, fqn, status, scopes, since, until, NULL, NULL, digest"
    " FROM history WHERE id = ?"
)
_EDGES_OF = " UNION ".join(
    f"SELECT id FROM {table} WHERE scope = :id AND kind = '{EDGE}'"
    for table in ("history_scopes", "scopes")
)
_STORED = "SELECT e.id FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value"
_REMOVE = "DELETE FROM history WHERE id = ?"
_KEY = "scope = ? AND kind = ? AND deleted = ? AND name = ? AND id = ?"
_ENDED = "scope, kind, deleted, name, id, {}, since, status"
_REMOVE_ENDED = f"DELETE FROM history_scopes WHERE {_KEY} RETURNING {_ENDED.format('until')}"
_MOVED = f"SELECT {_ENDED.format('?')} FROM scopes WHERE {_KEY} AND since < ?"
_UNLIST = f"DELETE FROM scopes WHERE {_KEY}"
_LAST_TOTAL = (
    "SELECT n FROM kind_totals WHERE kind = ? AND deleted = ? AND status = ?"
    " ORDER BY position DESC LIMIT 1"
)
PAST = "SELECT kind, n, sum FROM pasts WHERE kind = ?"


def write_past(
    connection: sqlite3.Connection,
    held: Mapping[str, HeldState],
    entities: Mapping[str, EntityChange],
    days: DayCounts,
) -> None:
    """Keep the states that are replaced, within the connection's transaction.

    `held` are those that were stored before it, and `entities` what became of them, which must be
    stored already. `days` have the events of the commit.
    """
    changes = PastChanges()
    for entity_id, change in entities.items():
        changes.add(held.get(entity_id), change)
    if ends := changes.ends:
        ids = msgspec.json.encode(ends).decode()
        changes.keep_edges({entity_id for (entity_id,) in connection.execute(_STORED, (ids,))})
    for entity_id in changes.purged:
        _remove(connection, entity_id, changes)
    moved = [
        row
        for *key, until in changes.moved
        for row in connection.execute(_MOVED, (until, *key, until))
    ]
    totals = {
        series: n for series in changes.series for (n,) in connection.execute(_LAST_TOTAL, series)
    }
    days.add_coverage(changes.coverage)
    digests = held_digests(
        row for kind in changes.kinds for row in connection.execute(PAST, (kind,))
    )
    for statement, rows in (
        (INSERT_REPLACED, [astuple(row) for row in changes.replaced]),
        (INSERT_ENDED, [*changes.ended, *moved]),
        (_UNLIST, sorted(changes.unlisted)),
        (INSERT_SCOPE, sorted(changes.listed, key=itemgetter(*range(5)))),
        (INSERT_TOTAL, changes.totals(totals)),
        (FORGET, changes.forgotten),
        (INSERT_PAST, changes.pasts(digests, moved)),
        (ADD_TO_DAY, days.rows),
    ):
        if rows:
            connection.executemany(statement, rows)


def _remove(connection: sqlite3.Connection, entity_id: str, changes: PastChanges) -> None:
    """Remove the past of a purged entity, and that of edges between it and others."""
    edges = connection.execute(_EDGES_OF, {"id": entity_id}).fetchall()
    for (one,) in ((entity_id,), *edges):
        rows = [ReplacedState(*row) for row in connection.execute(_ROWS_OF, (one,))]
        if one != entity_id and not any(entity_id in edge_ends(row.fqn) for row in rows):
            # The entity was the pipeline of the edge, or it has no past.
            continue
        keys = {key[:5] for row in rows for key in memberships(row)}
        ended = [row for key in keys for row in connection.execute(_REMOVE_ENDED, key)]
        connection.execute(_REMOVE, (one,))
        changes.remove(rows, ended)
