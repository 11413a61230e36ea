"""The projection that keeps a search engine equal to the log."""

from collections.abc import Mapping

from projections.feeding.port import Folded
from projections.search.documents import document
from projections.search.engine import SearchEngine

VERSION = 3
"""Raised whenever the same states give other documents."""


class SearchProjection:
    """Feeds the states of entities to a search engine."""

    name = "search"

    def __init__(self, engine: SearchEngine) -> None:
        self._engine = engine

    def anchor(self) -> tuple[int, str]:
        """The last position committed and its mark; 0 and nothing when nothing was."""
        return self._engine.anchor()

    def apply(self, entities: Mapping[str, Folded], position: int, mark: str) -> None:
        """Index these states, remove purged entities, commit with position and mark."""
        documents = {
            entity_id: None if folded.entity.purged else document(folded.entity)
            for entity_id, folded in entities.items()
        }
        self._engine.apply(documents, position, mark)
