"""The projection that keeps a search engine equal to the log."""

from collections.abc import Mapping

from projections.port import Folded
from projections.search.documents import document
from projections.search.engine import SearchEngine


class SearchProjection:
    """Feeds the states of entities to a search engine."""

    name = "search"

    def __init__(self, engine: SearchEngine) -> None:
        self._engine = engine

    def checkpoint(self) -> int:
        """The last position committed, 0 when nothing was."""
        return self._engine.checkpoint()

    def apply(self, entities: Mapping[str, Folded], position: int) -> None:
        """Index these states, remove purged entities, commit with the position."""
        documents = {
            entity_id: None if folded.entity.purged else document(folded.entity)
            for entity_id, folded in entities.items()
        }
        self._engine.apply(documents, position)

    def reset(self) -> None:
        """Forget everything; the checkpoint becomes 0."""
        self._engine.reset()
