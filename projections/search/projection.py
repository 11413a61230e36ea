"""The projection that keeps a search engine equal to the log."""

from collections.abc import Iterator, Mapping

from domain.entity import Entity
from projections.feeding.port import Checkpoint, Folded
from projections.search.documents import SearchDocument, document, is_indexed
from projections.search.engine import SearchEngine

VERSION = 3
"""Raised whenever the same states give other documents."""


class EntityDocuments(Mapping[str, SearchDocument | None]):
    """The search documents of entities, each made whenever it is asked for and held by nobody.

    A document takes several times the memory of its entity. Those of purged entities are None.
    """

    def __init__(self, entities: Mapping[str, Entity]) -> None:
        self._entities = entities

    def __getitem__(self, entity_id: str) -> SearchDocument | None:
        entity = self._entities[entity_id]
        return None if entity.purged else document(entity)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entities)

    def __len__(self) -> int:
        return len(self._entities)


class SearchProjection:
    """Feeds the states of entities to a search engine."""

    name = "search"

    def __init__(self, engine: SearchEngine) -> None:
        self._engine = engine

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; 0 and "" before the first commit."""
        return self._engine.checkpoint_and_fingerprint()

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        """Index these states, remove purged entities, commit with position and fingerprint."""
        states = {
            entity_id: folded.entity
            for entity_id, folded in entities.items()
            if is_indexed(folded.entity)
        }
        self._engine.apply(EntityDocuments(states), position, fingerprint, after=after)
