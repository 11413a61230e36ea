"""The projection that keeps the sorted read model equal to the log."""

from collections.abc import Mapping

from projections.entities.port import SortedReadModel
from projections.entities.stored_entity import stored_entity
from projections.feeding.port import Checkpoint, Folded


class EntityProjection:
    """Feeds the states of entities to a sorted read model."""

    name = "entities"

    def __init__(self, model: SortedReadModel) -> None:
        self._model = model

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; 0 and "" before the first commit."""
        return self._model.checkpoint_and_fingerprint()

    def begin(self) -> None:
        """Nothing is noted of a batch: the last states say all."""

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        """Store these states and remove purged entities, in one commit with the checkpoint."""
        stored = {
            entity_id: None if folded.entity.purged else stored_entity(folded)
            for entity_id, folded in entities.items()
        }
        self._model.apply(stored, position, fingerprint, after=after)
