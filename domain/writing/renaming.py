"""Plans of renames: a name of an entity, with all that is named after it or refers to it."""

from collections.abc import Sequence
from functools import partial

import msgspec

from domain.aggregate.commands import ChangeEntity, FollowRenaming, NewName
from domain.aggregate.entity import Entity
from domain.errors import AlreadyExists, InvalidInput
from domain.event_store.stored import Claim
from domain.event_store.writes import Unmentioned
from domain.events import Body
from domain.kinds.bodies.components import TAG_SOURCES
from domain.kinds.registry import ALL_KINDS
from domain.requests.new_names import NewNames, with_new_names
from domain.requests.references import name_is_taken
from domain.write_context import TakesLong, WriteContext
from domain.writing.deletion import DeletionPlanner
from domain.writing.plans import Change, Plan, Step, step

_AT_ONCE = 500
"""Entities that are read together."""


class RenamingPlanner(DeletionPlanner):
    """Plans renames."""

    most_renamed = 20_000
    """The most other entities that one rename changes."""
    most_renamed_bytes = 64_000_000
    """The most bytes of JSON of the events that change these other entities."""

    def rename(self, state: Entity, body: Body, named: NewName, context: WriteContext) -> Plan:
        """Give a live entity a name and a body, and change everything that has the old name.

        The old name is in everything below the entity, and in all that refers to it or to something
        below it, soft-deleted or not. Raises AlreadyExists when another entity has the name or had
        it before, InvalidInput when more would change than one request may, TakesLong where the
        plan has to be brief, and what `decide` raises.
        """
        taken = self._store.claim(state.kind, named.fqn)
        if taken is not None and taken.id != state.id:
            raise AlreadyExists(name_is_taken(taken, named.fqn))
        own = partial(step, ChangeEntity, state, context, checked=True, renaming=named)
        # A rename that is refused anyway fails here, before the whole log is searched.
        own(at=state.updated_at, body=body)
        if context.brief:
            raise TakesLong
        # Before the claims are read: what is created below meanwhile is stored after it.
        start = msgspec.json.encode(state.fqn)[:-1]
        texts = start + b'"', start + b"."
        ids, upto = self._mentions.of(texts)
        below = self._entities.below(state.id)
        at = self._now()
        new = _new_names(state, named, below)
        kind = ALL_KINDS[state.kind]
        ids.update(claim.id for claim in below)
        ids.discard(state.id)
        followers = self._followers(sorted(ids), new, context, at)
        renamed = own(at=at, body=with_new_names(kind, body, new))
        return Plan(Change.UPDATED, renamed, after=followers, unmentioned=Unmentioned(upto, texts))

    def _followers(
        self, ids: Sequence[str], new: NewNames, context: WriteContext, at: int
    ) -> list[Step]:
        """The steps of the entities, among these, that new names change."""

        epoch = self._store.epoch()

        def follow(state: Entity) -> Step | None:
            # The next rename goes on from there, and does not fold whole streams again.
            self._entities.remember([state], epoch)
            if state.purged:
                return None
            named = new.by_id.get(state.id)
            fqn = state.fqn if named is None else named.fqn
            body = with_new_names(ALL_KINDS[state.kind], state.body, new)
            made = step(FollowRenaming, state, context, at, body=body, fqn=fqn)
            # Together the bodies may take gigabytes, and nothing looks at them any more.
            return Step(None, made.events, msgspec.structs.replace(made.after, body={}))

        steps: list[Step] = []
        size = 0
        for start in range(0, len(ids), _AT_ONCE):
            made = self._entities.newest_as(ids[start : start + _AT_ONCE], follow)
            for each in made:
                if each is not None and each.events:
                    steps.append(each)
                    size += sum(len(msgspec.json.encode(one.event)) for one in each.events)
            if len(steps) > self.most_renamed or size > self.most_renamed_bytes:
                raise InvalidInput(
                    f"name: {len(steps)} entities or more, by changes of {size} bytes, would have"
                    " to follow, as they are below it, or refer to it or to something below it; one"
                    f" request may change {self.most_renamed}, by {self.most_renamed_bytes} bytes"
                )
        return steps


def _new_names(state: Entity, named: NewName, below: Sequence[Claim]) -> NewNames:
    """The new names of an entity and of everything below it."""
    beginning = len(state.fqn)
    moved = [(claim, NewName(claim.name, named.fqn + claim.fqn[beginning:])) for claim in below]
    by_id = {state.id: named, **{claim.id: each for claim, each in moved}}
    fqns = [(state.kind, state.fqn, named.fqn)]
    fqns += [(claim.kind, claim.fqn, each.fqn) for claim, each in moved]
    labels = {(TAG_SOURCES[kind], old): fqn for kind, old, fqn in fqns if kind in TAG_SOURCES}
    return NewNames(by_id, labels)
