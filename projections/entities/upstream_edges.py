"""The edges that end at entities of an answer, as OpenMetadata's search documents have them."""

import time
from collections.abc import Callable

import msgspec

from domain.errors import InvalidInput
from domain.events import values_by_key
from projections.entities.lineage import Bounds
from projections.entities.port import EdgeReader
from projections.visibility.edges import EdgeSight

UPSTREAM = "upstreamLineage"
"""The key of search documents that holds the edges."""
BOUNDS = Bounds(shown=20_000, seen=50_000, bytes=16_000_000, seconds=2.0)
_ENDS = ("fromEntity", "toEntity")
_NAMES = {"columnsLineage": "columns"}
"""Detail of an edge -> its key in search documents, where the two differ."""


class _End(msgspec.Struct, rename="camel"):
    type: str
    id: str
    fully_qualified_name: str


_end = msgspec.json.Decoder(_End)


class UpstreamEdges:
    """Reads the edges that end at the entities of one answer, within bounds for all of them."""

    def __init__(
        self,
        reader: EdgeReader,
        sight: EdgeSight,
        bounds: Bounds = BOUNDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._sight = sight
        self._bounds = bounds
        self._clock = clock
        self._ends_at = clock() + bounds.seconds
        self._shown = self._seen = self._bytes = 0

    def ending_at(self, entity_id: str) -> bytes:
        """The JSON array of the visible edges that end at an entity, in order of their ids.

        Raises InvalidInput where those of all entities of the answer go beyond the bounds.
        """
        shown = []
        for core in self._reader.ending_at(entity_id):
            self._seen += 1
            self._bytes += len(core)
            self._check()
            fields = values_by_key(core)
            if self._sight.shows(fields):
                details = self._sight.details(fields)
                ends = {key: _end.decode(fields[key]) for key in _ENDS}
                shown.append(ends | {_NAMES.get(key, key): details[key] for key in details})
        self._shown += len(shown)
        return msgspec.json.encode(shown)

    def _check(self) -> None:
        most = self._bounds
        beyond = self._shown > most.shown or self._seen > most.seen or self._bytes > most.bytes
        late = self._seen % most.clock_every == 0 and self._clock() >= self._ends_at
        if beyond or late:
            raise InvalidInput(
                f"the edges of all hits are too many for one answer ({most.shown:,}, of"
                f" {most.bytes // 1_000_000} MB): ask for fewer hits with size, or leave {UPSTREAM}"
                " out of includeSourceFields"
            )
