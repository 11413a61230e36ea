"""The share of one commit in the totals and digests of a sorted read model, in any database."""

from collections import Counter
from collections.abc import Iterable, Mapping

from projections.entities.replaced_states import HeldState
from projections.entities.stored_entity import StoredEntity, added_digests, decode_scopes

WHOLE_KIND = ""
"""The scope of the counters of a list that no filter narrows."""

WRONG_COUNTERS = """
WITH due AS (
    SELECT kind, {empty} AS scope, deleted, coalesce(status, '') AS status, count(*) AS n
    FROM {}.entities GROUP BY 1, 3, 4
    UNION ALL SELECT kind, scope, deleted, coalesce(status, ''), count(*)
    FROM {}.scopes GROUP BY 1, 2, 3, 4),
held AS (SELECT kind, scope, deleted, status, n FROM {}.counters WHERE n <> 0),
wrong AS (
    SELECT kind, scope, deleted, status FROM (SELECT * FROM held EXCEPT SELECT * FROM due) more
    UNION SELECT kind, scope, deleted, status FROM (SELECT * FROM due EXCEPT SELECT * FROM held) x)
SELECT kind, scope, deleted, status, coalesce(due.n, 0), coalesce(held.n, 0)
FROM wrong LEFT JOIN due USING (kind, scope, deleted, status)
LEFT JOIN held USING (kind, scope, deleted, status) ORDER BY 1, 2, 3, 4
"""
"""Gives the totals that are wrong, with the number of rows; `{empty}` stands for an empty text."""


class CommitChanges:
    """The share of a commit in the totals and digests beside `entities`."""

    def __init__(self, stored: Iterable[HeldState], entities: Iterable[StoredEntity]) -> None:
        """`stored` are the states that are taken out, `entities` the states that are put in."""
        self._totals: Counter[tuple[str, str, int, str]] = Counter()
        self._counts: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        for held in stored:
            self._add(-1, held)
        for one in entities:
            self._add(1, one)

    @property
    def kinds(self) -> list[str]:
        """The kinds of the entities that are taken out or put in."""
        return [*self._counts]

    @property
    def totals(self) -> list[tuple[str, str, int, str, int]]:
        """Kind, scope, deletion state, status, and the number to be added to their total."""
        return [(*key, n) for key, n in self._totals.items() if n]

    def digests(self, held: Mapping[str, tuple[int, int]]) -> list[tuple[str, int, bytes]]:
        """The rows of `digests` that replace the held ones; see `added_digests`."""
        changes = {kind: (n, self._sums[kind]) for kind, n in self._counts.items()}
        return added_digests(held, changes)

    def _add(self, step: int, one: HeldState | StoredEntity) -> None:
        """Count an entity (`step` 1) or uncount it (-1)."""
        kind, deleted, status = one.kind, one.deleted, one.status or ""
        for scope in (WHOLE_KIND, *decode_scopes(one.scopes)):
            self._totals[kind, scope, deleted, status] += step
        self._counts[kind] += step
        self._sums[kind] += step * int.from_bytes(one.digest, "big")
