"""The newest states of entities, as writers to the log need them."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from domain.aggregate.entity import Entity
from domain.errors import NotFound
from domain.event_store.entity_reads import EntityReads, StreamSpan, lost_nothing
from domain.event_store.stored import Claim
from domain.events import Body
from domain.kinds.entity_kind import EntityKind
from domain.reading import history
from domain.writing.recent import RecentEntities

T = TypeVar("T")
_REMEMBERED = 4_096
"""Entities that are remembered at most."""


class ByName(msgspec.Struct, frozen=True):
    """The entity that holds a qualified name when the write is planned."""

    fqn: str


class EntityCache:
    """Reads entities from the log; what was read is remembered, and the log read on from there.

    Threads may share it: a remembered state may be an old one, and never decides more than how
    much of a stream is read. Nothing is remembered that the log may have lost.
    """

    def __init__(self, store: EntityReads, below: "EntityCache | None" = None) -> None:
        """`below` is a cache over the log on which `store` stands, whose states are known too."""
        self._store = store
        self._below = below
        self._recent = RecentEntities(_REMEMBERED)
        self._epoch = store.epoch()
        """The epoch from before any of the remembered states was read or planned."""
        self._lock = threading.Lock()

    def existing(self, kind: EntityKind, which: str | ByName) -> Entity:
        """The entity of this kind and id or name, live or soft-deleted; raises NotFound."""
        if isinstance(which, ByName):
            state, sought = self.holder(kind, which.fqn), which.fqn
        else:
            state, sought = self.newest(which), which
        if state is None or state.purged or state.kind != kind.name:
            raise NotFound(f"{kind.name} instance for {sought[:80]} not found")
        return state

    def holder(self, kind: EntityKind, fqn: str) -> Entity | None:
        """The entity, live or soft-deleted, that holds a qualified name."""
        claim = self._store.claim(kind.name, fqn)
        return self.newest(claim.id) if claim else None

    def known(self, entity_id: str) -> Entity:
        """The state of an entity that holds a claim."""
        (state,) = self.newest_of([entity_id])
        return state

    def newest(self, entity_id: str) -> Entity | None:
        """The newest state in the log, from what is remembered and whatever was appended since."""
        return next(iter(self.newest_of([entity_id])), None)

    def newest_of(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The newest states of several entities, in this order; those without events left out."""
        epoch = self._store.epoch()
        newest = self.newest_as(entity_ids, lambda state: state)
        self.remember(newest, epoch)
        return newest

    def newest_without_bodies(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The newest states of several entities without their bodies, which may take gigabytes."""
        return self.newest_as(entity_ids, lambda state: replace(state, body={}))

    def newest_as(self, entity_ids: Sequence[str], kept: Callable[[Entity], T]) -> list[T]:
        """Apply `kept` to the newest state of each entity as soon as the state has been read."""
        states = {entity_id: self._remembered(entity_id) for entity_id in entity_ids}
        made: dict[str, T] = {}
        known = {entity_id: state for entity_id, state in states.items() if state is not None}
        spans = [
            StreamSpan(entity_id, state.stream_version if state else 0)
            for entity_id, state in states.items()
        ]
        for state, _ in history.folded(self._store.streams(spans), known):
            made[state.id] = kept(state)
            known.pop(state.id, None)
        made.update((entity_id, kept(state)) for entity_id, state in known.items())
        return [made[entity_id] for entity_id in states if entity_id in made]

    def remember(self, states: Iterable[Entity], epoch: int) -> None:
        """Keep states that were just appended or read, unless newer ones are remembered.

        `epoch` is that of the log before they were planned or read: states of an earlier one are
        not kept.
        """
        with self._lock:
            self._begin_epoch()
            if epoch != self._epoch:
                return
            for state in states:
                held = self._recent.get(state.id)
                if held is None or held.stream_version <= state.stream_version:
                    self._recent.keep(state, epoch)

    def forget(self, entity_ids: Sequence[str]) -> None:
        """Drop the states of these entities, which rest on events that the log may not have."""
        with self._lock:
            for entity_id in entity_ids:
                self._recent.drop(entity_id)

    def body(self, entity_id: str) -> Body:
        """The body of a parent, which may be an old one.

        The keys that children inherit from their parent change only by a rename, so only a state
        from before the last rename is brought up to date.
        """
        held = self._remembered(entity_id, since_renames=True)
        return (held or self.known(entity_id)).body

    def below(self, *entity_ids: str) -> list[Claim]:
        """The claims of everything below some entities, parents before their children."""
        below: list[Claim] = []
        level = self._store.claims(parents=entity_ids)
        while level:
            below += level
            level = self._store.claims(parents=[claim.id for claim in level])
        return below

    def _remembered(self, entity_id: str, *, since_renames: bool = False) -> Entity | None:
        """The state remembered of an entity; with `since_renames` only if no rename came since."""
        with self._lock:
            self._begin_epoch()
            held, epoch = self._recent.get_with_position(entity_id) or (None, 0)
            if since_renames and epoch != self._epoch:
                held = None
        if held is None and self._below is not None:
            return self._below._remembered(entity_id, since_renames=since_renames)
        return held

    def _begin_epoch(self) -> None:
        """Forget everything if the log may have lost some of it; the caller has the lock."""
        epoch = self._store.epoch()
        if not lost_nothing(self._epoch, epoch):
            self._recent = RecentEntities(_REMEMBERED)
        self._epoch = epoch
