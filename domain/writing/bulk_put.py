"""Creates or updates many entities in one transaction, as PUTs one after the other would."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.contracts.changes.rules import Perspective
from domain.errors import CatalogError, InvalidInput, RequestRefused
from domain.event_store.entity_reads import EntityReads
from domain.event_store.writes import Append
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.requests import drafts
from domain.requests.drafts import Draft, expected_name
from domain.requests.references import Name, add_looked_up, names_and_ids
from domain.write_context import WriteContext
from domain.writing.entity_cache import EntityCache
from domain.writing.planning import Planner
from domain.writing.plans import Change, Plan, Step, append_of, check_joined, state_bytes
from domain.writing.staged_log import StagedLog

MAX_REQUESTS = 1_000
"""The most entities of one transaction."""
MAX_STATE_BYTES = 100_000_000
"""Bytes of JSON of the entities that one request changes, each counted after each of its changes.

A small change of a large entity is a small event, but lists and search index the whole entity anew.
"""

_SHOWN = 10
"""Labels that were left out which a message names."""


class Done(msgspec.Struct, frozen=True):
    """A request that was accepted: the entity afterwards, and the kind of change."""

    entity: Entity
    change: Change
    dropped: Sequence[str] = ()
    """The labels that a bot gave and that were left out, each with its place."""

    @property
    def told_dropped(self) -> str:
        """The first of these labels as a sentence for people."""
        shown = ", ".join(self.dropped[:_SHOWN])
        more = f" and {len(self.dropped) - _SHOWN:,} more" if len(self.dropped) > _SHOWN else ""
        return f"left out, as other labels there exclude them: {shown}{more}"


class BulkPut:
    """Decides on the requests of one transaction; for one thread.

    A request that is refused changes nothing, and the others go on without it.
    """

    def __init__(
        self,
        log: EntityReads,
        now: Callable[[], int],
        make_id: Callable[[], str],
        epoch: int,
        gate: Perspective | None = None,
    ) -> None:
        """`epoch` is that of the log before anything was read for these requests; `gate` is that of
        planners.
        """
        self.staged = StagedLog(log)
        """The log with all that was decided."""
        self._entities = EntityCache(self.staged)
        self._planner = Planner(self.staged, self._entities, now, make_id, gate)
        self.epoch = epoch
        self._joined_bytes = self._state_bytes = 0
        self.steps: list[Step] = []
        """Changes of each entity that a request changes."""

    def decide(
        self,
        kind: EntityKind,
        requests: Sequence[Mapping[str, Any]],
        context: WriteContext,
        taken: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda values: values,
    ) -> list[Done | CatalogError]:
        """Decide on each request.

        `taken` gives the values of one as the catalog takes them, and raises a CatalogError for one
        that may not be made. Raises StoreUnavailable.
        """
        read = [_read(kind, request, taken) for request in requests]
        good = [each for each in read if isinstance(each, Draft)]
        names, ids = set[Name](), set[str]()
        for draft in good:
            add_looked_up(kind, draft, names, ids)
        decided = self.decide_drafts(good, names, ids, context, bounded=True)
        return [next(decided) if isinstance(each, Draft) else each for each in read]

    def decide_drafts(
        self,
        drafts_read: Sequence[Draft],
        names: Collection[Name],
        ids: Collection[str],
        context: WriteContext,
        *,
        bounded: bool = False,
    ) -> Iterator[Done | CatalogError]:
        """Decide on request bodies that have been read, each when the iterator comes to it.

        They are `bounded` where all of them are one request (`check_joined`, MAX_STATE_BYTES).

        `names` and `ids` are those of `add_looked_up` for all of them together. No more states are
        held than `EntityCache` and one read of the log hold, however large the entities are. Raises
        StoreUnavailable.
        """
        before = self._foresee(drafts_read, names, ids)
        named = (entity_id for each in before for entity_id in each)
        # What an earlier call has staged may not be in the log at all.
        waiting = dict.fromkeys(each for each in named if not self.staged.is_staged(each))
        states = self.staged.states(waiting)
        for draft, needed in zip(drafts_read, before, strict=True):
            for entity_id in needed:
                while entity_id in waiting:
                    state = next(states)
                    del waiting[state.id]
                    self._entities.remember([state], self.epoch)
            yield self._decide(draft, context, bounded=bounded)

    def append(self) -> Append:
        """Make the append that stores all that was decided."""
        return append_of(self.steps, self.epoch)

    def _foresee(
        self,
        drafts_read: Sequence[Draft],
        names: Collection[Name],
        ids: Collection[str],
    ) -> list[list[str]]:
        """Look up together what the drafts name.

        Returns for each draft the ids of the entities whose states it will be decided on, as far as
        the log has them: its own, and that of a parent whose columns or values count.
        """
        wanted = [draft.id for draft in drafts_read if draft.id is not None]
        self.staged.foresee(names, ids, wanted)
        attached: defaultdict[str, set[str]] = defaultdict(set)
        before = []
        for draft in drafts_read:
            kind, needed = KINDS[draft.kind], []
            agreement = kind.agreement
            if agreement is not None or kind.inherits:
                parents = self._parents(kind, draft)
                if agreement is not None:
                    attached[kind.name].update(parents)
                if kind.inherits or (agreement and agreement.describes in draft.given):
                    needed += parents
            own = draft.fqn or expected_name(kind, draft)
            claim = self.staged.claim(kind.name, own) if own is not None else None
            if claim is not None:
                needed.append(claim.id)
            before.append(needed)
        self.staged.foresee_attached(attached)
        return before

    def _parents(self, kind: EntityKind, draft: Draft) -> list[str]:
        """The ids of the entities that a draft may mean by its parent, as far as it is named."""
        if draft.parent is None:
            return []
        key, ref = draft.parent
        claims = (self.staged.claim(*name) for name in names_and_ids(ref, kind.refers_to[key])[0])
        return [claim.id for claim in claims if claim is not None]

    def _decide(self, draft: Draft, context: WriteContext, *, bounded: bool) -> Done | CatalogError:
        try:
            kind = KINDS[draft.kind]
            if bounded and draft.members:
                check_joined(self._joined_bytes)
            plan = self._planner.put_draft(kind, draft, context, self.staged)
            self._joined_bytes += plan.joined_bytes
            if bounded and plan.joined_bytes:
                check_joined(self._joined_bytes)
            if bounded:
                self._add_states(plan)
        except RequestRefused as error:
            return error
        for step in plan.steps:
            if step.events:
                self.steps.append(Step(None, step.events, step.after))
                self.staged.stage(step.events, step.after)
                if step.before is not None:
                    # Children take over what their parent has now.
                    self._entities.remember([step.after], self.epoch)
        return Done(plan.own.after, plan.change, plan.dropped)

    def _add_states(self, plan: Plan) -> None:
        """Count the states that a plan leads to; raises InvalidInput beyond MAX_STATE_BYTES."""
        size = self._state_bytes + state_bytes(plan.steps)
        if size > MAX_STATE_BYTES:
            raise InvalidInput(
                f"the entities that a bulk request changes may have {MAX_STATE_BYTES} bytes of JSON"
                " together, each counted after each of its changes: send the rest with another"
                " request"
            )
        self._state_bytes = size


def _read(
    kind: EntityKind,
    request: Mapping[str, Any],
    taken: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> Draft | CatalogError:
    """Read a request body, or return why it is refused; raises StoreUnavailable."""
    try:
        return drafts.draft(kind, taken(request))
    except RequestRefused as error:
        return error
