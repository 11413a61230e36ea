"""Delete the entities of one kind that a connector no longer finds, with a result for each."""

from functools import partial
from typing import Annotated

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.bodies import has_left
from api.answers.responses import Large
from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import WriteOfMany
from api.declaring.signatures import AnyRequest
from api.errors import status_of
from api.routes.entities.bulk import BulkItem, BulkResult, bulk_result, read_bulk
from api.services import Services
from api.use_cases.deletes import (
    Results,
    check_recursive,
    delete_all,
    may_delete_attached,
    purge_beforehand,
)
from domain.errors import CatalogError
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import kinds_above
from domain.patches.json_input import decode
from domain.write_context import WriteContext
from domain.writing.planning import Planner
from domain.writing.plans import Plan
from domain.writing.stale_entities import PAGE, StaleEntity, StaleSearch, scope_kind

_PAGES = 100
"""Number of pages of the log that a search reads in one turn of its caller."""


class DeleteStale(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The entities to be deleted: those below a scope that were not seen."""

    scope_fqn: Annotated[str, msgspec.Meta(min_length=1)]
    """Qualified name of the entity below which the entities to be deleted stand."""
    scope_entity_type: str
    """Kind of the scope's entity; `service` is the kind of service that the entities belong to."""
    seen_fqns: list[Annotated[str, msgspec.Meta(min_length=1)]] | None = None
    """Qualified names of the entities that were seen; if there are none, nothing is deleted."""
    dry_run: bool = False
    """Tell what would be deleted, and delete nothing."""
    hard_delete: bool = False
    """Delete for good."""
    recursive: bool = True
    """True to delete all that is below a stale entity as well; else such an entity fails."""


def delete_stale_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The route that deletes entities of a kind which OpenMetadata's connectors no longer find.

    There is none for a kind whose entities stand below no others.
    """

    async def delete_stale(request: AnyRequest) -> Large:
        body = await read_bulk(request)
        access: Access = request.auth
        context = WriteContext(
            actor=request.user.name, request_id=request.scope["state"]["request_id"]
        )
        left = partial(has_left, request.receive)
        in_turn = partial(services.writes.run, context.actor, has_left=left)
        asked, search, head = await in_turn(partial(_begin, services, kind, access, body))
        while search is not None and await in_turn(partial(search.look_on, _PAGES)):
            pass
        stale = search.stale if search else []
        ids = [one.id for one in stale if one.kept_for is None]

        def delete(planner: Planner, entity_id: str) -> Plan:
            return planner.delete(
                kind,
                entity_id,
                context,
                hard=asked.hard_delete,
                recursive=asked.recursive,
                attached=may_delete_attached(access),
            )

        if asked.hard_delete and not asked.dry_run:
            for start in range(0, len(ids), PAGE):
                some = ids[start : start + PAGE]
                await purge_beforehand(
                    services, request, kind, some, context, recursive=asked.recursive
                )
        written, results = await delete_all(services, request, ids, delete, dry_run=asked.dry_run)
        shown = await in_turn(partial(_shown, stale, results, asked.dry_run))
        written = replace(written, position=max(written.position, head))
        return services.large(request, shown, headers=written.headers)

    # The answer names entities, as a list does.
    permission = Permission(Action.DELETE, kind.name, also=Action.LIST)
    if not kinds_above(kind.name):
        return []
    operation = WriteOfMany(
        "deleteStale{Kinds}",
        "Delete {kinds} that were not seen",
        "Those that live below the scope and are not among `seenFqns`, some in each transaction."
        " Where `seenFqns` is empty, or the scope is not there, nothing is deleted. What is not"
        " seen and has something below it that was seen is kept.",
        answer=BulkResult,
        body=DeleteStale,
    )
    return [operation.at("DELETE", f"/v1/{kind.collection}/deleteStale", permission, delete_stale)]


def _begin(
    services: Services, kind: EntityKind, access: Access, body: bytes
) -> tuple[DeleteStale, StaleSearch | None, int]:
    """Return the request in a body, the search for it, and the position of the log before it.

    There is no search where there is nothing to look for.

    A connector that ended early has seen nothing, and one that runs for the first time may name a
    scope that is not there yet: neither means that all is to be deleted. Raises InvalidInput and
    Forbidden.
    """
    asked = decode(body, DeleteStale, "the body")
    scope = scope_kind(kind, asked.scope_entity_type)
    if asked.recursive:
        check_recursive(access, kind)
    log = services.stores.log
    head, claim = log.head(), log.claim(scope.name, scope.spelled(asked.scope_fqn))
    if not asked.seen_fqns or claim is None or claim.deleted:
        return asked, None, head
    return asked, StaleSearch(log, kind, claim, asked.seen_fqns), head


def _shown(stale: list[StaleEntity], results: Results, dry_run: bool) -> bytes:
    """The answer: OpenMetadata's BulkOperationResult, with an item for each stale entity."""
    items = []
    for one in stale:
        if one.kept_for is not None:
            why = f"is kept, as {one.kept_for!r} below it was seen"
            items.append(BulkItem(one.fqn, 400, f"{one.fqn!r} {why}"))
        elif isinstance(result := results[one.id], CatalogError):
            items.append(BulkItem(one.fqn, status_of(result)[0], result.message))
        else:
            items.append(BulkItem(one.fqn, 200, result.value))
    return msgspec.json.encode(bulk_result(items, dry_run=dry_run))
