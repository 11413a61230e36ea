"""The newest states of entities, as the writer of the log needs them."""

from collections.abc import Sequence

from domain import history
from domain.entity import Entity
from domain.errors import NotFound
from domain.event_store.port import Claim, EventStore, StreamSpan
from domain.events import Body
from domain.kinds import EntityKind
from domain.recent import RecentEntities
from domain.requests import ByName

_REMEMBERED = 4_096


class States:
    """Reads entities from the log; what it has read is remembered, and read on from there.

    Not to be shared between threads without a lock.
    """

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._recent = RecentEntities(_REMEMBERED)

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
        """The newest state in the log, from the cache and whatever was appended since."""
        return next(iter(self.newest_of([entity_id])), None)

    def newest_of(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The newest states of several entities, in this order; those without events left out."""
        states = {entity_id: self._recent.get(entity_id) for entity_id in entity_ids}
        known = {entity_id: state for entity_id, state in states.items() if state is not None}
        spans = [
            StreamSpan(entity_id, state.stream_version if state else 0)
            for entity_id, state in states.items()
        ]
        for state, _ in history.folded(self._store.streams(spans), known):
            states[state.id] = state
        newest = [state for state in states.values() if state is not None]
        for state in newest:
            self.remember(state)
        return newest

    def remember(self, state: Entity) -> None:
        """Keep a state that was just appended or read."""
        self._recent.keep(state)

    def forget(self, entity_ids: Sequence[str]) -> None:
        """Read these entities anew: the log may not have what is remembered of them."""
        for entity_id in entity_ids:
            self._recent.drop(entity_id)

    def body(self, entity_id: str) -> Body:
        """The body of a parent; what children inherit of it never changes, so a cached one does."""
        cached = self._recent.get(entity_id)
        return (cached or self.known(entity_id)).body

    def below(self, entity_id: str) -> list[Claim]:
        """Everything below an entity, parents before their children."""
        below: list[Claim] = []
        level = self._store.children(entity_id)
        while level:
            below += level
            level = self._store.claims(parents=[claim.id for claim in level])
        return below
