"""Documents of entities as they were at a position, as searches show them."""

from collections.abc import Iterator, Sequence
from functools import partial

from domain.errors import InvalidInput, NotFound
from domain.event_store.entity_reads import RecordedEvent, whole_streams
from domain.kinds.registry import KINDS
from domain.reading import history
from domain.reading.moments import time_at
from projections.entities.port import SortedReadModel
from projections.entities.single_entities import folded_fields, with_fields
from projections.search.answers.queries import SearchAnswer
from projections.search.answers.single_documents import single_document
from projections.search.documents.sources import ReadSources
from projections.search.engine import Searches
from projections.search.index_names import kinds_of
from projections.search.restriction import Visibility
from projections.wiring.stores import Stores

MAX_EVENTS = 100_000
"""Events of which the documents of one answer are made at most: some seconds of work."""


def document_as_of(
    stores: Stores,
    position: int,
    index: str,
    entity_id: str,
    engine: Searches,
    read_sources: ReadSources,
    visibility: Visibility,
) -> SearchAnswer:
    """The document of an entity that was in the index at a position; see `single_document`.

    Raises Purged for one that is purged by now, if the caller may search its kind.
    """
    try:
        return single_document(index, entity_id, engine, read_sources, visibility)
    except NotFound:
        first = next(iter(stores.log.stream(entity_id, upto=1)), None)
        kind = None if first is None else KINDS.get(first.event.kind)
        seen = visibility.within(kinds_of(index))
        if kind is not None and (seen is None or kind.name in seen):
            history.as_of(stores.log, kind, entity_id, position)
        raise


class PastDocuments:
    """Reads the documents of one answer; ids of entities that were not there are left out."""

    def __init__(self, stores: Stores, position: int, *, most_events: int = MAX_EVENTS) -> None:
        """Lists must have applied the position; the documents take at most so many events."""
        self._stores = stores
        self._position = position
        self._now: int | None = None
        """Time of the last event at the position."""
        self._events_left = most_events
        self._most_events = most_events

    def __call__(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Id -> full JSON of the first entity that was there.

        It may take long, and the next may not be needed. Raises InvalidInput once there are more
        events than may be.
        """
        for entity_id in ids:
            if (body := self._document(entity_id)) is not None:
                return {entity_id: body}
        return {}

    def _document(self, entity_id: str) -> bytes | None:
        claim = self._stores.log.claim_by_id(entity_id)
        if claim is None or claim.kind not in KINDS:
            return None
        unchanged = self._stores.entities.read(
            partial(self._unchanged, kind=claim.kind, entity_id=entity_id)
        )
        core, optional = unchanged or self._folded(entity_id) or (None, None)
        if core is None or optional is None:
            return None
        kind = KINDS[claim.kind]
        return with_fields(kind, core, optional, (), large=kind.optional, now=self._time())

    def _unchanged(
        self, entities: SortedReadModel, kind: str, entity_id: str
    ) -> tuple[bytes, bytes] | None:
        """The JSON of an entity from lists, where nothing has changed the entity since."""
        stored = entities.document(kind, entity_id=entity_id)
        if stored is None or stored.position > self._position:
            return None
        return stored.core, stored.optional

    def _folded(self, entity_id: str) -> tuple[bytes, bytes] | None:
        streams = whole_streams(self._stores.log, [entity_id], upto=self._position)
        return folded_fields(self._counted(streams))

    def _counted(self, events: Iterator[RecordedEvent]) -> Iterator[RecordedEvent]:
        for recorded in events:
            self._events_left -= 1
            if self._events_left < 0:
                raise InvalidInput(
                    f"the documents of the past take more than {self._most_events:,} events to be"
                    " made: ask for fewer with size, for none with fetchSource=false, or make"
                    " nested conditions narrower"
                )
            yield recorded

    def _time(self) -> int:
        if self._now is None:
            self._now = time_at(self._stores.log, self._position)
        return self._now
