"""The writer: plans what is asked for, appends the plan to the log, and plans anew if it must.

Threads and processes write at the same time. A plan is made from the newest state and held to it by
the log, which refuses what was planned on another: the loser plans again on what the winner left.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from domain.aggregate.entity import Entity
from domain.contracts.changes.rules import Perspective
from domain.errors import (
    CatalogError,
    ConcurrentChange,
    KeyReused,
    NotFound,
    RequestRefused,
    StoreUnavailable,
)
from domain.event_store.appends import prepared
from domain.event_store.port import ANSWERS_KEPT_MS, EventStore
from domain.event_store.writes import Append, Refusal, RememberedAnswer
from domain.kinds.entity_kind import EntityKind
from domain.kinds.ids import new_id
from domain.machine import clock
from domain.reading import history
from domain.write_context import WriteContext
from domain.writing.bulk_put import BulkPut, Done
from domain.writing.entity_cache import ByName, EntityCache
from domain.writing.lineage import LineagePlanner
from domain.writing.planning import Planner
from domain.writing.plans import Change, Plan, Step, append_of
from domain.writing.staged_plans import StagedPlans

P = TypeVar("P", bound="Proposal")
T = TypeVar("T")

Delete = Callable[[Planner, str], Plan]
"""Plans the delete of the entity with an id."""

_ATTEMPTS = 20
_PAUSE_SECONDS = 0.001


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A write that is decided, and done once its append is stored."""

    append: Append
    position: int | None = None
    """Position in the log that includes the write already: there is nothing to append then."""


NOTHING = Proposal(append=prepared([]), position=0)
"""The proposal of a request that stores nothing."""


class EntityProposal(Proposal, frozen=True, kw_only=True):
    """A write that concerns one entity, if need be with those below it."""

    entity: Entity
    """The entity as the write leaves it."""
    before: Entity | None = None
    """The entity before the write; None where the write has created it."""
    change: Change
    dropped: Sequence[str] = ()
    """The labels that a bot gave and that were left out, each with its place."""


class Catalog:
    """Decides writes of entities and of the lineage, and stores them; threads may share it."""

    most_events = 1_000
    """Number of events, or entities, after which a transaction takes no further entity."""

    def __init__(
        self,
        store: EventStore,
        *,
        now: Callable[[], int] = clock.now,
        make_id: Callable[[], str] = new_id,
        gate: Perspective | None = None,
    ) -> None:
        """`now` gives milliseconds since the epoch; `gate` is that of planners."""
        self.store = store
        self._now = now
        self._make_id = make_id
        self._entities = EntityCache(store)
        self._gate = gate
        self.planner = Planner(store, self._entities, now, make_id, gate)
        self.lineage = LineagePlanner(store, self._entities, now, make_id)
        """Plans writes of edges, for `propose_steps`."""

    def purged_before(
        self, kind: EntityKind, which: str | ByName, context: WriteContext, *, recursive: bool
    ) -> list[str]:
        """The ids of what is to be purged before a purge, where one transaction has no room.

        They come in an order in which each can be purged. There are none where one transaction will
        do, or where the purge has been made and its answer is remembered.
        """
        if self._remembered(context) is not None:
            return []
        before = self.planner.purged_before(kind, which, context, recursive=recursive)
        return before if len(before) > self.most_events else []

    def propose(self, plan: Callable[[], Plan], context: WriteContext) -> EntityProposal:
        """Decide a write on the newest state, without storing anything.

        `plan` calls a method of `planner`. Raises its errors and KeyReused.
        """

        def decide(epoch: int) -> tuple[EntityProposal, None]:
            if (remembered := self._remembered(context)) is not None:
                return self._repetition(remembered, context), None
            try:
                planned = plan()
            except CatalogError:
                # What refuses the plan may be the first write under the key, stored since we
                # looked.
                if (remembered := self._remembered(context)) is None:
                    raise
                return self._repetition(remembered, context), None
            return self._proposal(planned, context, epoch), None

        proposal, _ = self._in_one_epoch(decide)
        return proposal

    def propose_steps(self, plan: Callable[[], Sequence[Step]]) -> tuple[Proposal, int]:
        """Decide a write that may concern no entity at all; tells how many it concerns.

        `plan` calls a method of `lineage`. Raises its errors.
        """

        def decide(epoch: int) -> tuple[Proposal, int]:
            steps = plan()
            return self._unless_stored(append_of(steps, epoch)), len(steps)

        return self._in_one_epoch(decide)

    def propose_staged(self, decide: Callable[[StagedPlans], T]) -> tuple[Proposal, T]:
        """Decide on several plans, each on what the ones before it leave, to be stored together.

        `decide` makes the plans and stages them. Raises its errors.
        """

        def decided(epoch: int) -> tuple[Proposal, T]:
            plans = StagedPlans(self.store, self._entities, self._now, self._make_id, self._gate)
            given = decide(plans)
            return self._unless_stored(plans.append(epoch)), given

        return self._in_one_epoch(decided)

    def propose_puts(
        self,
        kind: EntityKind,
        requests: Sequence[Mapping[str, Any]],
        context: WriteContext,
        taken: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda values: values,
    ) -> tuple[Proposal, list[Done | CatalogError]]:
        """Decide on many PUTs together; see `BulkPut.decide`. Raises StoreUnavailable."""

        def decide(epoch: int) -> tuple[Proposal, list[Done | CatalogError]]:
            puts = BulkPut(self.store, self._now, self._make_id, epoch, self._gate)
            results = puts.decide(kind, requests, context, taken)
            return self._unless_stored(puts.append()), results

        return self._in_one_epoch(decide)

    def propose_deletes(
        self, entity_ids: Sequence[str], delete: Delete
    ) -> tuple[Proposal, dict[str, Change | CatalogError]]:
        """Decide on many deletes together, as DELETEs one after the other would.

        `delete` plans the delete of one. Returns the results of the first of these entities, as
        many as one transaction takes. Raises StoreUnavailable.
        """

        def decide(epoch: int) -> tuple[Proposal, dict[str, Change | CatalogError]]:
            planner = Planner(self.store, EntityCache(self.store), self._now, new_id)
            steps, results = _decide_deletes(planner, entity_ids, delete, self.most_events)
            return self._unless_stored(append_of(steps, epoch)), results

        return self._in_one_epoch(decide)

    def until_stored(self, propose: Callable[[], tuple[Proposal, T]]) -> tuple[int, T]:
        """Append what `propose` gives, proposed again when another writer was first.

        Returns the position that includes the write, and what came with the proposal. Raises what
        `propose` raises, StoreUnavailable, and the refusal after too many attempts.
        """
        for attempt in range(_ATTEMPTS):
            proposal, given = propose()
            if proposal.position is not None:
                return proposal.position, given
            (result,) = self.store.append_group([proposal.append])
            if isinstance(result, int):
                self.stored(proposal)
                return result, given
            self.refused(result)
            if attempt == _ATTEMPTS - 1:
                raise result
            time.sleep(_PAUSE_SECONDS * attempt)
        raise AssertionError("unreachable")

    def stored(self, proposal: Proposal) -> None:
        """Remember the states that a write has left; to be called once its append is stored."""
        if proposal.append.epoch is not None:
            self._entities.remember(proposal.append.states, proposal.append.epoch)

    def refused(self, refusal: Refusal) -> None:
        """Forget the states on which a refused proposal may have been decided."""
        if isinstance(refusal, ConcurrentChange):
            self._entities.forget(refusal.entity_ids)

    def _in_one_epoch(self, decide: Callable[[int], tuple[P, T]]) -> tuple[P, T]:
        """A proposal that was decided on what the log has in one epoch, and what comes with it.

        `decide` gets the epoch. A decision that has read in two epochs may rest on two logs, and is
        made again, also when it raised an error. Other errors are raised once the log will not lose
        their reason.
        """
        while True:
            epoch = self.store.epoch()
            try:
                proposal, given = decide(epoch)
            except StoreUnavailable:
                raise
            except Exception:
                self.store.durable_head()
                if self.store.epoch() == epoch:
                    raise
            else:
                # The log itself checks the epoch of an append.
                if proposal.position is None or self.store.epoch() == epoch:
                    return proposal, given

    def _unless_stored(self, append: Append) -> Proposal:
        """The proposal of an append; where it stores nothing, all that it rests on is on disk."""
        return Proposal(append=append, position=None if append.rows else self.store.durable_head())

    def _proposal(self, plan: Plan, context: WriteContext, epoch: int) -> EntityProposal:
        before, entity = plan.own.before, plan.own.after
        answer = None
        if context.idempotency_key is not None:
            answer = RememberedAnswer(
                actor=context.actor,
                key=context.idempotency_key,
                digest=context.digest,
                entity_id=entity.id,
                stream_version=entity.stream_version,
                outcome=plan.change.value,
                at=self._now(),
            )
        append = append_of(plan.steps, epoch, answer, [entity], plan.unmentioned)
        position = None if append.rows or answer is not None else self.store.durable_head()
        return EntityProposal(
            append=append,
            position=position,
            entity=entity,
            before=before,
            change=plan.change,
            dropped=plan.dropped,
        )

    def _remembered(self, context: WriteContext) -> RememberedAnswer | None:
        """Return the answer to the first write under the request's key, if there was one."""
        if context.idempotency_key is None:
            return None
        remembered = self.store.answer(context.actor, context.idempotency_key)
        kept = remembered is not None and self._now() - remembered.at < ANSWERS_KEPT_MS
        return remembered if kept else None

    def _repetition(self, remembered: RememberedAnswer, context: WriteContext) -> EntityProposal:
        """Return the proposal of the first write under an idempotency key."""
        if remembered.digest != context.digest:
            raise KeyReused("this Idempotency-Key was used before for another request")
        upto = remembered.stream_version
        *_, last = history.revisions(self.store, remembered.entity_id, upto=upto)
        return EntityProposal(
            append=prepared([]),
            position=self.store.durable_head(),
            entity=last.entity,
            before=last.before,
            change=Change(remembered.outcome),
        )


def _decide_deletes(
    planner: Planner, entity_ids: Sequence[str], delete: Delete, most: int
) -> tuple[list[Step], dict[str, Change | CatalogError]]:
    """Decide on the deletes of the first of these entities, as many as one transaction takes.

    An entity comes after those that it stands below. `delete` plans the delete of one. A delete
    that is refused changes nothing, and the others go on without it. Returns what happens to the
    entities, without their bodies, and the results by id in the same order. Raises
    StoreUnavailable.
    """
    steps: dict[str, Step] = {}
    results: dict[str, Change | CatalogError] = {}
    events = 0
    for entity_id in entity_ids:
        if max(events, len(results)) >= most:
            break
        if entity_id in steps:
            purged = steps[entity_id].after.purged
            results[entity_id] = Change.DELETED if purged else Change.SOFT_DELETED
            continue
        try:
            plan = delete(planner, entity_id)
        except NotFound:
            # Somebody else has purged it, or it went with what it stood below.
            results[entity_id] = Change.NO_CHANGE
        except RequestRefused as error:
            results[entity_id] = error
        else:
            results[entity_id] = plan.change
            for step in plan.steps:
                events += len(step.events)
                # The bodies of a thousand wide tables would take gigabytes.
                steps[step.after.id] = Step(None, step.events, replace(step.after, body={}))
    return [*steps.values()], results
