"""Applies folded states to the sorted read model."""

import sqlite3
from collections import Counter
from collections.abc import Mapping

import msgspec

from projections.entities.rows import row, row_digest
from projections.entities.store import INSERT_ROW, EntityStore, add_digests
from projections.feeding.port import Folded

WHOLE_KIND = ""
"""The scope of a list that no parameter narrows."""

CounterKey = tuple[str, str, int, str]

_scopes = msgspec.json.Decoder(list[str])


class _Changes:
    """What one commit adds to counters and digests."""

    def __init__(self) -> None:
        self.counts: Counter[CounterKey] = Counter()
        self.rows: Counter[str] = Counter()
        self.sums: Counter[str] = Counter()

    def add(
        self,
        step: int,
        key: tuple[str, int, str | None],
        scopes: list[str],
        digest: bytes,
    ) -> None:
        """Count a row (`step` 1) or uncount it (-1); the key is kind, deletion state, status."""
        kind, deleted, status = key
        for scope in (WHOLE_KIND, *scopes):
            self.counts[kind, scope, deleted, status or ""] += step
        self.rows[kind] += step
        self.sums[kind] += step * int.from_bytes(digest, "big")


class EntityProjection:
    """The projection behind lists and reads of single entities."""

    name = "entities"

    def __init__(self, store: EntityStore) -> None:
        self._store = store

    def anchor(self) -> tuple[int, str]:
        """The last position committed and its mark; 0 and nothing when nothing was."""
        return self._store.anchor()

    def apply(self, entities: Mapping[str, Folded], position: int, mark: str) -> None:
        """Write rows, counters, digests and the checkpoint in one transaction."""
        with self._store.transaction() as connection:
            _write(connection, entities, self._store.checkpoint())
            connection.execute(
                "INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)", (position, mark)
            )


def _write(connection: sqlite3.Connection, entities: Mapping[str, Folded], checkpoint: int) -> None:
    changes = _Changes()
    for entity_id, folded in entities.items():
        # What was created after the last commit has no rows yet.
        if folded.entity.stream_version > 1 or folded.position <= checkpoint:
            _remove(connection, entity_id, changes)
    rows, scope_rows = [], []
    for folded in entities.values():
        if folded.entity.purged:
            continue
        columns = row(folded)
        digest = row_digest(columns)
        kind, deleted, name, entity_id, _, status, scopes_json = columns[:7]
        scopes = _scopes.decode(scopes_json)
        rows.append((*columns, digest))
        scope_rows += [(scope, kind, deleted, name, entity_id, status) for scope in scopes]
        changes.add(1, (kind, deleted, status), scopes, digest)
    connection.executemany(INSERT_ROW, rows)
    connection.executemany("INSERT INTO scopes VALUES (?,?,?,?,?,?)", scope_rows)
    connection.executemany(
        "INSERT INTO counters VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
        [(*key, n) for key, n in changes.counts.items() if n],
    )
    add_digests(connection, {kind: (n, changes.sums[kind]) for kind, n in changes.rows.items()})


def _remove(connection: sqlite3.Connection, entity_id: str, changes: _Changes) -> None:
    """Take out an entity's rows, if it has any, and uncount it."""
    found = connection.execute(
        "SELECT kind, deleted, name, status, scopes, digest FROM entities WHERE id = ?",
        (entity_id,),
    ).fetchone()
    if found is None:
        return
    kind, deleted, name, status, scopes_json, digest = found
    scopes = _scopes.decode(scopes_json)
    key = (kind, deleted, name, entity_id)
    connection.execute(
        "DELETE FROM entities WHERE kind = ? AND deleted = ? AND name = ? AND id = ?", key
    )
    connection.executemany(
        "DELETE FROM scopes WHERE scope = ? AND kind = ? AND deleted = ? AND name = ? AND id = ?",
        [(scope, *key) for scope in scopes],
    )
    changes.add(-1, (kind, deleted, status), scopes, digest)
