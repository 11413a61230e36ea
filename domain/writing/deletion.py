"""Deletes, purges and restorations: their meaning for an entity and for what goes along with it."""

from collections.abc import Iterator, Sequence

from domain.aggregate import commands
from domain.aggregate.entity import Entity
from domain.errors import Conflict, NotEmpty, NotFound
from domain.event_store.stored import Claim
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ATTACHED
from domain.requests.body_rules import check_sole
from domain.write_context import WriteContext
from domain.writing.entity_cache import ByName
from domain.writing.plans import Change, Plan, PlannerBase, Step, step


class DeletionPlanner(PlannerBase):
    """Plans deletes and restorations."""

    def delete(
        self,
        kind: EntityKind,
        which: str | ByName,
        context: WriteContext,
        *,
        hard: bool,
        recursive: bool,
        attached: bool = True,
    ) -> Plan:
        """Soft-delete the entity, or purge it when `hard`; with its children when `recursive`.

        A soft delete takes along what is attached to the entity, such as its contract, unless
        `attached` is false. Raises NotEmpty when there are other children and `recursive` is false.
        """
        state, doomed = self._doomed(kind, which, hard, recursive, attached)
        command_type = commands.PurgeEntity if hard else commands.SoftDeleteEntity
        at = self._now()
        edges = self._edges_at(state, doomed) if hard else []
        along = [claim.id for claim in (*edges, *doomed)]
        steps = [step(command_type, one, context, at) for one in self._bare(along)]
        own = step(command_type, state, context, at, checked=True)
        change = Change.DELETED if hard else Change.SOFT_DELETED
        return Plan(change if own.events else Change.NO_CHANGE, own, before=steps)

    def purged_before(
        self, kind: EntityKind, which: str | ByName, context: WriteContext, *, recursive: bool
    ) -> list[str]:
        """The ids of what a purge of the entity purges before it, in an order in which it can be.

        Raises what `delete` raises.
        """
        state, doomed = self._doomed(kind, which, hard=True, recursive=recursive, attached=True)
        step(commands.PurgeEntity, state, context, self._now(), checked=True)
        return [claim.id for claim in (*self._edges_at(state, doomed), *doomed)]

    def purge_all(self, entity_ids: Sequence[str], context: WriteContext) -> list[Step]:
        """Purge entities, with all that is below them or at them by now; children come first."""
        below = self._entities.below(*entity_ids)[::-1]
        edges = self._store.claims(ends=[*entity_ids, *(claim.id for claim in below)])
        ids = dict.fromkeys((*(claim.id for claim in (*edges, *below)), *entity_ids))
        at = self._now()
        return [step(commands.PurgeEntity, one, context, at) for one in self._bare([*ids])]

    def _bare(self, entity_ids: Sequence[str]) -> Iterator[Entity]:
        """The newest states of those that are not purged, without the bodies, which nothing here
        looks at.
        """
        return (e for e in self._entities.newest_without_bodies(entity_ids) if not e.purged)

    def _doomed(
        self, kind: EntityKind, which: str | ByName, hard: bool, recursive: bool, attached: bool
    ) -> tuple[Entity, list[Claim]]:
        """The entity, and what goes along with its delete from below it, children first."""
        state = self._entities.existing(kind, which)
        doomed = [claim for claim in self._entities.below(state.id) if hard or not claim.deleted]
        goes_along = frozenset() if hard or not attached else ATTACHED
        stays = any(claim.kind not in goes_along for claim in doomed)
        if stays and not recursive and (hard or not state.deleted):
            raise NotEmpty(
                # The message does not name what is below: the caller may be unable to view it.
                f"{kind.name} {state.fqn!r} is not empty:"
                " recursive=true deletes what is below it too"
            )
        return state, doomed[::-1]

    def _edges_at(self, state: Entity, doomed: list[Claim]) -> list[Claim]:
        """The edges that go with what is gone for good, whoever may delete edges."""
        return self._store.claims(ends=[*(claim.id for claim in doomed), state.id])

    def restore(self, kind: EntityKind, entity_id: str, context: WriteContext) -> Plan:
        """Make a soft-deleted entity live again, with the children deleted by the same request.

        Raises NotFound for an entity that is not soft-deleted, and Conflict below a deleted one.
        """
        state = self._entities.existing(kind, entity_id)
        if not state.deleted:
            raise NotFound(f"{kind.name} instance for {entity_id} is not deleted")
        check_sole(kind, state.body, state.parent_id, self._store.having_live)
        at = self._now()
        own = self.admitted(step(commands.RestoreEntity, state, context, at, checked=True))
        return Plan(Change.RESTORED, own, after=self.restorations(state, context, at))

    def restorations(self, state: Entity, context: WriteContext, at: int) -> list[Step]:
        """Return the steps that restore children deleted together with a soft-deleted entity.

        Raises Conflict where the entity stands below a deleted one.
        """
        parent = self._store.claim_by_id(state.parent_id) if state.parent_id else None
        if state.parent_id is not None and (parent is None or parent.deleted):
            name = parent.fqn if parent else state.parent_id
            raise Conflict(f"{state.kind} {state.fqn!r} stands under {name!r}, which is deleted")
        below = self._entities.newest_of([claim.id for claim in self._entities.below(state.id)])
        # Callers choose request ids, so one may come twice; the time tells them apart.
        cause = state.deleted_by, state.deleted_at
        return [
            step(commands.RestoreEntity, entity, context, at)
            for entity in below
            if (entity.deleted_by, entity.deleted_at) == cause
        ]
