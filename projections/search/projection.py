"""The projection that keeps a search engine equal to the log."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence

from domain.event_store.entity_reads import RecordedEvent
from projections.feeding.port import Checkpoint, Folded, Note
from projections.search.documents.documents import SearchDocument, document, is_indexed
from projections.search.engine import DocumentChanges, SearchedPaths, SearchEngine
from projections.search.searched_paths import PathsNoted, restricted

log = logging.getLogger("catalog.search")

VERSION = 6
"""To be raised whenever the same states give other documents, or the same documents other terms."""


class EntityDocuments(Mapping[str, SearchDocument | None]):
    """Id -> search document of an entity, made anew at each access; None for a purged entity.

    No document is kept, as it takes several times the memory of its entity.
    """

    def __init__(self, states: Mapping[str, Folded], searched: SearchedPaths) -> None:
        self._states = states
        self._searched = searched

    def __getitem__(self, entity_id: str) -> SearchDocument | None:
        state = self._states[entity_id]
        if state.entity.purged:
            return None
        return restricted(document(state.entity, state.position), self._searched)

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)


def replaced_documents(
    steps: Iterable[tuple[Folded, Folded]], searched: SearchedPaths
) -> Iterator[SearchDocument]:
    """The search document of each state that another one replaced, made when it is asked for."""
    for state, successor in steps:
        yield restricted(document(state.entity, state.position, successor.position), searched)


class SearchProjection:
    """Feeds the states of entities to a search engine."""

    name = "search"

    def __init__(self, engine: SearchEngine) -> None:
        self._engine = engine
        self._noted: PathsNoted | None = None
        """The paths of the batch under way."""

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; 0 and "" before the first commit."""
        return self._engine.checkpoint_and_fingerprint()

    def begin(self, batch: Sequence[RecordedEvent]) -> Note:
        """Have the paths noted that appear in the events of a batch, in their order."""
        self._noted = PathsNoted(self._engine.searched())
        return self._noted.note

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        """Index these states, remove purged entities, commit with position and fingerprint."""
        states = {
            entity_id: folded for entity_id, folded in entities.items() if is_indexed(folded.entity)
        }
        noted = self._noted or PathsNoted(self._engine.searched())
        self._noted = None
        searched = noted.searched()
        if noted.is_filled:
            paths = {"paths": len(searched.paths), "position": position}
            log.warning("search takes no more undeclared paths", extra=paths)
        documents = EntityDocuments(states, searched)
        # Purged entities have no past.
        kept = (state for state in states.values() if not state.entity.purged)
        replaced = replaced_documents((step for state in kept for step in state.steps), searched)
        self._engine.apply(
            DocumentChanges(documents, position, after, fingerprint, searched, replaced)
        )
