"""Writes stored entities to SQLite, and keeps lists, totals and digests equal to them."""

import sqlite3
from collections.abc import Iterable, Mapping

import msgspec

from projections.entities.commit_changes import CommitChanges
from projections.entities.sqlite.tables import INSERT_ENTITY, add_digests
from projections.entities.stored_entity import StoredEntity, decode_scopes

_ScopeRow = tuple[str, str, int, str, str, str | None]
"""Scope, kind, deletion state, name, id and status: the columns of `scopes`."""


def write_entities(
    connection: sqlite3.Connection, entities: Mapping[str, StoredEntity | None]
) -> None:
    """Replaces, adds or (None) removes entities by id, within the connection's transaction."""
    changes = CommitChanges()
    listed = _remove(connection, entities, changes)
    rows, to_list = [], set[_ScopeRow]()
    for one in entities.values():
        if one is None:
            continue
        scopes = decode_scopes(one.scopes)
        rows.append(msgspec.structs.astuple(one))
        to_list.update(
            (scope, one.kind, one.deleted, one.name, one.id, one.status) for scope in scopes
        )
        changes.add(1, (one.kind, one.deleted, one.status), scopes, one.digest)
    connection.executemany(INSERT_ENTITY, rows)
    # Rows of one entity lie on as many pages as it has scopes: those that stay are not written.
    connection.executemany(
        "DELETE FROM scopes WHERE scope = ? AND kind = ? AND deleted = ? AND name = ? AND id = ?",
        [row[:5] for row in sorted(listed - to_list)],
    )
    connection.executemany("INSERT INTO scopes VALUES (?,?,?,?,?,?)", sorted(to_list - listed))
    connection.executemany(
        "INSERT INTO counters VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
        [(*key, n) for key, n in changes.totals.items() if n],
    )
    add_digests(connection, {kind: (n, changes.sums[kind]) for kind, n in changes.counts.items()})


def _remove(
    connection: sqlite3.Connection, ids: Iterable[str], changes: CommitChanges
) -> set[_ScopeRow]:
    """Takes out the rows of those entities that have any, and uncounts them.

    Gives their rows of `scopes`, which are left.
    """
    stored = connection.execute(
        "SELECT e.kind, e.deleted, e.name, e.id, e.status, e.scopes, e.digest"
        " FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value",
        (msgspec.json.encode([*ids]).decode(),),
    )
    keys, listed = [], set[_ScopeRow]()
    for kind, deleted, name, entity_id, status, scopes_json, digest in stored:
        scopes = decode_scopes(scopes_json)
        key = (kind, deleted, name, entity_id)
        keys.append(key)
        listed.update((scope, *key, status) for scope in scopes)
        changes.add(-1, (kind, deleted, status), scopes, digest)
    connection.executemany(
        "DELETE FROM entities WHERE kind = ? AND deleted = ? AND name = ? AND id = ?", keys
    )
    return listed
