"""Writes stored entities to SQLite, and keeps lists, totals and digests equal to them."""

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import astuple

from domain.reading.moments import LogDays, Moment
from projections.entities.commit_changes import CommitChanges
from projections.entities.daily_counts import DayCounts
from projections.entities.replaced_states import LARGE, EntityChange, HeldState
from projections.entities.sqlite.commit_past import write_past
from projections.entities.sqlite.tables import INSERT_DIGEST, INSERT_ENTITY, INSERT_MOMENT
from projections.entities.stored_entity import held_digests

_STORED = (
    "SELECT e.kind, e.deleted, e.name, e.id, e.fqn, e.status, e.scopes,"
    " e.covered, e.position,"
    f" iif(length(e.core) > {LARGE}, NULL, e.core),"
    f" iif(length(e.optional) > {LARGE}, NULL, e.optional), e.digest"
    " FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value"
)
_NEWEST_MOMENT = "SELECT at, position FROM moments ORDER BY at DESC LIMIT 1"
_DIGEST = "SELECT kind, n, sum FROM digests WHERE kind = ?"
_REMOVE = "DELETE FROM entities WHERE kind = ? AND deleted = ? AND name = ? AND id = ?"
_CHANGE = (
    "UPDATE entities SET scopes = ?, covered = ?, position = ?, last_event = ?, core = ?,"
    " optional = ?, digest = ? WHERE kind = ? AND deleted = ? AND name = ? AND id = ?"
)
_COUNT = "INSERT INTO counters VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n"


def write_moments(connection: sqlite3.Connection, moments: Sequence[Moment]) -> LogDays:
    """Add those moments that are later than all that are stored; returns the days of a commit."""
    newest = connection.execute(_NEWEST_MOMENT).fetchall()
    later = [each for each in moments if not newest or each[0] > newest[0][0]]
    connection.executemany(INSERT_MOMENT, later)
    return LogDays([*newest, *later])


def write_entities(
    connection: sqlite3.Connection, entities: Mapping[str, EntityChange], days: DayCounts
) -> None:
    """Store what became of entities, by id, within the connection's transaction.

    `days` have the events of the commit.
    """
    ids = msgspec.json.encode([*entities]).decode()
    rows = connection.execute(_STORED, (ids,))
    held = {one.id: one for one in (HeldState(*row) for row in rows)}
    stored = [change.stored for change in entities.values() if change.stored is not None]
    to_store = {one.id: astuple(one) for one in stored}
    changes = CommitChanges(held.values(), stored)
    digests = held_digests(
        row for kind in changes.kinds for row in connection.execute(_DIGEST, (kind,))
    )
    keys = {key: (one.kind, one.deleted, one.name, one.id) for key, one in held.items()}
    # Most changes leave the columns of all indexes as they are, which then need no writing.
    in_place = {
        key
        for key, one in held.items()
        if to_store.get(key, ())[:6] == (*keys[key], one.fqn, one.status)
    }
    for statement, written in (
        (_REMOVE, [row for key, row in keys.items() if key not in in_place]),
        (_CHANGE, [(*row[6:], *row[:4]) for key, row in to_store.items() if key in in_place]),
        (INSERT_ENTITY, [row for key, row in to_store.items() if key not in in_place]),
        (_COUNT, changes.totals),
        (INSERT_DIGEST, changes.digests(digests)),
    ):
        if written:
            connection.executemany(statement, written)
    write_past(connection, held, entities, days)
