"""A log of many glossaries, and what lists of them show at each of its positions."""

import random
from bisect import bisect_right
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from domain.aggregate.entity import Entity, evolve
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.events import (
    EntityChanged,
    EntityCreated,
    EntityPurged,
    EntityRestored,
    EntitySoftDeleted,
    encode,
)

Shown = tuple[str, str, float, str]
"""Name, id, version and description, by which a glossary is told from what it was before."""
_BEGUN = 1_700_000_000_000
_TOGETHER = 500
"""Events of one append."""


def fill(directory: Path, rng: random.Random, glossaries: int) -> None:
    """Make a log of so many glossaries, many of which met something afterwards."""
    made = _Made(rng)
    created = 0
    while created < glossaries:
        # The last glossaries are created amid changes of others.
        if created < glossaries // 2 or rng.random() < 0.5:
            made.create(created)
            created += 1
        else:
            made.change()
    with closing(open_event_log(directory / "events.db")) as log:
        for start in range(0, len(made.events), _TOGETHER):
            log.append(made.events[start : start + _TOGETHER])


class _Made:
    """Events about glossaries."""

    def __init__(self, rng: random.Random) -> None:
        self.events: list[RecordedEvent] = []
        self._rng = rng
        self._live: list[Entity] = []

    def create(self, number: int) -> None:
        """Create a glossary, in no order of names or ids."""
        name = f"g{self._rng.getrandbits(32):08x}{number}"
        entity_id = f"{self._rng.getrandbits(32):08x}-0000-7000-8000-{number:012}"
        body = {"description": encode("new")}
        self._take(None, entity_id, EntityCreated, name=name, fqn=name, body=body)

    def change(self) -> None:
        """Change, delete, restore or purge one of the glossaries."""
        entity = self._live.pop(self._rng.randrange(len(self._live)))
        way = self._rng.random()
        if way < 0.05:
            self._take(entity, entity.id, EntityPurged)
        elif entity.deleted:
            self._take(entity, entity.id, EntityRestored)
        elif way < 0.2:
            self._take(entity, entity.id, EntitySoftDeleted)
        else:
            patch = [{"op": "replace", "path": "/description", "value": f"{way}"}]
            self._take(entity, entity.id, EntityChanged, patch=patch)

    def _take(self, before: Entity | None, entity_id: str, of: Any, **values: Any) -> None:
        version, number = (before.version + 1, before.stream_version + 1) if before else (1, 1)
        # Some events are of the same millisecond.
        at = _BEGUN + len(self.events) * 3 // 4
        event = of(kind="glossary", actor="ann", at=at, version=version, request_id="r", **values)
        self.events.append(RecordedEvent(entity_id, number, event))
        after = evolve(before, event, entity_id)
        if not after.purged:
            self._live.append(after)


class PastOfGlossaries:
    """What the log says of all glossaries at each position, as far as it was read."""

    def __init__(self, log: EventStore) -> None:
        self._log = log
        self.head = 0
        self.times: list[int] = []
        """The greatest time up to each event."""
        self._now: dict[str, Entity] = {}
        self._lives: defaultdict[str, list[tuple[int, Entity]]] = defaultdict(list)
        self.purged: dict[str, int] = {}
        """Id -> position of the purge."""
        self.read()

    def read(self) -> None:
        """Read what was appended since."""
        while batch := self._log.read(self.head, 10_000):
            for recorded in batch:
                self.times.append(max([recorded.event.at, *self.times[-1:]]))
                key, before = recorded.entity_id, self._now.get(recorded.entity_id)
                after = self._now[key] = evolve(before, recorded.event, key)
                if after.kind == "glossary":
                    self._lives[key].append((recorded.position, after))
                    if after.purged:
                        self.purged[key] = recorded.position
            self.head = batch[-1].position

    def position(self, time: int) -> int:
        """The position that a time stands for; events have the positions from 1 on."""
        return bisect_right(self.times, time)

    @property
    def ids(self) -> list[str]:
        """The ids of all glossaries that ever were."""
        return [*self._lives]

    def state(self, entity_id: str, position: int) -> Entity | None:
        """A glossary as it was; None where it was not there yet, or not any more."""
        lives = self._lives[entity_id]
        place = bisect_right(lives, position, key=lambda life: life[0])
        return lives[place - 1][1] if place and not lives[place - 1][1].purged else None

    def listed(self, position: int) -> list[Shown]:
        """The list of glossaries as it was at a position, whatever was purged since."""
        states = (self.state(each, position) for each in self._lives)
        return sorted(shown(each) for each in states if each and not each.deleted)


def shown(entity: Entity) -> Shown:
    """A glossary as the log has it."""
    described = msgspec.json.decode(entity.body["description"])
    return entity.name, entity.id, entity.version / 10, described


def answered(body: Any) -> Shown:
    """A glossary as an answer has it."""
    return body["name"], body["id"], body["version"], body["description"]
