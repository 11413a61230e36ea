"""Deletes of many entities, some in each transaction, and in turns with the writes of others."""

from collections.abc import Mapping, Sequence
from functools import partial

from api.callers.permissions import Access, Action, Permission
from api.declaring.signatures import AnyRequest
from api.errors import Forbidden
from api.services import Services, Written
from domain.errors import CatalogError, RequestRefused
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ATTACHED, kinds_below
from domain.write_context import WriteContext
from domain.writing.catalog import NOTHING, Delete, Proposal
from domain.writing.entity_cache import ByName
from domain.writing.plans import Change

Results = Mapping[str, Change | CatalogError]
"""Id -> what came of an entity's delete."""


def check_recursive(access: Access, kind: EntityKind) -> None:
    """Raise Forbidden unless a caller may delete whatever may be below an entity of a kind."""
    for below in sorted(kinds_below(kind.name)):
        if not access.may(Permission(Action.DELETE, below)):
            raise Forbidden(f"recursive: you have no permission to delete {below}")


def may_delete_attached(access: Access) -> bool:
    """Return True if a caller may delete what is attached to entities, such as contracts."""
    return all(access.may(Permission(Action.DELETE, kind)) for kind in ATTACHED)


async def delete_all(
    services: Services,
    request: AnyRequest,
    entity_ids: Sequence[str],
    delete: Delete,
    *,
    dry_run: bool = False,
) -> tuple[Written, Results]:
    """Delete entities, each after those that stand below it; `delete` plans the delete of one.

    Returns where the last transaction is stored, at position 0 when there is none. Where the client
    leaves, or the process is killed, what has been deleted stays deleted.
    """
    results: dict[str, Change | CatalogError] = {}
    written = Written(position=0, listed=True)

    def propose() -> tuple[Proposal, dict[str, Change | CatalogError]]:
        proposal, made = services.catalog.propose_deletes(entity_ids[len(results) :], delete)
        return NOTHING if dry_run else proposal, made

    while len(results) < len(entity_ids):
        written, made = await services.write(request, propose)
        results |= made
    return written, results


async def purge_beforehand(
    services: Services,
    request: AnyRequest,
    kind: EntityKind,
    wanted: Sequence[str | ByName],
    context: WriteContext,
    *,
    recursive: bool,
) -> None:
    """Purge the entities below others that are to be purged, where one transaction is too small.

    An entity that cannot be purged is passed over: its own purge tells why.
    """

    def find() -> tuple[Proposal, list[str]]:
        needed: dict[str, None] = {}
        for which in wanted:
            try:
                before = services.catalog.purged_before(kind, which, context, recursive=recursive)
            except RequestRefused:
                continue
            needed |= dict.fromkeys(before)
        return NOTHING, [*needed]

    _, entity_ids = await services.write(request, find)
    # The conditions of the request are about the entity that is to be purged, and not about these.
    plain = context.plainly
    most = services.catalog.most_events
    for start in range(0, len(entity_ids), most):
        some = entity_ids[start : start + most]
        purge = partial(services.catalog.planner.purge_all, some, plain)
        await services.write(request, partial(services.catalog.propose_steps, purge))
