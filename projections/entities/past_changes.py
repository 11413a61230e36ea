"""The share of a commit in the past of entities: its states, its memberships and its totals.

Nothing here depends on how many events a commit has.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from domain.edges import EDGE, edge_ends
from projections.entities.daily_counts import CoverageStep
from projections.entities.replaced_states import (
    ANY_STATUS,
    EndedMembership,
    EntityChange,
    HeldState,
    Membership,
    ReplacedState,
    ScopeKey,
    ScopeRow,
    Series,
    Step,
    Steps,
    coverage_steps,
    held_state,
    memberships,
    replaced_state,
    sorted_steps,
)
from projections.entities.stored_entity import added_digests, columns_digest


class PastChanges:
    """The share of some events in what a read model keeps of the past, and in its `scopes`.

    A membership of an entity in a list begins and ends: it is a row of `scopes`, or of
    `history_scopes` once it has ended. Most changes of an entity leave all of its memberships as
    they are.
    """

    def __init__(self) -> None:
        self.replaced: list[ReplacedState] = []
        """The rows that are added to `history`, those of one entity in order."""
        self.ended: list[EndedMembership] = []
        """Rows that are added to `history_scopes`."""
        self.moved: list[tuple[str, str, int, str, str, int]] = []
        """Keys of rows to be moved from `scopes` to `history_scopes`, each with the end's position.
        """
        self.unlisted: list[ScopeKey] = []
        """Keys of rows of `scopes` that are removed, moved or not."""
        self.listed: list[Membership] = []
        """Rows that are added to `scopes`, once the `unlisted` ones are removed."""
        self.purged: list[str] = []
        """The entities whose past is to be removed: all of their rows, and those of edges between
        them and others."""
        self.newest: dict[str, int] = {}
        """Kind -> position of the newest event about an entity of the kind."""
        self.added: Steps = defaultdict(dict)
        """Changes of totals."""
        self.taken_out: Steps = defaultdict(dict)
        """The share of purged entities in totals."""
        self._sums: dict[str, tuple[int, int]] = {}
        self.coverage: list[CoverageStep] = []
        """The changes of the numbers of entities on which keys of COVERED have content."""

    def add(self, held: HeldState | None, change: EntityChange) -> None:
        """Add what became of an entity whose stored state is `held` (None: there was none)."""
        if held is None and change.stored is None and not change.passed:
            # An earlier commit has purged the entity.
            return
        life = Life(held)
        for state in change.passed:
            life.go_on(self, state)
        if change.stored is not None:
            life.go_on(self, held_state(change.stored))
        if change.purged is not None:
            life.purge(self, change.purged)
        life.finish(self)

    def remove(self, rows: Sequence[ReplacedState], ended: Iterable[EndedMembership]) -> None:
        """Remove rows of `history`, which may be without their JSON, and of `history_scopes`."""
        self.sum(rows, ended, -1)
        self.forget(rows)

    def forget(self, rows: Iterable[ReplacedState]) -> None:
        """Take rows of purged entities out of all totals that they counted in."""
        for row in rows:
            self.count(self.taken_out, row, row.since, 1)
            self.count(self.taken_out, row, row.until, -1)

    def keep_edges(self, stored: set[str]) -> None:
        """Drop the past of edges unless both of their ends are `stored` after the commit."""
        gone = {
            row.id
            for row in self.replaced
            if row.kind == EDGE and not stored.issuperset(edge_ends(row.fqn))
        }
        self.replaced = [row for row in self.replaced if row.id not in gone]
        self.ended = [row for row in self.ended if row[4] not in gone]
        self.moved = [row for row in self.moved if row[4] not in gone]

    @property
    def ends(self) -> list[str]:
        """The ids of the entities that the added edges begin and end at."""
        return [*{end for row in self.replaced if row.kind == EDGE for end in edge_ends(row.fqn)}]

    @property
    def kinds(self) -> set[str]:
        """The kinds whose past changes."""
        return {*self.newest, *self._sums, *(row.kind for row in self.replaced)}

    @property
    def steps(self) -> list[Step]:
        """The changes of totals: a series, a position, and what is added to it there."""
        return sorted_steps(self.added)

    @property
    def series(self) -> list[Series]:
        """The totals that change."""
        return [*dict.fromkeys(row[:3] for row in self.steps)]

    def totals(self, held: Mapping[Series, int]) -> list[Step]:
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
    def forgotten(self) -> list[Step]:
        """Rows to be added to `forgotten`: a series, a position, and a number."""
        return sorted_steps(self.taken_out)

    def pasts(
        self, held: Mapping[str, tuple[int, int]], moved: Iterable[EndedMembership] = ()
    ) -> list[tuple[str, int, int, bytes]]:
        """Rows of `pasts`: kind, newest position, number and digest of what is kept of the past.

        `held` has number and digest before; `moved` are the rows that `self.moved` has the keys of.
        """
        self.sum(self.replaced, chain(self.ended, moved), 1)
        changes = dict.fromkeys(self.newest, (0, 0)) | self._sums
        return [
            (kind, self.newest.get(kind, 0), n, total)
            for kind, n, total in added_digests(held, changes)
        ]

    def sum(
        self, replaced: Iterable[ReplacedState], ended: Iterable[EndedMembership], step: int
    ) -> None:
        """Count rows (`step` 1), or uncount them (-1), in the numbers and digests of `pasts`."""
        digests = chain(
            ((row.kind, row.digest) for row in replaced),
            ((row[1], columns_digest(row)) for row in ended),
        )
        for kind, digest in digests:
            n, total = self._sums.get(kind, (0, 0))
            self._sums[kind] = n + step, total + step * int.from_bytes(digest, "big")

    def count_covered(self, kind: str, before: int, after: int, position: int) -> None:
        """Count the change of an entity's `covered` from a position on."""
        if before != after:
            self.coverage += coverage_steps(kind, before, after, position)

    def count_total(self, of: HeldState, position: int, step: int) -> None:
        """Count a state in the totals of its kind from a position on."""
        self.count(self.added, of, position, step)

    def count(self, steps: Steps, of: HeldState | ReplacedState, position: int, step: int) -> None:
        """Count a state in its series; an edge has none, as no list shows edges."""
        if of.kind != EDGE:
            for status in (ANY_STATUS,) if of.status is None else (ANY_STATUS, of.status):
                added = steps[of.kind, of.deleted, status]
                added[position] = added.get(position, 0) + step


class Life:
    """The states of one entity, from the stored one or its creation on.

    What is added may go to several PastChanges in turn (`give`), until `finish`.
    """

    def __init__(self, held: HeldState | None = None) -> None:
        self._state = held
        self._since: dict[ScopeRow, int | None] = dict.fromkeys(memberships(held)) if held else {}
        """The memberships of now, each with the position it began at; None for stored ones."""
        self._stored = [*self._since]
        self._replaced: list[ReplacedState] = []
        self._ended: list[EndedMembership] = []
        self._moved: list[tuple[str, str, int, str, str, int]] = []
        self._is_purged = False

    def go_on(self, changes: PastChanges, state: HeldState) -> None:
        """Go on to the next state."""
        before, self._state = self._state, state
        position = state.position
        changes.newest[state.kind] = max(position, changes.newest.get(state.kind, 0))
        changes.count_covered(state.kind, before.covered if before else 0, state.covered, position)
        if before is None:
            changes.count_total(state, position, 1)
        else:
            if before.position < position:
                # A state that held for no time is no past.
                self._replaced.append(replaced_state(before, position))
            if (before.deleted, before.status) != (state.deleted, state.status):
                changes.count_total(before, position, -1)
                changes.count_total(state, position, 1)
            if _listed_by(before) == _listed_by(state):
                return
        now = memberships(state)
        if not self._since:
            # Nothing to compare, as for a first state: quicker than the differences of two sets.
            self._since = dict.fromkeys(now, position)
            return
        self._end(self._since.keys() - now, position)
        for row in now - self._since.keys():
            self._since[row] = position

    def purge(self, changes: PastChanges, position: int) -> None:
        """Go on to the purge of the entity, with which its past is gone.

        The past of an edge stays: its removal says nothing of the time before.
        """
        last = self._state
        assert last is not None
        self._is_purged = True
        changes.newest[last.kind] = max(position, changes.newest.get(last.kind, 0))
        changes.count_total(last, position, -1)
        changes.count_covered(last.kind, last.covered, 0, position)
        self._replaced.append(replaced_state(last, position))
        if last.kind == EDGE:
            self._end(set(self._since), position)
            return
        changes.purged.append(last.id)
        changes.forget(self._replaced)
        self._replaced, self._ended, self._moved = [], [], []

    def finish(self, changes: PastChanges) -> None:
        """Add what is left to the changes, with the memberships that still hold."""
        self.give(changes)
        if self._is_purged:
            changes.unlisted += [row[:5] for row in self._stored]
            return
        changes.unlisted += [row[:5] for row in self._stored if self._since.get(row, 0) is not None]
        changes.listed += [(*row, since) for row, since in self._since.items() if since is not None]

    def give(self, changes: PastChanges) -> None:
        """Add the states and memberships that have ended so far to the changes."""
        changes.replaced += self._replaced
        changes.ended += self._ended
        changes.moved += self._moved
        self._replaced, self._ended, self._moved = [], [], []

    def _end(self, rows: Iterable[ScopeRow], position: int) -> None:
        for row in rows:
            since = self._since.pop(row)
            if since is None:
                self._moved.append((*row[:5], position))
            elif since < position:
                self._ended.append((*row[:5], position, since, row[5]))


def _listed_by(state: HeldState) -> tuple[str, int, str, str | None]:
    """The fields of a state that its memberships follow from."""
    return state.scopes, state.deleted, state.name, state.status
