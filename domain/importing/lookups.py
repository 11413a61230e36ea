"""What the lines of an import refer to: names, parents and states, looked up for many at once."""

from collections.abc import Collection, Iterable

from domain.aggregate.entity import Entity
from domain.event_store.claims import claim_of
from domain.event_store.port import Claim, EventStore, StreamSpan
from domain.events import Body
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.reading import history
from domain.requests.attachments import HeldColumns
from domain.requests.drafts import Draft, SentDraft

MAX_REMEMBERED = 100_000
"""Entities whose names are remembered between two transactions of an import."""

MOST_COLUMNS = 100_000
"""Columns that are remembered at a time, about."""
_INHERITED = tuple({key: None for kind in KINDS.values() for key in kind.inherits})
_PASS_ON = frozenset(
    parent
    for kind in KINDS.values()
    if kind.inherits
    for key in kind.parents
    for parent in kind.references[kind.attribute_of[key]]
)
"""Kinds whose entities may have children that take something over."""


def _inheritable(entity: Entity) -> Body:
    """The part of a parent's body that its children may take over.

    The bytes are copied: those of a body are a view on all that it was read with.
    """
    body = entity.body
    return {key: body[key].copy() for key in _INHERITED if key in body}


class ImportNames:
    """Claims, and bodies of parents: those on their way into the log before those in it."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._by_name: dict[tuple[str, str], Claim] = {}
        self._by_id: dict[str, Claim] = {}
        self._bodies: dict[str, Body] = {}
        self._columns: dict[str, HeldColumns] = {}
        self._describable: dict[str, None] = {}
        """Ids of the entities that lines yet to come describe."""
        self._free: set[tuple[str, str] | str] = set()

    def foresee(
        self,
        names: Collection[tuple[str, str]],
        ids: Iterable[str],
        referred: Iterable[tuple[str, str]] = (),
    ) -> list[Claim]:
        """Look names (pairs of kind and qualified name) and ids up together.

        Also `referred`, the names that lines refer to. Returns the claims on `names` that are held.
        Names and ids that nobody has count as free until the next call. Raises StoreUnavailable.
        """
        self._free.clear()
        new_names = {key for key in names if key not in self._by_name}
        new_names.update(key for key in referred if key not in self._by_name)
        new_ids = {key for key in ids if key not in self._by_id}
        self._keep(self._store.claims(names=new_names, ids=new_ids))
        free_ids = [key for key in new_ids if key not in self._by_id]
        purged = self._store.streams([StreamSpan(key, upto=1) for key in free_ids])
        self._free.update(key for key in new_names if key not in self._by_name)
        self._free.update(free_ids)
        self._free.difference_update(recorded.entity_id for recorded in purged)
        return [self._by_name[key] for key in names if key in self._by_name]

    def is_used(self, entity_id: str) -> bool:
        """Whether some entity has this id, had it until it was purged, or is about to have it."""
        if entity_id in self._by_id:
            return True
        return entity_id not in self._free and any(self._store.stream(entity_id, upto=1))

    def look_ahead(self, kind: EntityKind, draft: Draft | SentDraft) -> None:
        """Nothing: what the lines refer to is mostly remembered, and `foresee` reads the rest."""

    def claim(self, kind: str, fqn: str) -> Claim | None:
        """The claim on a qualified name, stored or about to be; None when no entity has it."""
        key = kind, fqn
        claim = self._by_name.get(key)
        if claim is None and key not in self._free:
            self._keep(self._store.claims(names=[key]))
            claim = self._by_name.get(key)
            if claim is None:
                self._free.add(key)
        return claim

    def claim_by_id(self, entity_id: str) -> Claim | None:
        """The claim of an entity, stored or about to be; None when the entity holds no name."""
        claim = self._by_id.get(entity_id)
        if claim is None and entity_id not in self._free:
            # Not free when it has no claim: it may be the id of a purged entity.
            self._keep(self._store.claims(ids=[entity_id]))
            claim = self._by_id.get(entity_id)
        return claim

    def _keep(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            self._by_name[claim.kind, claim.fqn] = self._by_id[claim.id] = claim

    def body(self, entity_id: str) -> Body:
        """What children may take over of the body of a parent, which must exist."""
        if entity_id not in self._bodies:
            entity = history.state(self._store, entity_id)
            assert entity is not None
            self._bodies[entity_id] = _inheritable(entity)
        return self._bodies[entity_id]

    def held(self, names: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Those of the names (pairs of kind and qualified name) that are held, with the ids."""
        if new_names := [key for key in names if key not in self._by_name]:
            self._keep(self._store.claims(names=new_names))
        return {key: self._by_name[key].id for key in names if key in self._by_name}

    def foresee_columns(self, entity_ids: Iterable[str]) -> None:
        """Say whose columns lines may ask for, so that they are read together once one does."""
        self._describable = dict.fromkeys(entity_ids)

    def columns(self, entity_id: str) -> HeldColumns:
        """The columns that an entity has in the log, in which it must be."""
        if entity_id not in self._columns:
            self._columns.clear()
            self._describable.pop(entity_id, None)
            spans = [StreamSpan(each) for each in (entity_id, *self._describable)]
            room = MOST_COLUMNS
            for state, _ in history.folded(self._store.streams(spans)):
                self._columns[state.id] = held = HeldColumns.of(state)
                self._describable.pop(state.id, None)
                room -= len(held.names or ())
                if room < 0:
                    break
        return self._columns[entity_id]

    def expect(self, entity: Entity) -> None:
        """Count on an entity as the next append will leave it."""
        self._columns.pop(entity.id, None)
        self._keep([claim_of(entity)])
        if entity.kind in _PASS_ON:
            self._bodies[entity.id] = _inheritable(entity)

    @property
    def are_many(self) -> bool:
        """Whether more than MAX_REMEMBERED entities are remembered."""
        return len(self._by_id) > MAX_REMEMBERED

    def trim(self) -> None:
        """Forget all that is remembered when there is much of it.

        Only right after an append, when the store knows everything.
        """
        if self.are_many:
            self.forget()

    def forget(self) -> None:
        """Forget all that is remembered, so that it is looked up again."""
        self._free.clear()
        self._by_name.clear()
        self._by_id.clear()
        self._bodies.clear()
        self._columns.clear()


class StatesAhead:
    """States of the entities that the lines of a batch name, read together in their order.

    No more is held than one read of the log, however large the entities are.
    """

    def __init__(self, store: EventStore, entity_ids: Iterable[str]) -> None:
        self._store = store
        self._waiting = dict.fromkeys(entity_ids)
        self._states = history.folded(store.streams([StreamSpan(one) for one in self._waiting]))

    def get(self, entity_id: str) -> Entity | None:
        """The newest state of an entity; those before it in the order are passed over."""
        if entity_id not in self._waiting:
            return history.state(self._store, entity_id)
        for state, _ in self._states:
            del self._waiting[state.id]
            if state.id == entity_id:
                return state
        return None


class AttachedAhead:
    """Which entities have something attached, looked up together for those that lines name.

    What lines do counts at once, though readers of the log may not find it there yet.
    """

    def __init__(self, store: EventStore, entity_ids: Collection[str]) -> None:
        self._store = store
        self._foreseen = entity_ids
        self._known: dict[tuple[str, str], bool] = {}
        """Kind and id of its parent -> whether something of the kind is live there."""
        self._born: set[str] = set()

    def having_live(self, kind: str, parent_ids: Collection[str]) -> set[str]:
        """Those of the ids to which something of a kind is attached; see `EntityReads`."""
        asked = [one for one in parent_ids if one not in self._born]
        if any((kind, one) not in self._known for one in asked):
            new_ids = {one for one in (*asked, *self._foreseen) if (kind, one) not in self._known}
            having = self._store.having_live(kind, new_ids)
            self._known.update(((kind, one), one in having) for one in new_ids)
        return {one for one in parent_ids if self._known.get((kind, one))}

    def count(self, entity: Entity) -> None:
        """Count an entity in that the last lines, or those before them, leave so."""
        if KINDS[entity.kind].agreement is not None and entity.parent_id is not None:
            self._known[entity.kind, entity.parent_id] = True

    def bear(self, entity: Entity) -> None:
        """Say that a line creates an entity, so that the log has nothing below it."""
        self._born.add(entity.id)
