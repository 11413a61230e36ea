"""Writes stored entities to PostgreSQL, and keeps lists, totals and digests equal to them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from domain.event_store.postgres.link import Link
from projections.entities.commit_changes import CommitChanges, added_digests
from projections.entities.postgres.database import EntityTables
from projections.entities.postgres.tables import TYPES, by_columns, entity_row
from projections.entities.stored_entity import StoredEntity, decode_scopes

_ScopeRow = tuple[str, str, int, str, str, str | None]
"""Scope, kind, deletion state, name, id and status: the columns of `scopes`."""
_STORED = (
    "SELECT kind, deleted, name, id, status, scopes, digest FROM {}.entities"
    " WHERE id = ANY (%b::text[])"
)
_REMOVE = "DELETE FROM {}.entities WHERE id = ANY (%b::text[])"
_INSERT = "INSERT INTO {}.entities SELECT * FROM " + (
    f"unnest({', '.join(f'%b::{type_name}[]' for type_name in TYPES)})"
)
_SCOPES = "unnest(%b::text[], %b::text[], %b::int8[], %b::text[], %b::text[]"
_UNLIST = (
    f"DELETE FROM {{}}.scopes s USING {_SCOPES}) AS gone (scope, kind, deleted, name, id)"
    " WHERE (s.scope, s.kind, s.deleted, s.name, s.id)"
    " = (gone.scope, gone.kind, gone.deleted, gone.name, gone.id)"
)
_LIST = f"INSERT INTO {{}}.scopes SELECT * FROM {_SCOPES}, %b::text[])"
_COUNT = (
    "INSERT INTO {}.counters AS c"
    " SELECT * FROM unnest(%b::text[], %b::text[], %b::int8[], %b::text[], %b::int8[])"
    " ON CONFLICT (kind, scope, deleted, status) DO UPDATE SET n = c.n + excluded.n"
)
DIGESTS = "SELECT kind, n, sum FROM {}.digests WHERE n > 0 ORDER BY kind"
_DIGEST = (
    "INSERT INTO {}.digests SELECT * FROM unnest(%b::text[], %b::int8[], %b::bytea[])"
    " ON CONFLICT (kind) DO UPDATE SET n = excluded.n, sum = excluded.sum"
)


def write_entities(
    link: Link, tables: EntityTables, entities: Mapping[str, StoredEntity | None]
) -> None:
    """Replaces, adds or (None) removes entities by id, within the link's transaction."""
    changes = CommitChanges()
    listed = _remove(link, tables, entities, changes)
    rows, to_list = [], set[_ScopeRow]()
    for one in entities.values():
        if one is None:
            continue
        scopes = decode_scopes(one.scopes)
        rows.append(entity_row(one))
        to_list.update(
            (scope, one.kind, one.deleted, one.name, one.id, one.status) for scope in scopes
        )
        changes.add(1, (one.kind, one.deleted, one.status), scopes, one.digest)
    _run(link, tables, _INSERT, rows)
    # What stays is not written.
    _run(link, tables, _UNLIST, [row[:5] for row in sorted(listed - to_list, key=_key)])
    _run(link, tables, _LIST, sorted(to_list - listed, key=_key))
    _run(link, tables, _COUNT, [(*key, n) for key, n in changes.totals.items() if n])
    sums = {kind: (n, changes.sums[kind]) for kind, n in changes.counts.items()}
    held = held_digests(link.rows(tables.within(DIGESTS)))
    _run(link, tables, _DIGEST, added_digests(held, sums))


def held_digests(rows: Iterable[tuple[str, int, bytes]]) -> dict[str, tuple[int, int]]:
    """Kind -> number of its entities and sum of their digests, as DIGESTS gives them."""
    return {kind: (n, int.from_bytes(total, "big")) for kind, n, total in rows}


def _remove(
    link: Link, tables: EntityTables, ids: Iterable[str], changes: CommitChanges
) -> set[_ScopeRow]:
    """Takes out the rows of those entities that have any, and uncounts them.

    Gives their rows of `scopes`, which are left.
    """
    found, listed = [], set[_ScopeRow]()
    for kind, deleted, name, entity_id, status, scopes_json, digest in link.rows(
        tables.within(_STORED), [*ids]
    ):
        scopes = decode_scopes(scopes_json)
        listed.update((scope, kind, deleted, name, entity_id, status) for scope in scopes)
        changes.add(-1, (kind, deleted, status), scopes, digest)
        found.append(entity_id)
    if found:
        link.execute(tables.within(_REMOVE).encode(), [found])
    return listed


def _run(link: Link, tables: EntityTables, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Runs a statement on some rows, if there are any, whose columns are its parameters."""
    if rows:
        link.execute(tables.within(statement).encode(), by_columns(rows, len(rows[0])))


def _key(row: _ScopeRow) -> tuple[Any, ...]:
    return row[:5]
