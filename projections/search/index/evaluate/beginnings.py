"""Words of which only the beginning is given: a range of the sorted terms, taken as one term.

All terms that begin so count as one: its rarity is that of the documents with any of them, over all
segments, and the best posting of a document counts. So a beginning costs what its postings cost,
however many terms they are of; they are gone through in pieces of bounded work, once: the
highest impacts are remembered with the segment.
"""

from collections.abc import Callable

import numpy as np

from projections.search.index.evaluate.best_scores import BestScores
from projections.search.index.evaluate.lexicons import spans
from projections.search.index.evaluate.results import Matches
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.evaluate.term_results import Postings, PostingsList
from projections.search.index.evaluate.unions import union

Range = tuple[str, int, int]
"""A field of the index, and where postings in it begin and end."""


class Beginnings:
    """Evaluates beginnings of words; `check` raises when the time is up."""

    def __init__(self, snapshot: Snapshot, check: Callable[[], None]) -> None:
        self._snapshot = snapshot
        self._check = check

    def matches(self, view: SegmentView, field: str | None, start: str) -> Matches:
        """The segment's documents with a word in the field that begins with `start`, scored."""
        places = _ranges(view, field, start)
        frequency = self._frequency(view, places, field, start) if places else 0
        scored = [
            self._impacts(view, place).scaled(self._snapshot.weight(place[0], frequency))
            for place in places
        ]
        return self._best(view, scored)

    def _frequency(
        self, known: SegmentView, places: list[Range], field: str | None, start: str
    ) -> int:
        """Return the number of living documents with such a word; `places` are those in `known`."""

        def count() -> int:
            return sum(
                self._living(view, places if view is known else _ranges(view, field, start))
                for view in self._snapshot.views
            )

        return self._snapshot.memory.get(("begun", field, start), count, lambda _: 0)

    def _living(self, view: SegmentView, places: list[Range]) -> int:
        documents = self._best(view, [self._impacts(view, place) for place in places])
        if view.dead is None:
            return documents.count
        return documents.count - int(np.count_nonzero(view.dead.take(documents.ids())))

    def _best(self, view: SegmentView, clauses: list[Matches]) -> Matches:
        return union(view, clauses, np.maximum, self._check)

    def _impacts(self, view: SegmentView, place: Range) -> Matches:
        """The documents of postings, scored by the highest impact; by 1 where there are none."""
        name, begin, end = place
        inverted = view.fields[name]
        number = int(inverted.starts.searchsorted(begin, "right")) - 1
        first = PostingsList(view, name, number)
        if first.impacts is not None and begin + first.count == end:
            return Postings(first, 1.0)
        return view.memory.get(
            ("beginning", *place),
            lambda: self._gathered(view, place, first),
            lambda matches: matches.nbytes,
        )

    def _gathered(self, view: SegmentView, place: Range, first: PostingsList) -> Matches:
        """The documents of postings of several terms, each scored by its highest impact.

        `first` has those of the first term.
        """
        name, begin, end = place
        inverted, step = view.fields[name], view.steps.postings
        known = None
        if first.is_dense:
            # Most are often those of the word itself, of which the table is asked for as well.
            known, begin = first.table().copy(), begin + first.count
        best = BestScores(view, end - begin, np.uint8, known)
        for low in range(begin, end, step):
            self._check()
            part = slice(low, min(low + step, end))
            ids = inverted.ids[part]
            impacts = inverted.impacts
            best.add(ids, np.ones(len(ids), np.uint8) if impacts is None else impacts[part])
        return best.matches()


def _ranges(view: SegmentView, field: str | None, start: str) -> list[Range]:
    """Return the ranges of postings of terms that begin with `start`, one for an index field."""
    ranges: list[Range] = []
    for name, span in spans(view, field, start.encode()):
        starts = view.fields[name].starts
        if span.low < span.high:
            ranges.append((name, int(starts[span.low]), int(starts[span.high])))
    return ranges
