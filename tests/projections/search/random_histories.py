"""Random histories of entities, and what an index of the log up to a position would hold."""

from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID

from domain.aggregate.entity import Entity
from domain.event_store.entity_reads import RecordedEvent, StreamSpan
from domain.event_store.port import EventStore
from domain.events import (
    EntityChanged,
    EntityCreated,
    EntityPurged,
    EntityRenamed,
    EntityRestored,
    EntitySoftDeleted,
    Event,
)
from domain.reading import history
from projections.feeding.port import Folded
from projections.feeding.projector import Projector
from projections.search.documents.documents import document
from projections.search.engine import SearchEngine
from projections.search.projection import SearchProjection
from tests.brief_engines import brief_engine
from tests.commits import commit
from tests.projections.search.test_oracle import generated


class RandomHistory:
    """Writes the lives of some entities to a log, event by event."""

    def __init__(self, log: EventStore, random: Random, entities: int = 25) -> None:
        self.log = log
        self._random = random
        self._states = random.sample([*generated(random)], 2 * entities)
        self._ids = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(entities)]
        self._now: dict[str, Entity] = {}
        self.purged: set[str] = set()

    def grow(self, events: int) -> None:
        """Add so many events; half of the entities at most are purged."""
        while events:
            entity_id = self._random.choice(self._ids)
            if entity_id not in self.purged:
                self._append(entity_id, self._event(entity_id))
                events -= 1

    def purge(self, entity_id: str) -> None:
        """Purge an entity that was created and not purged."""
        self._append(entity_id, EntityPurged(**self._about(self._now[entity_id].kind)))

    def change(self, entity_id: str) -> None:
        """Give an entity that was created and not purged another body."""
        self._append(entity_id, self._patch(self._now[entity_id]))

    def living(self) -> list[str]:
        """The ids of the entities that were created and not purged."""
        return sorted(self._now)

    def _append(self, entity_id: str, event: Event) -> None:
        before = self._now.pop(entity_id, None)
        version = before.stream_version + 1 if before else 1
        self.log.append([RecordedEvent(entity_id, version, event)])
        if isinstance(event, EntityPurged):
            self.purged.add(entity_id)
        else:
            span = [StreamSpan(entity_id)]
            self._now[entity_id] = next(history.folded(self.log.streams(span)))[0]

    def _event(self, entity_id: str) -> Event:
        entity = self._now.get(entity_id)
        if entity is None:
            state = self._random.choice(self._states)
            name = f"{state.name} {entity_id[:4]}"
            return EntityCreated(
                **self._about(state.kind), name=name, fqn=f"s.{name}", body=state.body
            )
        about = self._about(entity.kind)
        if entity.deleted:
            return EntityRestored(**about)
        way = self._random.random()
        if way < 0.06 and 2 * len(self.purged) < len(self._ids):
            return EntityPurged(**about)
        if way < 0.15:
            return EntitySoftDeleted(**about)
        if way < 0.25:
            name = f"{self._random.choice(self._states).name} {entity_id[:6]}"
            return EntityRenamed(**about, name=name, fqn=f"s.{name}")
        return self._patch(entity)

    def _patch(self, entity: Entity) -> EntityChanged:
        body = self._random.choice(self._states).body
        patch: list[dict[str, Any]] = [
            {"op": "add", "path": f"/{key}", "value": value} for key, value in body.items()
        ]
        return EntityChanged(**self._about(entity.kind), patch=patch)

    def _about(self, kind: str) -> dict[str, Any]:
        at = 1_700_000_000_000 + 3_600_000 * self._random.randint(0, 2_000)
        number = self._random.randint(1, 30)
        return {"kind": kind, "actor": "ann", "at": at, "version": number, "request_id": "r"}

    def states_at(self, position: int) -> Iterator[Folded]:
        """The states that the entities had at a position, but for those purged since."""
        spans = [StreamSpan(entity_id) for entity_id in self.living()]
        for entity, last in history.folded(self.log.streams(spans, upto=position)):
            yield Folded(entity, last)

    def engine_at(self, position: int) -> SearchEngine:
        """An index that was made of these states at once."""
        engine = brief_engine(deadline=300.0)
        states = self.states_at(position)
        commit(engine, {s.entity.id: document(s.entity, s.position) for s in states}, position)
        return engine


def index(engine: SearchEngine, log: EventStore, batch_size: int) -> None:
    """Feed an engine to the end of the log."""
    projector = Projector(SearchProjection(engine), log, batch_size=batch_size)
    while projector.step():
        pass
