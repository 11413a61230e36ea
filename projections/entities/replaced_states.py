"""The past of entities: the states that were replaced, and the totals of each kind at any position.

Positions say when: a state holds from the position of its event up to that of the next one. Nothing
here depends on how many events a commit has.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from domain.edges import EDGE, edge_ends
from projections.entities.stored_entity import (
    StoredEntity,
    added_digests,
    columns_digest,
    decode_scopes,
    stored_entity,
)
from projections.feeding.port import Folded

LARGE = 4_096
"""Bytes of the JSON of a replaced state that are not kept any more: they are folded from the log
when they are read."""
ANY_STATUS = ""
"""The status of the total of all entities of a kind, whatever theirs is."""

Series = tuple[str, int, str]
"""A total of entities: of a kind, in a deletion state, with a status or ANY_STATUS."""


class HeldState(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A state that a commit finds stored or passes through, without what no history keeps of it."""

    kind: str
    deleted: int
    name: str
    id: str
    fqn: str
    status: str | None
    scopes: str
    position: int
    core: bytes | None
    """As of a StoredEntity; None where it is LARGE."""
    optional: bytes | None
    digest: bytes
    """That of the StoredEntity."""


class EntityChange(msgspec.Struct, frozen=True, gc=False):
    """What some events of the log made of one entity."""

    passed: tuple[HeldState, ...]
    """The states after these events, in order, but for the one that is stored."""
    stored: StoredEntity | None
    """The last state; None for a purged entity."""
    purged: int | None = None
    """The position of the purge that came last."""


def entity_change(folded: Folded) -> EntityChange:
    """What a batch made of an entity."""
    passed = tuple(held_state(stored_entity(one)) for one in folded.replaced)
    if folded.entity.purged:
        return EntityChange(passed, None, folded.position)
    return EntityChange(passed, stored_entity(folded))


class ReplacedState(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A row of `history`: a state that another one replaced."""

    kind: str
    deleted: int
    name: str
    id: str
    fqn: str
    status: str | None
    scopes: str
    since: int
    """Position of the event that led to the state."""
    until: int
    """Position of the event that replaced it."""
    core: bytes | None
    """JSON; None where it was too large to be kept."""
    optional: bytes | None
    digest: bytes
    """Digest of all other fields, 16 bytes."""


def held_state(one: StoredEntity) -> HeldState:
    """The part of a stored entity of which a history can be made."""
    core, optional = (None if len(json) > LARGE else json for json in (one.core, one.optional))
    return HeldState(
        one.kind,
        one.deleted,
        one.name,
        one.id,
        one.fqn,
        one.status,
        one.scopes,
        one.position,
        core,
        optional,
        one.digest,
    )


def replaced_state(state: HeldState, until: int) -> ReplacedState:
    """The row of `history` for a state that held up to a position."""
    columns = (
        *(state.kind, state.deleted, state.name, state.id, state.fqn, state.status, state.scopes),
        *(state.position, until, state.core, state.optional),
    )
    return ReplacedState(*columns, columns_digest(columns))


def scope_rows(row: ReplacedState) -> list[tuple[str, str, int, str, str, int, int, str | None]]:
    """The rows of `history_scopes` that list a replaced state."""
    return [
        (scope, row.kind, row.deleted, row.name, row.id, row.until, row.since, row.status)
        for scope in decode_scopes(row.scopes)
    ]


class PastChanges:
    """The share of some events in the past of a read model."""

    def __init__(self) -> None:
        self.replaced: list[ReplacedState] = []
        """The rows that are added to `history`, those of one entity in order."""
        self.purged: list[str] = []
        """The entities whose past is to be removed: all of their rows, and those of edges between
        them and others."""
        self.newest: dict[str, int] = {}
        """Kind -> position of the newest of the events that are about one."""
        self._totals: Counter[tuple[Series, int]] = Counter()
        self._forgotten: Counter[tuple[Series, int]] = Counter()
        self._removed: list[ReplacedState] = []

    def add(self, held: HeldState | None, change: EntityChange) -> None:
        """Add what became of an entity whose stored state is `held` (None: there was none)."""
        states = [*([] if held is None else [held]), *change.passed]
        if change.stored is not None:
            states.append(held_state(change.stored))
        if not states:
            # It was purged by an earlier commit, which is repeated.
            return
        first, last = states[0], states[-1]
        end = last.position if change.purged is None else change.purged
        self.newest[last.kind] = max(end, self.newest.get(last.kind, 0))
        if held is None:
            self._count(self._totals, first, first.position, 1)
        replaced = [
            replaced_state(old, new.position)
            for old, new in pairwise(states)
            # What held for no time is no past.
            if old.position < new.position
        ]
        for old, new in pairwise(states):
            if (old.deleted, old.status) != (new.deleted, new.status):
                self._count(self._totals, old, new.position, -1)
                self._count(self._totals, new, new.position, 1)
        if change.purged is not None:
            self._count(self._totals, last, change.purged, -1)
            replaced.append(replaced_state(last, change.purged))
            if last.kind != EDGE:
                # That an edge is removed says nothing of the time before.
                self.purged.append(last.id)
                self.forget(replaced)
                replaced = []
        self.replaced += replaced

    def remove(self, rows: Sequence[ReplacedState]) -> None:
        """Remove rows of `history`, which may be without their JSON."""
        self._removed += rows
        self.forget(rows)

    def forget(self, rows: Iterable[ReplacedState]) -> None:
        """Take what rows of purged entities counted for out of all totals."""
        for row in rows:
            self._count(self._forgotten, row, row.since, 1)
            self._count(self._forgotten, row, row.until, -1)

    def keep_edges(self, stored: set[str]) -> None:
        """Of the edges that are added keep those both ends of which are stored afterwards."""
        self.replaced = [
            row
            for row in self.replaced
            if row.kind != EDGE or stored.issuperset(edge_ends(row.fqn))
        ]

    @property
    def ends(self) -> list[str]:
        """The ids of the entities that the added edges begin and end at."""
        return [*{end for row in self.replaced if row.kind == EDGE for end in edge_ends(row.fqn)}]

    @property
    def kinds(self) -> set[str]:
        """The kinds whose past changes."""
        return {*self.newest, *(row.kind for row in (*self.replaced, *self._removed))}

    @property
    def steps(self) -> list[tuple[str, int, str, int, int]]:
        """The changes of totals: a series, a position, and what is added to it there."""
        return [(*series, at, n) for (series, at), n in sorted(self._totals.items()) if n]

    @property
    def series(self) -> list[Series]:
        """The totals that change."""
        return [*dict.fromkeys(row[:3] for row in self.steps)]

    def totals(self, held: Mapping[Series, int]) -> list[tuple[str, int, str, int, int]]:
        """Rows of `kind_totals`: a series, a position, and its total from there on.

        `held` has the last totals before.
        """
        rows = []
        now = dict(held)
        for kind, deleted, status, position, n in self.steps:
            series = kind, deleted, status
            now[series] = now.get(series, 0) + n
            rows.append((*series, position, now[series]))
        return rows

    @property
    def forgotten(self) -> list[tuple[str, int, str, int, int]]:
        """Rows to be added to `forgotten`: a series, a position, and a number."""
        return [(*series, at, n) for (series, at), n in sorted(self._forgotten.items()) if n]

    def pasts(self, held: Mapping[str, tuple[int, int]]) -> list[tuple[str, int, int, bytes]]:
        """Rows of `pasts`: kind, newest position, number and digest of its rows in `history`.

        `held` has number and digest before.
        """
        changes = {kind: (0, 0) for kind in self.newest}
        for step, rows in ((1, self.replaced), (-1, self._removed)):
            for row in rows:
                n, total = changes.get(row.kind, (0, 0))
                changes[row.kind] = n + step, total + step * int.from_bytes(row.digest, "big")
        return [
            (kind, self.newest.get(kind, 0), n, total)
            for kind, n, total in added_digests(held, changes)
        ]

    def _count(
        self,
        counter: Counter[tuple[Series, int]],
        of: HeldState | ReplacedState,
        position: int,
        step: int,
    ) -> None:
        if of.kind == EDGE:
            # No list shows them.
            return
        counter[(of.kind, of.deleted, ANY_STATUS), position] += step
        if of.status is not None:
            counter[(of.kind, of.deleted, of.status), position] += step
