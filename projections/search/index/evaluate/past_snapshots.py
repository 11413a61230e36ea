"""One commit as it was at earlier positions of the log.

Documents that did not hold at a position count as dead, so that numbers of documents, rarity,
scores and facets are those of an index that was made of the log up to there.
"""

import threading
from collections.abc import Iterator, Sequence

import numpy as np

from projections.search.index.evaluate.segments import SegmentView, Snapshot

KEPT = 4
"""Positions of which a commit keeps the snapshot: those that were asked for last."""
_MAX_REMEMBERED_BYTES = 16_000_000
"""Memory that each of these snapshots may use for remembered results, in bytes."""


class PastSnapshots:
    """Makes and keeps the snapshots of one commit as of positions; for any thread."""

    def __init__(self, views: Sequence[SegmentView]) -> None:
        """`views` are the segments of the current states and those of the replaced ones."""
        self._views = views
        self._lock = threading.Lock()
        self._kept: dict[int, Snapshot] = {}

    def at(self, position: int) -> Snapshot:
        """The documents of the states that held at a position, which the commit has applied."""
        with self._lock:
            known = self._kept.pop(position, None)
            if known is not None:
                self._kept[position] = known
                return known
        made = Snapshot(tuple(self._holding(position)), most_bytes=_MAX_REMEMBERED_BYTES)
        with self._lock:
            self._kept[position] = made
            while len(self._kept) > KEPT:
                self._kept.pop(next(iter(self._kept)))
        return made

    def _holding(self, position: int) -> Iterator[SegmentView]:
        """The segments with the documents that held; those without any are left out."""
        for view in self._views:
            held = (view.arrays["since"] <= position) & (position < view.arrays["until"])
            if view.live is not None:
                held &= view.live
            count = int(np.count_nonzero(held))
            if count == view.count:
                yield view
            elif count:
                yield view.with_dead(~held)
