"""Words of which only the beginning is given: a range of the sorted terms, taken as one term.

All terms that begin so count as one: its rarity is that of the documents with any of them, over all
segments, and the best posting of a document counts. So a beginning costs what its postings cost,
however many terms they are of; they are gone through in pieces of bounded work.
"""

from collections.abc import Callable

import numpy as np

from projections.search.index.evaluate.best_scores import BestScores
from projections.search.index.evaluate.lexicons import spans
from projections.search.index.evaluate.results import Matches, gathered
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.evaluate.term_results import Postings

Range = tuple[str, int, int]
"""A field of the index, and where postings in it begin and end."""


class Beginnings:
    """Evaluates beginnings of words; `check` raises when the time is up."""

    def __init__(self, snapshot: Snapshot, check: Callable[[], None]) -> None:
        self._snapshot = snapshot
        self._check = check

    def matches(self, view: SegmentView, field: str | None, start: str) -> Matches:
        """The segment's documents with a word in the field that begins with `start`, scored."""
        return self._snapshot.memory.get(
            ("beginning", view.name, field, start),
            lambda: self._scored(view, field, start),
            lambda matches: matches.nbytes,
        )

    def _scored(self, view: SegmentView, field: str | None, start: str) -> Matches:
        places = _ranges(view, field, start)
        frequency = self._frequency(field, start) if places else 0
        if (only := _only_term(view, places)) is not None:
            return Postings(view, *only, self._snapshot.weight(only[0], frequency))
        best = BestScores(view, sum(end - begin for _, begin, end in places))
        step = view.steps.postings
        for name, begin, end in places:
            inverted = view.fields[name]
            weight = np.float32(self._snapshot.weight(name, frequency))
            for low in range(begin, end, step):
                self._check()
                part = slice(low, min(low + step, end))
                best.add(inverted, part, weight)
        return best.matches()

    def _frequency(self, field: str | None, start: str) -> int:
        """Return the number of living documents with such a word."""

        def count() -> int:
            return sum(self._living(view, field, start) for view in self._snapshot.views)

        return self._snapshot.memory.get(("begun", field, start), count, lambda _: 0)

    def _living(self, view: SegmentView, field: str | None, start: str) -> int:
        places, step = _ranges(view, field, start), view.steps.postings
        if (only := _only_term(view, places)) is not None:
            return int(view.frequencies(only[0], np.array([only[1]]))[0])
        pieces = (
            view.fields[name].ids[low : min(low + step, end)]
            for name, begin, end in places
            for low in range(begin, end, step)
        )
        size = sum(end - begin for _, begin, end in places)
        documents = gathered(view, pieces, size, self._check)
        if view.dead is None:
            return documents.count
        return documents.count - int(np.count_nonzero(view.dead.take(documents.ids())))


def _only_term(view: SegmentView, places: list[Range]) -> tuple[str, int] | None:
    """Return the field and the number of the only term that begins so, None where there are more.

    Only a term with impacts: its postings are scored as they are.
    """
    if len(places) != 1:
        return None
    name, begin, end = places[0]
    inverted = view.fields[name]
    number = int(inverted.starts.searchsorted(begin, "right")) - 1
    alone = int(inverted.starts[number + 1]) == end and inverted.impacts is not None
    return (name, number) if alone else None


def _ranges(view: SegmentView, field: str | None, start: str) -> list[Range]:
    """Return the postings of the terms that begin so; those of a beginning are in a row."""
    ranges: list[Range] = []
    for name, span in spans(view, field, start.encode()):
        starts = view.fields[name].starts
        if span.low < span.high:
            ranges.append((name, int(starts[span.low]), int(starts[span.high])))
    return ranges
