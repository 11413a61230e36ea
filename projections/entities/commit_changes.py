"""What one commit adds to the totals and digests of a sorted read model, in any database."""

from collections import Counter
from collections.abc import Mapping

from projections.entities.stored_entity import DIGEST_MODULUS

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


class CommitChanges:
    """Sums over the entities that a commit takes out and puts in."""

    def __init__(self) -> None:
        self.totals: Counter[tuple[str, str, int, str]] = Counter()
        """Kind, scope, deletion state and status -> number of entities."""
        self.counts: Counter[str] = Counter()
        """Kind -> number of entities."""
        self.sums: Counter[str] = Counter()
        """Kind -> sum of the digests of its entities."""

    def add(
        self,
        step: int,
        key: tuple[str, int, str | None],
        scopes: list[str],
        digest: bytes,
    ) -> None:
        """Counts an entity (`step` 1) or uncounts it (-1); the key is kind, deletion state, status.

        The digest is 16 bytes.
        """
        kind, deleted, status = key
        for scope in (WHOLE_KIND, *scopes):
            self.totals[kind, scope, deleted, status or ""] += step
        self.counts[kind] += step
        self.sums[kind] += step * int.from_bytes(digest, "big")


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
