"""The newest states of entities, as the writer of the log needs them."""

from domain import history
from domain.entity import Entity
from domain.errors import NotFound
from domain.event_store.port import Claim, EventStore
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
        state = self.newest(entity_id)
        assert state is not None
        return state

    def newest(self, entity_id: str) -> Entity | None:
        """The newest state in the log, from the cache and whatever was appended since."""
        state = history.state(self._store, entity_id, known=self._recent.get(entity_id))
        if state is not None:
            self.remember(state)
        return state

    def remember(self, state: Entity) -> None:
        """Keep a state that was just appended or read."""
        self._recent.keep(state)

    def body(self, entity_id: str) -> Body:
        """The body of a parent; what children inherit of it never changes, so a cached one does."""
        cached = self._recent.get(entity_id)
        return (cached or self.known(entity_id)).body

    def below(self, entity_id: str) -> list[Claim]:
        """Everything below an entity, parents before their children."""
        found = self._store.children(entity_id)
        for claim in found:
            found.extend(self._store.children(claim.id))
        return found
