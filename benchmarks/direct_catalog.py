"""Writes without a server: each is planned, stored and given back in one call."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.kinds.entity_kind import EntityKind
from domain.write_context import WriteContext
from domain.writing.catalog import Catalog, EntityProposal
from domain.writing.entity_cache import ByName
from domain.writing.plans import Change, Plan


class Outcome(msgspec.Struct, frozen=True):
    """Result of a write."""

    entity: Entity
    """The entity as the write left it."""
    change: Change
    position: int
    """Position in the log that includes the write."""
    dropped: Sequence[str] = ()
    """The labels that a bot gave and that were left out."""


class DirectCatalog(Catalog):
    """Create, change, delete and restore entities.

    Each method raises the errors of `Planner`'s method of the same name, KeyReused for an
    idempotency key that came with another request, ConcurrentChange when other writers were first
    again and again, and StoreUnavailable.
    """

    def create(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Outcome:
        """Create an entity."""
        return self.write(context, partial(self.planner.create, kind, values, context))

    def put(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Outcome:
        """Create the entity, or change the keys given; keys given as null or empty are removed.

        A soft-deleted entity is restored first.
        """
        return self.write(context, partial(self.planner.put, kind, values, context))

    def patch(
        self,
        kind: EntityKind,
        which: str | ByName,
        patch: Sequence[Mapping[str, Any]],
        context: WriteContext,
    ) -> Outcome:
        """Apply an RFC 6902 patch to the entity's document, with absent arrays shown as []."""
        return self.write(context, partial(self.planner.patch, kind, which, patch, context))

    def delete(
        self,
        kind: EntityKind,
        which: str | ByName,
        context: WriteContext,
        *,
        hard: bool,
        recursive: bool,
    ) -> Outcome:
        """Soft-delete the entity, or purge it when `hard`; with its children when `recursive`."""
        plan = partial(self.planner.delete, kind, which, context, hard=hard, recursive=recursive)
        return self.write(context, plan)

    def restore(self, kind: EntityKind, entity_id: str, context: WriteContext) -> Outcome:
        """Make a soft-deleted entity live again, with the children deleted by the same request."""
        return self.write(context, partial(self.planner.restore, kind, entity_id, context))

    def write(self, context: WriteContext, plan: Callable[[], Plan]) -> Outcome:
        """Propose what `plan` plans, by a method of `planner` or `lineage`, and store it."""

        def propose() -> tuple[EntityProposal, EntityProposal]:
            proposal = self.propose(plan, context)
            return proposal, proposal

        position, proposal = self.until_stored(propose)
        return Outcome(proposal.entity, proposal.change, position, proposal.dropped)
