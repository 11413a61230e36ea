"""Random logs of entities of all kinds, which refer to one another."""

import random
from itertools import count
from typing import Any
from uuid import UUID

from domain.aggregate.entity import STATUS, Entity, evolve
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.events import (
    ContractJudged,
    EntityChanged,
    EntityCreated,
    EntityPurged,
    EntityRenamed,
    EntityRestored,
    EntitySoftDeleted,
    EntityStatusChanged,
    Event,
    encode,
)
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ALL_KINDS, KINDS, TYPE

PILLAR = "pillar"
"""The name of the first entity of each kind, to which others refer; it keeps it, and stays."""
LABELS = ("PII.Sensitive", "PII.None", "Tier.Tier1", PILLAR)


class LogOfAllKinds:
    """Events about a few entities of each kind, without a command."""

    def __init__(self, rng: random.Random, log: EventStore) -> None:
        self._rng = rng
        self._log = log
        self._numbers = count(1)
        self._live: dict[str, Entity] = {}
        self.pillars = {kind: str(UUID(int=n)) for n, kind in enumerate((*KINDS, TYPE.name), 1)}
        """Kind -> id of its pillar."""

    def fill(self, events: int) -> None:
        """Append the pillars, and then so many events; some of them together."""
        self._log.append(
            [self._create(ALL_KINDS[kind], each, PILLAR) for kind, each in self.pillars.items()]
        )
        for _ in range(events):
            self._log.append([self._step() for _ in range(self._rng.choice((1, 1, 5)))])

    def values(self, kind: EntityKind, parameter: str) -> list[str]:
        """Values of a filter of a kind's list that entities have."""
        if (key := kind.list_filters[parameter]) == "tags":
            return [*LABELS, "PII", "Tier1"]
        by_id = [self.pillars[each] for each in self._referred(kind, key)]
        if parameter in kind.lists.by_id:
            return by_id
        return [PILLAR, *by_id] if parameter in kind.common_filters else [PILLAR]

    def _step(self) -> RecordedEvent:
        rng, fixed = self._rng, {*self.pillars.values()}
        kind = rng.choice([*ALL_KINDS.values()])
        some = [one for one in self._live.values() if one.kind == kind.name]
        entity = rng.choice(some) if some and rng.random() < 0.7 else None
        if entity is None:
            kind = KINDS.get(kind.name) or TYPE
            return self._create(kind, str(UUID(int=1_000 + next(self._numbers))))
        way = rng.random()
        if way < 0.15 and entity.id not in fixed:
            return self._record(entity, EntityPurged)
        if entity.deleted:
            return self._record(entity, EntityRestored)
        if way < 0.3:
            return self._record(entity, EntitySoftDeleted)
        if way < 0.45 and entity.id not in fixed:
            name = f"n{rng.randint(0, 4)}"
            fqn = f"{name}.{next(self._numbers)}"
            return self._record(entity, EntityRenamed, name=name, fqn=fqn)
        if way < 0.6 and kind.statuses:
            others = [each for each in kind.statuses if each != entity.status]
            return self._record(entity, EntityStatusChanged, status=rng.choice(others))
        if way < 0.7 and kind.agreement:
            verdict = rng.choice(("Success", "Failed"))
            told = {"position": 1, "verdict": verdict, "reasons": ""}
            return self._record(entity, ContractJudged, **told)
        body = self._body(kind)
        patch = [{"op": "add", "path": f"/{key}", "value": value} for key, value in body.items()]
        return self._record(entity, EntityChanged, patch=patch)

    def _create(self, kind: EntityKind, entity_id: str, name: str | None = None) -> RecordedEvent:
        name, fqn = name or f"n{self._rng.randint(0, 4)}", name or f"s.{next(self._numbers)}"
        body = self._body(kind) | ({STATUS: kind.statuses[0]} if kind.statuses else {})
        encoded = {key: encode(value) for key, value in body.items()}
        event = self._event(EntityCreated, kind.name, 1, name=name, fqn=fqn, body=encoded)
        return self._taken(None, RecordedEvent(entity_id, 1, event))

    def _body(self, kind: EntityKind) -> dict[str, Any]:
        """What lists are narrowed by, some of it, and a text, which may be too long to be kept."""
        rng = self._rng
        body: dict[str, Any] = {"description": "x" * rng.choice((0, 3, 5_000))}
        for key in {*kind.list_filters.values(), *kind.also_in}:
            if key == "tags":
                body[key] = [
                    {"tagFQN": each, "source": "Classification"}
                    for each in rng.sample(LABELS, rng.randint(0, 2))
                ]
            elif rng.random() < 0.7 and (kinds := self._referred(kind, key)):
                of = rng.choice(kinds)
                named = {"name": PILLAR, "fullyQualifiedName": PILLAR}
                reference = {"id": self.pillars[of], "type": of, **named}
                body[key] = [reference] if key in kind.arrays else reference
        return body

    def _referred(self, kind: EntityKind, key: str) -> tuple[str, ...]:
        return kind.refers_to.get(key) or ("table", "topic")

    def _event(self, of: Any, kind: str, version: int, **values: Any) -> Event:
        at = 1_700_000_000_000 + self._rng.randint(-(10**12), 10**11)
        event: Event = of(kind=kind, actor="ann", at=at, version=version, request_id="r", **values)
        return event

    def _record(self, entity: Entity, of: Any, **values: Any) -> RecordedEvent:
        version = entity.version + (of is not ContractJudged)
        event = self._event(of, entity.kind, version, **values)
        return self._taken(entity, RecordedEvent(entity.id, entity.stream_version + 1, event))

    def _taken(self, entity: Entity | None, recorded: RecordedEvent) -> RecordedEvent:
        after = evolve(entity, recorded.event, recorded.entity_id)
        self._live.pop(after.id, None)
        if not after.purged:
            self._live[after.id] = after
        return recorded
