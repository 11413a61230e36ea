"""The share of one commit in the totals and digests of a sorted read model, in any database."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from projections.entities.stored_entity import DIGEST_MODULUS, StoredEntity, decode_scopes

WHOLE_KIND = ""
"""The scope of the counters of a list that no filter narrows."""

WRONG_COUNTERS = """
WITH due AS (
    SELECT kind, {empty} AS scope, deleted, coalesce(status, '') AS status, count(*) AS n
    FROM {schema}entities GROUP BY 1, 3, 4
    UNION ALL SELECT kind, scope, deleted, coalesce(status, ''), count(*)
    FROM {schema}scopes GROUP BY 1, 2, 3, 4),
held AS (SELECT kind, scope, deleted, status, n FROM {schema}counters WHERE n <> 0),
wrong AS (
    SELECT kind, scope, deleted, status FROM (SELECT * FROM held EXCEPT SELECT * FROM due) more
    UNION SELECT kind, scope, deleted, status FROM (SELECT * FROM due EXCEPT SELECT * FROM held) x)
SELECT kind, scope, deleted, status, coalesce(due.n, 0), coalesce(held.n, 0)
FROM wrong LEFT JOIN due USING (kind, scope, deleted, status)
LEFT JOIN held USING (kind, scope, deleted, status) ORDER BY 1, 2, 3, 4
"""
"""Gives the totals that are wrong, with the number of rows; `{empty}` stands for an empty text."""


ScopeRow = tuple[str, str, int, str, str, str | None]
"""Scope, kind, deletion state, name, id and status: the columns of `scopes`."""
StoredRow = tuple[str, int, str, str, str | None, str, bytes]
"""Kind, deletion state, name, id, status, scopes and digest of an entity that is stored."""


class CommitChanges:
    """The rows that a commit takes out of the tables beside `entities`, and puts into them.

    Rows of one entity lie on as many pages as it has scopes: those that stay are not written.
    """

    def __init__(self, stored: Iterable[StoredRow], entities: Iterable[StoredEntity]) -> None:
        """`stored` are the rows that are taken out, `entities` what is put in."""
        self._totals: Counter[tuple[str, str, int, str]] = Counter()
        self._counts: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        before, after = set[ScopeRow](), set[ScopeRow]()
        for row in stored:
            before.update(self._add(-1, row))
        for one in entities:
            key = one.kind, one.deleted, one.name, one.id, one.status, one.scopes, one.digest
            after.update(self._add(1, key))
        self.unlisted = [row[:5] for row in sorted(before - after, key=_key)]
        """The keys of the rows of `scopes` to be removed."""
        self.listed = sorted(after - before, key=_key)
        """The rows of `scopes` to be added."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of the entities that are taken out or put in."""
        return [*self._counts]

    @property
    def totals(self) -> list[tuple[str, str, int, str, int]]:
        """Kind, scope, deletion state, status, and what is to be added to their total."""
        return [(*key, n) for key, n in self._totals.items() if n]

    def digests(self, held: Mapping[str, tuple[int, int]]) -> list[tuple[str, int, bytes]]:
        """The rows of `digests` in place of those that are held; see `added_digests`."""
        changes = {kind: (n, self._sums[kind]) for kind, n in self._counts.items()}
        return added_digests(held, changes)

    def _add(self, step: int, row: StoredRow) -> list[ScopeRow]:
        """Count an entity (`step` 1) or uncount it (-1); returns its rows of `scopes`."""
        kind, deleted, name, entity_id, status, scopes_json, digest = row
        scopes = decode_scopes(scopes_json)
        for scope in (WHOLE_KIND, *scopes):
            self._totals[kind, scope, deleted, status or ""] += step
        self._counts[kind] += step
        self._sums[kind] += step * int.from_bytes(digest, "big")
        return [(scope, kind, deleted, name, entity_id, status) for scope in scopes]


def held_digests(rows: Iterable[tuple[str, int, bytes]]) -> dict[str, tuple[int, int]]:
    """Kind -> number of its entities and sum of their digests, as the rows of `digests` say."""
    return {kind: (n, int.from_bytes(total, "big")) for kind, n, total in rows}


def add_digests(sums: dict[str, tuple[int, int]], rows: Iterable[tuple[str, int, bytes]]) -> None:
    """Add to the sums by kind what rows of kind, number and digest (16 bytes) say."""
    for kind, number, digest in rows:
        n, total = sums.get(kind, (0, 0))
        sums[kind] = n + number, (total + int.from_bytes(digest, "big")) % DIGEST_MODULUS


def added_digests(
    held: Mapping[str, tuple[int, int]], changes: Mapping[str, tuple[int, int]]
) -> list[tuple[str, int, bytes]]:
    """The rows of kind, number and digest (16 bytes) that changes make of those that are held.

    Both are by kind; either part of a change may be negative.
    """
    rows = []
    for kind, (n, total) in changes.items():
        before, sum_before = held.get(kind, (0, 0))
        whole = (sum_before + total) % DIGEST_MODULUS
        rows.append((kind, before + n, whole.to_bytes(16, "big")))
    return rows


def _key(row: ScopeRow) -> tuple[Any, ...]:
    return row[:5]
