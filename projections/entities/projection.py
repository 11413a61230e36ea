"""The projection that keeps the sorted read model equal to the log."""

from collections import Counter
from collections.abc import Mapping, Sequence

from domain.event_store.entity_reads import RecordedEvent
from domain.reading.moments import DAY, moments_of
from projections.entities.port import SortedReadModel
from projections.entities.replaced_states import entity_change
from projections.feeding.port import Checkpoint, Folded


class EntityProjection:
    """Feeds the states of entities to a sorted read model."""

    name = "entities"

    def __init__(self, model: SortedReadModel) -> None:
        self._model = model
        self._batch: Sequence[RecordedEvent] = ()
        """The batch under way."""

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of the log there; 0 and "" before the first commit."""
        return self._model.checkpoint_and_fingerprint()

    def begin(self, batch: Sequence[RecordedEvent]) -> None:
        """Keep a batch, for its times."""
        self._batch = batch

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        """Store these states, keep those they replace and remove purged entities, in one commit."""
        changes = {entity_id: entity_change(folded) for entity_id, folded in entities.items()}
        applied = [each for each in self._batch if each.position <= position]
        self._batch = ()
        self._model.apply(
            changes,
            position,
            fingerprint,
            after=after,
            moments=[*moments_of(applied)],
            events=Counter((each.event.at // DAY, each.event.kind) for each in applied),
        )
