"""Create or update many entities of one kind by one request, with a result for each."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, check_media_type, read_body
from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import WriteOfMany
from api.declaring.signatures import AnyRequest
from api.errors import message_of, status_of
from api.services import Services
from api.use_cases.entity_writes import (
    context_of,
    may_bring,
    refuse_headers_of_one,
    taken_values,
)
from domain.errors import CatalogError, InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.kinds.names import MAX_NAME_LENGTH
from domain.patches.json_input import decode
from domain.requests.drafts import MAX_MEMBERS
from domain.writing.bulk_put import MAX_REQUESTS, Done
from domain.writing.catalog import NOTHING, Proposal
from domain.writing.plans import Change


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
        body = await read_bulk(request)
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


async def read_bulk(request: AnyRequest) -> bytes:
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
