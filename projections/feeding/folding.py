"""Folds a batch of the log into the states its entities have at its end."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from domain.aggregate.entity import Entity, evolve
from domain.event_store.entity_reads import RecordedEvent, StreamSpan
from domain.event_store.port import EventStore
from domain.reading import history
from domain.writing.recent import RecentEntities
from projections.feeding.port import Folded, Note

FOLDED_BYTES = 32_000_000
"""Bytes of bodies that the states of one commit have together, those that it replaces included;
about, as the last may be larger."""
_CACHED_ENTITIES = 20_000


StatesAt = Mapping[tuple[str, int], Entity]
"""Id and stream version -> the state of the entity after that event."""


class Folder:
    """Folds events to states; remembers recent states, so that streams are seldom read again."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._recent = RecentEntities(_CACHED_ENTITIES)

    def fold(
        self,
        batch: Sequence[RecordedEvent],
        note: Note | None = None,
        states: StatesAt = MappingProxyType({}),
    ) -> tuple[dict[str, Folded], int]:
        """Id -> the last state of each entity that the batch touches, in order of first touch.

        Returns with the states how many events of the batch were folded: at least one, and no more
        once the states have FOLDED_BYTES together, for a small event may be of a large entity.
        `note` is called for each of these events. Without `note`, a state in `states` is used
        instead of folding the event that leads to it.
        """
        reached: dict[str, list[Folded]] = {}
        before: dict[str, Folded] = {}
        states = states if note is None else {}
        earlier = self._read_earlier(batch, states)
        size = number = 0
        for recorded in batch:
            number += 1
            entity_id = recorded.entity_id
            known = reached.setdefault(entity_id, [])
            after = states.get((entity_id, recorded.stream_version))
            if after is None:
                last = known[-1] if known else self._before(recorded, earlier)
                state = None if last is None else last.entity
                after = evolve(state, recorded.event, entity_id)
                if note is not None:
                    note(state, after)
                    if last is not None and not known:
                        before[entity_id] = last
            known.append(Folded(after, recorded.position))
            size += sum(map(len, after.body.values()))
            if size >= FOLDED_BYTES:
                break
        folded = {
            entity_id: Folded(last.entity, last.position, tuple(replaced), before.get(entity_id))
            for entity_id, (*replaced, last) in reached.items()
        }
        for last in folded.values():
            self._recent.keep(last.entity, last.position)
        return folded, number

    def _read_earlier(
        self, batch: Sequence[RecordedEvent], states: StatesAt
    ) -> Iterator[tuple[Entity, int]]:
        """The states before the batch that are not remembered, read as they are taken."""
        first: dict[str, RecordedEvent] = {}
        for recorded in batch:
            first.setdefault(recorded.entity_id, recorded)
        spans = [
            StreamSpan(entity_id, upto=recorded.stream_version - 1)
            for entity_id, recorded in first.items()
            if recorded.stream_version > 1
            and (entity_id, recorded.stream_version) not in states
            and self._remembered(recorded) is None
        ]
        return history.folded(self._store.streams(spans))

    def _before(
        self, recorded: RecordedEvent, earlier: Iterator[tuple[Entity, int]]
    ) -> Folded | None:
        """The state just before an event; the next of those read when it is not remembered."""
        if recorded.stream_version == 1:
            return None
        state, position = self._remembered(recorded) or next(earlier, (None, 0))
        due = recorded.entity_id, recorded.stream_version - 1
        if state is None or (state.id, state.stream_version) != due:
            raise ValueError(f"the log has no whole stream of {due[0]} up to version {due[1]}")
        return Folded(state, position)

    def _remembered(self, recorded: RecordedEvent) -> tuple[Entity, int] | None:
        """The state just before an event and its position, None when it is not in memory."""
        known = self._recent.get_with_position(recorded.entity_id)
        fits = known is not None and known[0].stream_version == recorded.stream_version - 1
        return known if fits else None
