"""Random logs of schemas, tables, contracts and edges, made of events without a command."""

import random
from collections.abc import Sequence
from itertools import chain
from typing import Any

from domain.aggregate.entity import Entity, evolve
from domain.edges import EDGE, edge_name
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.events import (
    EntityChanged,
    EntityCreated,
    EntityPurged,
    EntityRestored,
    EntitySoftDeleted,
    EntityStatusChanged,
    Event,
    encode,
)

SCHEMAS = ("s", "t")
STATUSES = ("Draft", "Active", "Deprecated")
LABELS = ("PII.Sensitive", "PII.None", "Tier.Tier1")
HOUR, YEAR = 3_600_000, 31_556_952_000
JUMPING = (*[0] * 20, HOUR, -HOUR, 5 * HOUR, -9 * HOUR, YEAR, -YEAR, -30 * YEAR, 30 * YEAR)
"""Milliseconds by which clocks are wrong that jump."""
OWNERS = tuple(f"00000000-0000-4000-8000-00000000010{n}" for n in range(3))


class RandomLog:
    """Events about a few entities, of which some are purged and made again under their names.

    They follow from the random numbers and from what the log has already, and go on from there.
    """

    def __init__(self, rng: random.Random, log: EventStore, wrong: Sequence[int] = (0,)) -> None:
        """`wrong` are the milliseconds by which the clocks of those who append may be wrong."""
        self._rng = rng
        self._wrong = wrong
        self._log = log
        self._at = 1_700_000_000_000
        self._made = 0
        self.live: dict[str, Entity] = {}
        for recorded in log.read(0, 1_000_000):
            self._at = recorded.event.at
            self._made += recorded.stream_version == 1
            self._taken(self.live.get(recorded.entity_id), recorded)

    def fill(self, steps: int) -> None:
        """Append random events; some of them together."""
        for _ in range(steps):
            some = [self._step() for _ in range(self._rng.randint(1, 4))]
            self._log.append([*chain(*some)])

    def _step(self) -> list[RecordedEvent]:
        rng = self._rng
        if rng.random() < 0.35:
            return self._create()
        if not self.live:
            return []
        entity = rng.choice([*self.live.values()])
        if rng.random() < 0.1:
            # With an entity go the edges that begin or end at it.
            edges = [one for one in self.live.values() if entity.id in one.fqn.split(".")]
            return [self._record(one, EntityPurged) for one in (*edges, entity)]
        if entity.deleted:
            return [self._record(entity, EntityRestored)]
        if rng.random() < 0.2 and entity.kind != EDGE:
            return [self._record(entity, EntitySoftDeleted)]
        if entity.kind == "dataContract" and rng.random() < 0.5:
            status = rng.choice([each for each in STATUSES if each != entity.status])
            return [self._record(entity, EntityStatusChanged, status=status)]
        return [self._record(entity, EntityChanged, patch=[self._operation(entity)])]

    def _operation(self, entity: Entity) -> dict[str, Any]:
        rng = self._rng
        if entity.kind == EDGE or rng.random() < 0.4:
            return {
                "op": "add",
                "path": "/description",
                "value": "x" * rng.choice((0, 3, 9, 5_000)),
            }
        if rng.random() < 0.5:
            owners = [
                {"id": each, "type": "user"} for each in rng.sample(OWNERS, rng.randint(0, 2))
            ]
            return {"op": "add", "path": "/owners", "value": owners}
        labels = [
            {
                "tagFQN": each,
                "source": "Classification",
                "labelType": "Manual",
                "state": "Confirmed",
            }
            for each in rng.sample(LABELS, rng.randint(0, 2))
        ]
        return {"op": "add", "path": "/tags", "value": labels}

    def _create(self) -> list[RecordedEvent]:
        rng = self._rng
        kind = rng.choice(("databaseSchema", "table", "table", "dataContract", EDGE))
        tables = sorted(one.id for one in self.live.values() if one.kind == "table")
        body: dict[str, Any] = {}
        if kind == EDGE:
            if len(tables) < 2:
                return []
            start, end = rng.sample(tables, 2)
            name, fqn = end, edge_name(start, end)
            body = {
                "fromEntity": {"id": start, "type": "table"},
                "toEntity": {"id": end, "type": "table"},
            }
            if rng.random() < 0.5:
                body["pipeline"] = {"id": rng.choice(tables), "type": "table"}
        else:
            name = f"{kind[:1]}{rng.randint(0, 5)}"
            schema = rng.choice(SCHEMAS)
            fqn = f"{schema}.{name}"
            if kind == "table":
                reference = OWNERS[SCHEMAS.index(schema)]
                body["databaseSchema"] = {"id": reference, "type": "databaseSchema"}
            if kind == "dataContract":
                body["entityStatus"] = "Draft"
                body["entity"] = {"id": rng.choice(OWNERS), "type": "table"}
        if any((one.kind, one.fqn) == (kind, fqn) for one in self.live.values()):
            return []
        self._made += 1
        event = self._event(
            EntityCreated,
            kind,
            1,
            name=name,
            fqn=fqn,
            body={key: encode(value) for key, value in body.items()},
        )
        entity_id = f"00000000-0000-7000-8000-{self._made:012}"
        return [self._taken(None, RecordedEvent(entity_id, 1, event))]

    def _event(self, of: Any, kind: str, version: int, **values: Any) -> Event:
        self._at += self._rng.choice((-30_000_000, -500, 0, 1, 1_000, 50_000_000))
        at = max(1, self._at + self._rng.choice(self._wrong))
        event: Event = of(kind=kind, actor="ann", at=at, version=version, request_id="r", **values)
        return event

    def _record(self, entity: Entity, of: Any, **values: Any) -> RecordedEvent:
        event = self._event(of, entity.kind, entity.version + 1, **values)
        return self._taken(entity, RecordedEvent(entity.id, entity.stream_version + 1, event))

    def _taken(self, entity: Entity | None, recorded: RecordedEvent) -> RecordedEvent:
        after = evolve(entity, recorded.event, recorded.entity_id)
        self.live.pop(after.id, None)
        if not after.purged:
            self.live[after.id] = after
        return recorded
