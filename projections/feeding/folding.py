"""Folds a batch of the log into the states its entities have at its end."""

from collections.abc import Sequence

from domain import history
from domain.entity import Entity, evolve
from domain.event_store.port import EventStore, RecordedEvent
from domain.recent import RecentEntities
from projections.feeding.port import Folded

_CACHED_ENTITIES = 20_000


class Folder:
    """Folds events to states; remembers recent states, so that streams are seldom read again."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._recent = RecentEntities(_CACHED_ENTITIES)

    def fold(self, batch: Sequence[RecordedEvent]) -> dict[str, Folded]:
        """Id -> the last state of each entity that the batch touches, in order of first touch."""
        folded: dict[str, Folded] = {}
        for recorded in batch:
            entity_id = recorded.entity_id
            known = folded.get(entity_id)
            state = known.entity if known else self._before(recorded)
            folded[entity_id] = Folded(evolve(state, recorded.event, entity_id), recorded.position)
        for last in folded.values():
            self._recent.keep(last.entity)
        return folded

    def _before(self, recorded: RecordedEvent) -> Entity | None:
        """The state just before an event, from memory when that has it."""
        if recorded.stream_version == 1:
            return None
        state = self._recent.get(recorded.entity_id)
        if state is not None and state.stream_version == recorded.stream_version - 1:
            return state
        before = recorded.stream_version - 1
        return history.state(self._store, recorded.entity_id, upto=before)
