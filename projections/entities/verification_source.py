"""The sorted read model as verification sees it: its rows, and what is kept beside them."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from domain import changes
from domain.entity import Entity
from domain.event_store.port import EventStore
from projections.entities.rows import row, row_digest
from projections.entities.store import EntityStore, read_digests, sqlite_errors
from projections.feeding.log_fingerprint import disagreement
from projections.feeding.port import Damaged, Folded
from projections.verification.comparison import Model, Stored
from projections.verification.report import Difference, Differences, FieldPair

Row = tuple[Any, ...]
"""The columns of `entities`, the digest last."""

_COLUMNS = (
    *("kind", "deleted", "name", "id", "fqn", "status", "scopes", "position"),
    *("core", "optional", "digest"),
)
_KIND, _ID, _FQN = 0, 3, 4
_JSON = frozenset({"core", "optional"})
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM entities"


class EntityRows:
    """The model in a snapshot of its file."""

    def __init__(self, store: EntityStore, connection: sqlite3.Connection, position: int) -> None:
        self._store = store
        self._connection = connection
        self._position = position

    def ids(self) -> Iterator[str]:
        """The ids of all rows, in order."""
        with sqlite_errors():
            for (entity_id,) in self._connection.execute("SELECT id FROM entities ORDER BY id"):
                yield entity_id

    def model(self, ids: Sequence[str] | None) -> Model[Row]:
        """What it holds of these entities (None: of all)."""
        with sqlite_errors():
            kept = read_digests(self._connection)
        return Model(
            name="entities",
            position=self._position,
            stored=_stored(self._connection, ids),
            expected=_expected,
            digest=_digest,
            modulus=1 << 128,
            explain=_explain,
            kept=kept,
            inner=lambda differences: _check_lists(self._connection, differences),
        )

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file, its indexes included."""
        try:
            with self._store.snapshot() as connection:
                lines = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
        except Damaged as error:
            return [error.message]
        return [] if lines == ["ok"] else lines


@contextmanager
def entity_rows(store: EntityStore, log: EventStore) -> Iterator[EntityRows]:
    """The rows as they are now, until the block ends; raises Damaged when not of this log."""
    with store.snapshot() as connection:
        found = connection.execute("SELECT position, mark FROM checkpoint").fetchone()
        position, mark = found or (0, "")
        if (reason := disagreement(log, position, mark)) is not None:
            raise Damaged(f"the sorted read model is not of this log: {reason}")
        yield EntityRows(store, connection, position)


def _stored(connection: sqlite3.Connection, ids: Sequence[str] | None) -> Iterator[Stored[Row]]:
    with sqlite_errors():
        if ids is None:
            for found in connection.execute(f"{_SELECT} ORDER BY id"):
                yield Stored(found[_ID], found[_KIND], found[_FQN], found)
            return
        for entity_id in ids:
            for found in connection.execute(f"{_SELECT} WHERE id = ?", (entity_id,)):
                yield Stored(found[_ID], found[_KIND], found[_FQN], found)


def _expected(entity: Entity, position: int) -> tuple[Row, int]:
    columns = row(Folded(entity, position))
    digest = row_digest(columns)
    return (*columns, digest), int.from_bytes(digest, "big")


def _digest(columns: Row) -> int:
    """The digest of what a row holds, whatever digest is written in it."""
    return int.from_bytes(row_digest(columns[:-1]), "big")


def _explain(expected: Row, stored: Row) -> list[FieldPair]:
    """The differing columns; of documents, the differing fields."""
    pairs: list[FieldPair] = []
    for name, due, found in zip(_COLUMNS, expected, stored, strict=True):
        if due == found:
            continue
        if name not in _JSON:
            pairs.append(FieldPair(name, _shown(due), _shown(found)))
            continue
        try:
            decoded = msgspec.json.decode(due), msgspec.json.decode(found)
        except (msgspec.DecodeError, TypeError) as error:
            pairs.append(FieldPair(name, "JSON", f"no JSON: {error}"))
            continue
        inside = [FieldPair(d.name, d.old, d.new) for d in changes.differences(*decoded)]
        pairs += inside or [FieldPair(name, "the same fields", "in another order or spelling")]
    return pairs


def _shown(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


_STRAY_SCOPES = """
SELECT scope, kind, id, name FROM scopes s WHERE NOT EXISTS (
    SELECT 1 FROM entities e, json_each(iif(json_valid(e.scopes), e.scopes, '[]')) one
    WHERE e.kind = s.kind AND e.deleted = s.deleted AND e.name = s.name AND e.id = s.id
    AND e.status IS s.status AND one.value = s.scope)
"""
_MISSING_SCOPES = """
SELECT one.value, e.kind, e.id, e.fqn
FROM entities e, json_each(iif(json_valid(e.scopes), e.scopes, '[]')) one
WHERE NOT EXISTS (SELECT 1 FROM scopes s WHERE s.scope = one.value AND s.kind = e.kind
    AND s.deleted = e.deleted AND s.name = e.name AND s.id = e.id AND s.status IS e.status)
"""
_WRONG_COUNTERS = """
WITH due AS (
    SELECT kind, '' AS scope, deleted, coalesce(status, '') AS status, count(*) AS n
    FROM entities GROUP BY 1, 3, 4
    UNION ALL SELECT kind, scope, deleted, coalesce(status, ''), count(*)
    FROM scopes GROUP BY 1, 2, 3, 4),
held AS (SELECT kind, scope, deleted, status, n FROM counters WHERE n != 0),
wrong AS (
    SELECT kind, scope, deleted, status FROM (SELECT * FROM held EXCEPT SELECT * FROM due)
    UNION SELECT kind, scope, deleted, status FROM (SELECT * FROM due EXCEPT SELECT * FROM held))
SELECT kind, scope, deleted, status, coalesce(due.n, 0), coalesce(held.n, 0)
FROM wrong LEFT JOIN due USING (kind, scope, deleted, status)
LEFT JOIN held USING (kind, scope, deleted, status) ORDER BY 1, 2, 3, 4
"""


def _check_lists(connection: sqlite3.Connection, differences: Differences) -> None:
    """Hold the narrowed lists against the rows, and the totals against both."""
    with sqlite_errors():
        for scope, kind, entity_id, name in connection.execute(_MISSING_SCOPES):
            pairs = [FieldPair(scope, "listed", None)]
            differences.add(Difference("scope", kind, entity_id, name, pairs))
        for scope, kind, entity_id, name in connection.execute(_STRAY_SCOPES):
            pairs = [FieldPair(scope, None, "listed")]
            differences.add(Difference("scope", kind, entity_id, name, pairs))
        for kind, scope, deleted, status, due, held in connection.execute(_WRONG_COUNTERS):
            narrowed = {"scope": scope, "status": status}
            which = [f"{name} {value}" for name, value in narrowed.items() if value]
            state = "soft-deleted" if deleted else "live"
            name = ", ".join(("total", state, *which))
            pairs = [FieldPair("n", due, held)]
            differences.add(Difference("counter", kind, "", name, pairs))
