"""The past, and the totals of each kind, that all parts of a load come to together."""

from array import array
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from domain.edges import EDGE, edge_ends
from domain.event_store.stored import LiveStreams
from projections.entities.folding_process import FoldedPart
from projections.entities.past_changes import PastChanges
from projections.entities.replaced_states import EndedMembership, ReplacedState, Series, Step, Steps


class LoadedPast:
    """The past of all parts of a load, in which purged entities have none."""

    def __init__(self, live: LiveStreams) -> None:
        self._purged = frozenset(LiveStreams(live.head, live.purged).part(0, len(live.purged)))
        self._changes = PastChanges()
        self._gone: set[str] = set()
        """Ids of the edges that begin or end at a purged entity."""
        self._added, self._taken_out = _Sums(), _Sums()

    def kept(self, part: FoldedPart) -> tuple[list[ReplacedState], list[EndedMembership]]:
        """The replaced states and ended memberships of a part, without those of purged entities."""
        changes, newest = self._changes, self._changes.newest
        for kind, position in part.newest.items():
            newest[kind] = max(position, newest.get(kind, 0))
        replaced = []
        for row in part.replaced:
            if row.kind == EDGE:
                if not self._purged.isdisjoint(edge_ends(row.fqn)):
                    self._gone.add(row.id)
                    continue
            elif row.id in self._purged:
                changes.forget((row,))
                continue
            replaced.append(row)
        ended = [
            row
            for row in part.ended
            if row[4] not in self._gone and (row[1] == EDGE or row[4] not in self._purged)
        ]
        changes.sum(replaced, ended, 1)
        return replaced, ended

    def count(self, part: FoldedPart) -> None:
        """Count a part in the totals."""
        self._added.add(part.added)
        self._taken_out.add(part.taken_out)

    def totals(self) -> Iterator[Step]:
        """The rows of `kind_totals`, in the order of their key."""
        for series, steps in groupby(self._added.steps(), key=itemgetter(0, 1, 2)):
            total = 0
            for *_, position, n in steps:
                total += n
                yield (*series, position, total)

    def forgotten(self) -> Iterator[Step]:
        """The rows of `forgotten`, in the order of their key; to be asked for once."""
        self._taken_out.add(self._changes.taken_out)
        return self._taken_out.steps()

    @property
    def pasts(self) -> list[tuple[str, int, int, bytes]]:
        """The rows of `pasts`."""
        return self._changes.pasts({})


class _Sums:
    """Numbers that are added to series at positions, each in 16 bytes."""

    def __init__(self) -> None:
        self._by_series: defaultdict[Series, tuple[array[int], array[int]]] = defaultdict(
            lambda: (array("q"), array("q"))
        )
        """Series -> positions in any order, and what is added at each of them."""

    def add(self, steps: Steps) -> None:
        """Add steps."""
        for series, added in steps.items():
            positions, numbers = self._by_series[series]
            positions.extend(added)
            numbers.extend(added.values())

    def steps(self) -> Iterator[Step]:
        """One step for each series and position whose sum is not 0, in the order of both."""
        for series, columns in sorted(self._by_series.items()):
            at, total = 0, 0
            for position, n in sorted(zip(*columns, strict=True)):
                if position != at:
                    if total:
                        yield (*series, at, total)
                    at, total = position, 0
                total += n
            if total:
                yield (*series, at, total)
