"""Writes stored entities to SQLite, and keeps lists, totals and digests equal to them."""

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import astuple

from domain.reading.moments import Moment
from projections.entities.commit_changes import CommitChanges, held_digests
from projections.entities.sqlite.tables import INSERT_DIGEST, INSERT_ENTITY, INSERT_MOMENT
from projections.entities.stored_entity import StoredEntity

_STORED = (
    "SELECT e.kind, e.deleted, e.name, e.id, e.status, e.scopes, e.digest, e.fqn"
    " FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value"
)
_DIGEST = "SELECT kind, n, sum FROM digests WHERE kind = ?"
_REMOVE = "DELETE FROM entities WHERE kind = ? AND deleted = ? AND name = ? AND id = ?"
_CHANGE = (
    "UPDATE entities SET scopes = ?, position = ?, last_event = ?, core = ?, optional = ?,"
    " digest = ? WHERE kind = ? AND deleted = ? AND name = ? AND id = ?"
)
_UNLIST = "DELETE FROM scopes WHERE scope = ? AND kind = ? AND deleted = ? AND name = ? AND id = ?"
_LIST = "INSERT INTO scopes VALUES (?,?,?,?,?,?)"
_COUNT = "INSERT INTO counters VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n"


def write_moments(connection: sqlite3.Connection, moments: Sequence[Moment]) -> None:
    """Add those moments that are later than all that are stored."""
    if moments:
        ((greatest,),) = connection.execute("SELECT max(at) FROM moments")
        later = [each for each in moments if greatest is None or each[0] > greatest]
        connection.executemany(INSERT_MOMENT, later)


def write_entities(
    connection: sqlite3.Connection, entities: Mapping[str, StoredEntity | None]
) -> None:
    """Replaces, adds or (None) removes entities by id, within the connection's transaction."""
    ids = msgspec.json.encode([*entities]).decode()
    stored = connection.execute(_STORED, (ids,)).fetchall()
    to_store = {one.id: astuple(one) for one in entities.values() if one is not None}
    changes = CommitChanges([row[:7] for row in stored], filter(None, entities.values()))
    digests = held_digests(
        row for kind in changes.kinds for row in connection.execute(_DIGEST, (kind,))
    )
    # Most changes leave the columns of all indexes as they are, which then need no writing.
    in_place = {
        row[3] for row in stored if to_store.get(row[3], ())[:6] == (*row[:4], row[7], row[4])
    }
    for statement, rows in (
        (_REMOVE, [row[:4] for row in stored if row[3] not in in_place]),
        (_CHANGE, [(*row[6:], *row[:4]) for key, row in to_store.items() if key in in_place]),
        (INSERT_ENTITY, [row for key, row in to_store.items() if key not in in_place]),
        (_UNLIST, changes.unlisted),
        (_LIST, changes.listed),
        (_COUNT, changes.totals),
        (INSERT_DIGEST, changes.digests(digests)),
    ):
        if rows:
            connection.executemany(statement, rows)
