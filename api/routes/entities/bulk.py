"""Create, update or delete many entities of one kind by one request, with a result for each."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, check_media_type, has_left, read_body
from api.answers.responses import Finished, Large
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import WriteOfMany
from api.declaring.signatures import AnyRequest
from api.errors import message_of, status_of
from api.services import Services
from api.use_cases.deletes import (
    Results,
    check_recursive,
    delete_all,
    may_delete_attached,
    purge_beforehand,
)
from api.use_cases.entity_writes import (
    context_of,
    may_bring,
    refuse_headers_of_one,
    taken_values,
)
from domain.errors import CatalogError, InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.kinds.names import MAX_NAME_LENGTH
from domain.kinds.registry import kinds_above
from domain.patches.json_input import decode
from domain.requests.drafts import MAX_MEMBERS
from domain.write_context import WriteContext
from domain.writing.bulk_put import MAX_REQUESTS, Done
from domain.writing.catalog import NOTHING, Proposal
from domain.writing.planning import Planner
from domain.writing.plans import Change, Plan
from domain.writing.stale_entities import PAGE, StaleEntity, StaleSearch, scope_kind


class BulkItem(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Outcome of one of the requests."""

    request: str
    """Qualified name of the entity; of a request that failed, the name that it gives."""
    status: int
    """The status that a PUT of this request alone would be answered with."""
    message: str
    """The change, as the header X-OpenMetadata-Change says it, or the error. Behind a change of a
    bot stand its labels that were left out, as others exclude them."""


class BulkResult(msgspec.Struct, rename="camel"):
    """Outcome of all requests; those that are good are stored, whatever the others are."""

    status: Literal["success", "partialSuccess", "failure"]
    number_of_rows_processed: int
    number_of_rows_passed: int
    number_of_rows_failed: int
    dry_run: bool
    success_request: list[BulkItem]
    failed_request: list[BulkItem]


def bulk_route(kind: EntityKind, services: Services) -> HTTPRouteHandler:
    """The route that puts many entities of a kind, as OpenMetadata's clients do."""

    async def put_all(
        request: AnyRequest,
        asynchronous: bool,
        override_metadata: bool,
        dry_run: bool,
    ) -> Finished:
        body = await _read(request)
        access: Access = request.auth
        bring = may_bring(access, kind)
        context = replace(context_of(request), override_metadata=override_metadata, may_bring=bring)

        def propose() -> tuple[Proposal, bytes]:
            requests = decode(body, list[dict[str, Any]], "the body")
            if len(requests) > MAX_REQUESTS:
                most = f"a bulk request may have {MAX_REQUESTS} entities"
                raise InvalidInput(f"{most}, got {len(requests)}")
            given = (values.get(field) for values in requests for field in kind.members)
            if (count := sum(len(each) for each in given if isinstance(each, list))) > MAX_MEMBERS:
                named = " and ".join(kind.members)
                most = f"a bulk request may have {MAX_MEMBERS} elements in {named}"
                raise InvalidInput(f"{most}, got {count}")
            taken = partial(taken_values, kind, Action.EDIT, access)
            proposal, results = services.catalog.propose_puts(kind, requests, context, taken)
            shown = msgspec.json.encode(_result(requests, results, access, dry_run=dry_run))
            return NOTHING if dry_run else proposal, shown

        written, shown = await services.write(request, propose)
        return Finished(shown, headers=written.headers)

    permission = Permission(Action.EDIT, kind.name, also=Action.CREATE)
    return WriteOfMany(
        "bulkCreateOrUpdate{Kinds}",
        "Create or update many {kinds}",
        "Each as a PUT after those before it: one may refer to another that comes before it. What"
        " is good is stored in one transaction; what is not is told item by item.",
        answer=BulkResult,
        body="Create{Kind}List",
    ).at("PUT", f"/v1/{kind.collection}/bulk", permission, put_all, _PARAMETERS)


OVERRIDE_METADATA: Parameters = {
    "override_metadata": query(
        bool,
        "What a bot gives replaces what people curated. Without it a bot's write keeps"
        " descriptions, display names, owners, domains, data products, certifications and custom"
        " properties that are not empty, adds its tags to those that are there, and changes nothing"
        " while `sourceHash` is the same.",
        False,
    )
}
_PARAMETERS: Parameters = {
    "asynchronous": query(
        bool,
        "Taken for the sake of OpenMetadata's clients: the answer has all results in either case.",
        False,
        name="async",
    ),
    "dry_run": query(bool, "Tell what would be done, and do nothing.", False),
    **OVERRIDE_METADATA,
}


async def _read(request: AnyRequest) -> bytes:
    """The body of a request; raises InvalidInput for a header that means one entity."""
    check_media_type(request.headers.get("content-type"), JSON_TYPES)
    refuse_headers_of_one(request, "a bulk request")
    return await read_body(request)


def _result(
    requests: Sequence[Mapping[str, Any]],
    results: Sequence[Done | CatalogError],
    access: Access,
    *,
    dry_run: bool,
) -> BulkResult:
    items = []
    for request, result in zip(requests, results, strict=True):
        if isinstance(result, Done):
            status = 201 if result.change is Change.CREATED else 200
            change = result.change.value
            message = f"{change}; {result.told_dropped}" if result.dropped else change
            items.append(BulkItem(result.entity.fqn, status, message))
        else:
            name = request.get("name")
            shown = name[:MAX_NAME_LENGTH] if isinstance(name, str) else ""
            items.append(BulkItem(shown, status_of(result)[0], message_of(result, access.statuses)))
    return bulk_result(items, dry_run=dry_run)


def bulk_result(items: list[BulkItem], *, dry_run: bool) -> BulkResult:
    """Return the outcome of requests some of which passed and some of which failed."""
    passed = [item for item in items if item.status < 300]
    failed = [item for item in items if item.status >= 300]
    return BulkResult(
        status="partialSuccess" if passed and failed else "failure" if failed else "success",
        number_of_rows_processed=len(items),
        number_of_rows_passed=len(passed),
        number_of_rows_failed=len(failed),
        dry_run=dry_run,
        success_request=passed,
        failed_request=failed,
    )


_PAGES = 100
"""Number of pages of the log that a search reads in one turn of its caller."""


class DeleteStale(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The entities to be deleted: those below a scope that were not seen."""

    scope_fqn: Annotated[str, msgspec.Meta(min_length=1)]
    """Qualified name of the entity below which they are."""
    scope_entity_type: str
    """Kind of that entity; `service` is the kind of service that they belong to."""
    seen_fqns: list[Annotated[str, msgspec.Meta(min_length=1)]] | None = None
    """Qualified names of the entities that were seen; none of them deletes nothing."""
    dry_run: bool = False
    """Tell what would be deleted, and delete nothing."""
    hard_delete: bool = False
    """Delete for good."""
    recursive: bool = True
    """Delete what is below them as well; without it an entity with something below it fails."""


_KEYS = frozenset(field.encode_name for field in msgspec.structs.fields(DeleteStale))


def delete_stale_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The route that deletes entities of a kind which OpenMetadata's connectors no longer find.

    There is none for a kind whose entities stand below no others.
    """

    async def delete_stale(request: AnyRequest) -> Large:
        for name in request.query_params:
            # Passed over, `dryRun` would delete what was only to be told.
            if name in _KEYS:
                raise InvalidInput(f"{name} belongs into the body")
        body = await _read(request)
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

    # The answer names what is there, as a list does.
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
