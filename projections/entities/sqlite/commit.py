"""Commits to SQLite: their statements, and the connection that executes them."""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec.structs import astuple

from domain.edges import EDGE
from projections.entities.commit_session import CommitSession, CommitSql
from projections.entities.replaced_states import LARGE, HeldState
from projections.entities.sqlite.tables import (
    ADD_TO_DAY,
    FORGET,
    INSERT_DIGEST,
    INSERT_ENDED,
    INSERT_ENTITY,
    INSERT_MOMENT,
    INSERT_PAST,
    INSERT_REPLACED,
    INSERT_SCOPE,
    INSERT_TOTAL,
)
from projections.entities.stored_entity import StoredEntity

_KEY = "scope = ?1 AND kind = ?2 AND deleted = ?3 AND name = ?4 AND id = ?5"
_ENDED = "scope, kind, deleted, name, id, {}, since, status"
_SERIES = "kind = ? AND deleted = ? AND status = ?"
_LIVE_EDGES, _ENDED_EDGES = (
    f"SELECT id FROM {table} WHERE scope = ? AND kind = '{EDGE}'"
    for table in ("scopes", "history_scopes")
)
_SQL = CommitSql(
    held=(
        "SELECT kind, deleted, name, id, fqn, status, scopes, covered, position,"
        f" iif(length(core) > {LARGE}, NULL, core),"
        f" iif(length(optional) > {LARGE}, NULL, optional), digest FROM entities WHERE id = ?"
    ),
    stored="SELECT id FROM entities WHERE id = ?",
    digests="SELECT kind, n, sum FROM digests WHERE kind = ?",
    pasts="SELECT kind, n, sum FROM pasts WHERE kind = ?",
    history_of=(
        "SELECT kind, deleted, name, id, fqn, status, scopes, since, until, NULL, NULL, digest"
        " FROM history WHERE id = ?"
    ),
    edges_of=(_LIVE_EDGES, _ENDED_EDGES),
    moved=f"SELECT {_ENDED.format('?6')} FROM scopes WHERE {_KEY} AND since < ?6",
    last_totals=(
        "SELECT kind, deleted, status, n FROM kind_totals"
        f" WHERE {_SERIES} ORDER BY position DESC LIMIT 1"
    ),
    remove_ended=f"DELETE FROM history_scopes WHERE {_KEY} RETURNING {_ENDED.format('until')}",
    remove_ended_at=f"DELETE FROM history_scopes WHERE {_KEY} AND until = ?6 RETURNING *",
    begun="SELECT position, horizon, horizon_at FROM checkpoint",
    add_moments=INSERT_MOMENT,
    count="INSERT INTO counters VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    put_digests=INSERT_DIGEST,
    keep=INSERT_REPLACED,
    end=INSERT_ENDED,
    unlist=f"DELETE FROM scopes WHERE {_KEY}",
    list_=INSERT_SCOPE,
    put_totals=INSERT_TOTAL,
    forget=FORGET,
    put_pasts=INSERT_PAST,
    add_to_days=ADD_TO_DAY,
    remove_history="DELETE FROM history WHERE id = ?",
    remove_totals=f"DELETE FROM kind_totals WHERE {_SERIES} AND position = ?",
    remove_forgotten=f"DELETE FROM forgotten WHERE {_SERIES} AND position = ?",
)
_REMOVE = "DELETE FROM entities WHERE kind = ? AND deleted = ? AND name = ? AND id = ?"
_CHANGE = (
    "UPDATE entities SET scopes = ?, covered = ?, position = ?, last_event = ?, core = ?,"
    " optional = ?, digest = ? WHERE kind = ? AND deleted = ? AND name = ? AND id = ?"
)


@cache
def spelled(sql: str) -> str:
    """A statement without the schema, which a file has only one of."""
    return sql.replace("{}.", "")


class SqliteCommit(CommitSession):
    """A commit in the transaction of a connection."""

    sql = _SQL

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a statement."""
        return self._connection.execute(spelled(sql), values).fetchall()

    def run(self, sql: str, *values: Any) -> None:
        """Execute a statement without rows."""
        self._connection.execute(spelled(sql), values)

    def rows_of(self, sql: str, keys: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The rows of a statement, which is executed for each key."""
        return [row for key in keys for row in self._connection.execute(sql, key)]

    def write(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute a statement for each row."""
        if rows:
            self._connection.executemany(sql, rows)

    def replace(self, held: Mapping[str, HeldState], entities: Sequence[StoredEntity]) -> None:
        """Store entities in place of those that are held, by id."""
        to_store = {one.id: astuple(one) for one in entities}
        keys = {key: (one.kind, one.deleted, one.name, one.id) for key, one in held.items()}
        # Most changes leave the columns of all indexes as they are, which then need no writing.
        in_place = {
            key
            for key, one in held.items()
            if to_store.get(key, ())[:6] == (*keys[key], one.fqn, one.status)
        }
        self.write(_REMOVE, [row for key, row in keys.items() if key not in in_place])
        changed = [(*row[6:], *row[:4]) for key, row in to_store.items() if key in in_place]
        self.write(_CHANGE, changed)
        self.write(INSERT_ENTITY, [row for key, row in to_store.items() if key not in in_place])
