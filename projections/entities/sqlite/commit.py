"""Writes stored entities to SQLite, and keeps lists, totals and digests equal to them."""

import sqlite3
from collections.abc import Mapping

import msgspec

from projections.entities.commit_changes import CommitChanges, held_digests
from projections.entities.sqlite.tables import INSERT_DIGEST, INSERT_ENTITY
from projections.entities.stored_entity import StoredEntity

_DIGESTS_OF = "SELECT kind, n, sum FROM digests WHERE kind IN (SELECT value FROM json_each(?))"


def write_entities(
    connection: sqlite3.Connection, entities: Mapping[str, StoredEntity | None]
) -> None:
    """Replaces, adds or (None) removes entities by id, within the connection's transaction."""
    stored = connection.execute(
        "SELECT e.kind, e.deleted, e.name, e.id, e.status, e.scopes, e.digest"
        " FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value",
        (msgspec.json.encode([*entities]).decode(),),
    ).fetchall()
    to_store = [*filter(None, entities.values())]
    changes = CommitChanges(stored, to_store)
    kinds = msgspec.json.encode(changes.kinds).decode()
    digests = held_digests(connection.execute(_DIGESTS_OF, (kinds,)))
    for statement, rows in (
        (
            "DELETE FROM entities WHERE kind = ? AND deleted = ? AND name = ? AND id = ?",
            [row[:4] for row in stored],
        ),
        (INSERT_ENTITY, [*map(msgspec.structs.astuple, to_store)]),
        (
            "DELETE FROM scopes WHERE scope = ? AND kind = ? AND deleted = ? AND name = ?"
            " AND id = ?",
            changes.unlisted,
        ),
        ("INSERT INTO scopes VALUES (?,?,?,?,?,?)", changes.listed),
        (
            "INSERT INTO counters VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            changes.totals,
        ),
        (INSERT_DIGEST, changes.digests(digests)),
    ):
        if rows:
            connection.executemany(statement, rows)
