"""Applies folded states to the sorted read model."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from domain import document
from domain.entity import Entity
from domain.events import Body
from domain.registry import KINDS
from projections.entities.store import EntityStore
from projections.port import Folded

WHOLE_KIND = ""
"""The scope of a list that no parameter narrows."""


class _Referred(msgspec.Struct):
    id: str


_references = msgspec.json.Decoder(_Referred | list[_Referred])

CounterKey = tuple[str, str, int, str]


class EntityProjection:
    """The projection behind lists and reads of single entities."""

    name = "entities"

    def __init__(self, store: EntityStore) -> None:
        self._store = store

    def checkpoint(self) -> int:
        """The last position committed, 0 when nothing was."""
        return self._store.checkpoint()

    def apply(self, entities: Mapping[str, Folded], position: int) -> None:
        """Write the rows, the counters and the checkpoint in one transaction."""
        with self._store.transaction() as connection:
            self._write(connection, entities, self._store.checkpoint())
            connection.execute("INSERT OR REPLACE INTO checkpoint VALUES (1, ?)", (position,))

    def reset(self) -> None:
        """Forget everything."""
        self._store.clear()

    def _write(
        self, connection: sqlite3.Connection, entities: Mapping[str, Folded], checkpoint: int
    ) -> None:
        counts: Counter[CounterKey] = Counter()
        for entity_id, folded in entities.items():
            # What was created after the last commit has no rows yet.
            if folded.entity.stream_version > 1 or folded.position <= checkpoint:
                _remove(connection, entity_id, counts)
        rows, scope_rows = [], []
        for folded in entities.values():
            entity = folded.entity
            if entity.purged:
                continue
            scopes, status, deleted = scopes_of(entity), entity.status, int(entity.deleted)
            rows.append(_row(folded, scopes, status))
            scope_rows += [
                (scope, entity.kind, deleted, entity.name, entity.id, status) for scope in scopes
            ]
            _count(counts, 1, (entity.kind, deleted, status), scopes)
        connection.executemany("INSERT INTO entities VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
        connection.executemany("INSERT INTO scopes VALUES (?,?,?,?,?,?)", scope_rows)
        connection.executemany(
            "INSERT INTO counters VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            [(*key, n) for key, n in counts.items() if n],
        )


def _remove(connection: sqlite3.Connection, entity_id: str, counts: Counter[CounterKey]) -> None:
    """Take out an entity's rows, if it has any, and uncount it."""
    found = connection.execute(
        "SELECT kind, deleted, name, id, status, scopes FROM entities WHERE id = ?", (entity_id,)
    ).fetchone()
    if found is None:
        return
    kind, deleted, name, _, status, scopes_json = found
    scopes = msgspec.json.decode(scopes_json, type=list[str])
    key = (kind, deleted, name, entity_id)
    connection.execute(
        "DELETE FROM entities WHERE kind = ? AND deleted = ? AND name = ? AND id = ?", key
    )
    connection.executemany(
        "DELETE FROM scopes WHERE scope = ? AND kind = ? AND deleted = ? AND name = ? AND id = ?",
        [(scope, *key) for scope in scopes],
    )
    _count(counts, -1, (kind, deleted, status), scopes)


def _count(
    counts: Counter[CounterKey],
    step: int,
    key: tuple[str, int, str | None],
    scopes: list[str],
) -> None:
    kind, deleted, status = key
    for scope in (WHOLE_KIND, *scopes):
        counts[kind, scope, deleted, status or ""] += step


def _row(folded: Folded, scopes: list[str], status: str | None) -> tuple[Any, ...]:
    """The `entities` row of a state."""
    entity = folded.entity
    core, optional = split(entity)
    return (
        entity.kind,
        entity.deleted,
        entity.name,
        entity.id,
        entity.fqn,
        status,
        msgspec.json.encode(scopes).decode(),
        folded.position,
        document.encode(core),
        document.encode(optional),
    )


def split(entity: Entity) -> tuple[Body, Body]:
    """The fields that lists always show, and those that `fields` may add."""
    shown = document.fields(entity)
    optional = KINDS[entity.kind].optional
    return (
        {key: raw for key, raw in shown.items() if key not in optional},
        {key: shown[key] for key in optional if key in shown},
    )


def scopes_of(entity: Entity) -> list[str]:
    """Ids of the entities to which a list of this kind can be narrowed and still show it."""
    scopes: set[str] = set()
    for key in KINDS[entity.kind].filters.values():
        if (raw := entity.body.get(key)) is not None:
            value = _references.decode(raw)
            scopes.update(one.id for one in (value if isinstance(value, list) else (value,)))
    return sorted(scopes)
