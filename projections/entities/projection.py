"""The projection that keeps the sorted read model equal to the log."""

from collections.abc import Mapping, Sequence

from domain.event_store.entity_reads import RecordedEvent
from domain.reading.moments import Moment, moments_of
from projections.entities.port import SortedReadModel
from projections.entities.replaced_states import entity_change
from projections.feeding.port import Checkpoint, Folded


class EntityProjection:
    """Feeds the states of entities to a sorted read model."""

    name = "entities"

    def __init__(self, model: SortedReadModel) -> None:
        self._model = model
        self._moments: list[Moment] = []
        """Those of the batch under way."""

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; 0 and "" before the first commit."""
        return self._model.checkpoint_and_fingerprint()

    def begin(self, batch: Sequence[RecordedEvent]) -> None:
        """Note the moments of a batch."""
        self._moments = [*moments_of(batch)]

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        """Store these states, keep those they replace and remove purged entities, in one commit."""
        changes = {entity_id: entity_change(folded) for entity_id, folded in entities.items()}
        moments = [each for each in self._moments if each[1] <= position]
        self._moments = []
        self._model.apply(changes, position, fingerprint, after=after, moments=moments)
