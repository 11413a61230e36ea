"""Commits to PostgreSQL: their statements, and the link that executes them."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.edges import EDGE
from domain.event_store.postgres.link import Link, spelled
from projections.entities.commit_session import CommitSession, CommitSql
from projections.entities.postgres.database import EntityTables
from projections.entities.postgres.tables import TYPES, entity_row
from projections.entities.replaced_states import LARGE, HeldState
from projections.entities.stored_entity import StoredEntity

_OF_IDS = "= ANY (%b::text[])"
_KEYS = "unnest(%b::text[], %b::text[], %b::int8[], %b::text[], %b::text[]"
_KEY = "one (scope, kind, deleted, name, id)"
_KEY_AND_END = "one (scope, kind, deleted, name, id, until)"
_SAME_MEMBERSHIP = (
    "(s.scope, s.kind, s.deleted, s.name, s.id)"
    " = (one.scope, one.kind, one.deleted, one.name, one.id)"
)
_ENDED = "s.scope, s.kind, s.deleted, s.name, s.id, {}.until, s.since, s.status"
_SERIES = "unnest(%b::text[], %b::int4[], %b::text[]"
_ROWS_OF_SERIES = f"SELECT * FROM {_SERIES}, %b::int8[], %b::int8[])"
_LIVE_EDGES, _ENDED_EDGES = (
    f"SELECT id FROM {{}}.{table} WHERE scope {_OF_IDS} AND kind = '{EDGE}'"
    for table in ("scopes", "history_scopes")
)
_REMOVE_TOTALS, _REMOVE_FORGOTTEN = (
    f"DELETE FROM {{}}.{table} t USING {_SERIES}, %b::int8[])"
    " AS one (kind, deleted, status, position) WHERE (t.kind, t.deleted, t.status, t.position)"
    " = (one.kind, one.deleted, one.status, one.position)"
    for table in ("kind_totals", "forgotten")
)
_SQL = CommitSql(
    held=(
        "SELECT kind, deleted, name, id, fqn, status, scopes, covered, position,"
        f" CASE WHEN octet_length(core) <= {LARGE} THEN core END,"
        f" CASE WHEN octet_length(optional) <= {LARGE} THEN optional END, digest"
        f" FROM {{}}.entities WHERE id {_OF_IDS}"
    ),
    stored=f"SELECT id FROM {{}}.entities WHERE id {_OF_IDS}",
    digests=f"SELECT kind, n, sum FROM {{}}.digests WHERE kind {_OF_IDS}",
    pasts=f"SELECT kind, n, sum FROM {{}}.pasts WHERE kind {_OF_IDS}",
    history_of=(
        "SELECT kind, deleted, name, id, fqn, status, scopes, since, until, NULL::bytea,"
        f" NULL::bytea, digest FROM {{}}.history WHERE id {_OF_IDS}"
    ),
    edges_of=(_LIVE_EDGES, _ENDED_EDGES),
    moved=(
        f"SELECT {_ENDED.format('one')} FROM {{}}.scopes s"
        f" JOIN {_KEYS}, %b::int8[]) AS {_KEY_AND_END} ON {_SAME_MEMBERSHIP}"
        " WHERE s.since < one.until"
    ),
    last_totals=(
        "SELECT s.kind, s.deleted, s.status, t.n"
        f" FROM {_SERIES}) AS s (kind, deleted, status) CROSS JOIN LATERAL"
        " (SELECT n FROM {}.kind_totals k WHERE k.kind = s.kind AND k.deleted = s.deleted"
        " AND k.status = s.status ORDER BY position DESC LIMIT 1) t"
    ),
    remove_ended=(
        f"DELETE FROM {{}}.history_scopes s USING {_KEYS}) AS {_KEY}"
        f" WHERE {_SAME_MEMBERSHIP} RETURNING {_ENDED.format('s')}"
    ),
    remove_ended_at=(
        f"DELETE FROM {{}}.history_scopes s USING {_KEYS}, %b::int8[]) AS {_KEY_AND_END}"
        f" WHERE {_SAME_MEMBERSHIP} AND s.until = one.until RETURNING {_ENDED.format('s')}"
    ),
    begun="SELECT position, horizon, horizon_at FROM {}.checkpoint FOR UPDATE",
    add_moments="INSERT INTO {}.moments SELECT * FROM unnest(%b::int8[], %b::int8[])",
    count=(
        "INSERT INTO {}.counters AS c"
        " SELECT * FROM unnest(%b::text[], %b::text[], %b::int8[], %b::text[], %b::int8[])"
        " ON CONFLICT (kind, scope, deleted, status) DO UPDATE SET n = c.n + excluded.n"
    ),
    put_digests=(
        "INSERT INTO {}.digests SELECT * FROM unnest(%b::text[], %b::int8[], %b::bytea[])"
        " ON CONFLICT (kind) DO UPDATE SET n = excluded.n, sum = excluded.sum"
    ),
    keep=(
        "INSERT INTO {}.history SELECT * FROM unnest(%b::text[], %b::int4[], %b::text[],"
        " %b::text[], %b::text[], %b::text[], %b::text[], %b::int8[], %b::int8[], %b::bytea[],"
        " %b::bytea[], %b::bytea[])"
    ),
    end=(
        "INSERT INTO {}.history_scopes"
        f" SELECT * FROM {_KEYS}, %b::int8[], %b::int8[], %b::text[])"
    ),
    unlist=f"DELETE FROM {{}}.scopes s USING {_KEYS}) AS {_KEY} WHERE {_SAME_MEMBERSHIP}",
    list_=f"INSERT INTO {{}}.scopes SELECT * FROM {_KEYS}, %b::text[], %b::int8[])",
    put_totals=(
        f"INSERT INTO {{}}.kind_totals {_ROWS_OF_SERIES}"
        " ON CONFLICT (kind, deleted, status, position) DO UPDATE SET n = excluded.n"
    ),
    forget=(
        f"INSERT INTO {{}}.forgotten AS f {_ROWS_OF_SERIES}"
        " ON CONFLICT (kind, deleted, status, position) DO UPDATE SET n = f.n + excluded.n"
    ),
    put_pasts=(
        "INSERT INTO {}.pasts AS p"
        " SELECT * FROM unnest(%b::text[], %b::int8[], %b::int8[], %b::bytea[])"
        " ON CONFLICT (kind) DO UPDATE SET position = greatest(p.position, excluded.position),"
        " n = excluded.n, sum = excluded.sum"
    ),
    add_to_days=(
        "INSERT INTO {}.days AS d"
        " SELECT * FROM unnest(%b::int8[], %b::text[], %b::text[], %b::int8[])"
        " ON CONFLICT (kind, what, day) DO UPDATE SET n = d.n + excluded.n"
    ),
    remove_history=f"DELETE FROM {{}}.history WHERE id {_OF_IDS}",
    remove_totals=_REMOVE_TOTALS,
    remove_forgotten=_REMOVE_FORGOTTEN,
)
_REMOVE = f"DELETE FROM {{}}.entities WHERE id {_OF_IDS}"
_INSERT = "INSERT INTO {}.entities SELECT * FROM " + (
    f"unnest({', '.join(f'%b::{type_name}[]' for type_name in TYPES)})"
)


class PostgresCommit(CommitSession):
    """A commit in the transaction of a link."""

    sql = _SQL

    def __init__(self, link: Link, tables: EntityTables) -> None:
        self._link = link
        self._tables = tables

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a statement."""
        return self._link.rows(self._tables.within(spelled(sql)), *values)

    def run(self, sql: str, *values: Any) -> None:
        """Execute a statement without rows."""
        self._link.execute(self._tables.within(spelled(sql)).encode(), values)

    def rows_of(self, sql: str, keys: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The rows of a statement, whose values are the columns of the keys."""
        return self.rows(sql, *_columns(keys)) if keys else []

    def write(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute a statement, whose values are the columns of the rows."""
        if rows:
            self.run(sql, *_columns(rows))

    def replace(self, held: Mapping[str, HeldState], entities: Sequence[StoredEntity]) -> None:
        """Store entities in place of those that are held, by id."""
        self.write(_REMOVE, [(entity_id,) for entity_id in held])
        self.write(_INSERT, [entity_row(one) for one in entities])


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [[*column] for column in zip(*rows, strict=True)]
