"""Create, change, delete and restore entities of one kind."""

import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from api.bodies import JSON_TYPES, PATCH_TYPES, check_media_type, read_body
from api.errors import Forbidden
from api.permissions import Access, Action, Permission
from api.responses import Finished
from api.routes.reads import etag
from api.routes.signatures import (
    ENTITY_ID,
    FQN,
    REQUEST,
    Parameters,
    id_in_path,
    name_in_path,
    route,
)
from api.services import Services
from domain import document
from domain.errors import InvalidInput
from domain.ids import parse_id
from domain.json_input import decode
from domain.kinds import EntityKind
from domain.lifecycle import format_version
from domain.registry import KINDS
from domain.requests import ByName, Caller, Change, Outcome

MAX_KEY_LENGTH = 255
_ETAG = re.compile(r'^(?:W/)?"?(\d{1,9})\.(\d)"?$')
_IDENTITY = frozenset({"id", "name", "fullyQualifiedName", "version", "deleted"})
_STATUS = {Change.CREATED: 201}

AnyRequest = Request[Any, Any, Any]


def write_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The POST, PUT, PATCH and DELETE routes of a kind."""
    path = f"/v1/{kind.collection}"
    catalog = services.catalog

    async def create(request: AnyRequest) -> Finished:
        return await save(request, Action.CREATE, catalog.create, replacing=False)

    async def put(request: AnyRequest) -> Finished:
        return await save(request, Action.EDIT, catalog.put, replacing=True)

    async def save(
        request: AnyRequest,
        action: Action,
        write: Callable[[EntityKind, dict[str, Any], Caller], Outcome],
        *,
        replacing: bool,
    ) -> Finished:
        body, caller = await _read(request)
        withheld = request.auth.withheld(action, kind.name)

        def work() -> Outcome:
            values = decode(body, dict[str, Any], "the body")
            if withheld:
                withheld.refuse_writing(values, replacing=replacing)
            return write(kind, values, caller)

        return await _answer(services, kind, request.auth, action, work)

    async def patch(request: AnyRequest, entity_id: str) -> Finished:
        return await patch_entity(request, id_in_path(entity_id))

    async def patch_by_name(request: AnyRequest, fqn: str) -> Finished:
        return await patch_entity(request, named_in(request))

    async def patch_entity(request: AnyRequest, which: str | ByName) -> Finished:
        body, caller = await _read(request, PATCH_TYPES)
        withheld = request.auth.withheld(Action.EDIT, kind.name)

        def work() -> Outcome:
            operations = decode(body, list[dict[str, Any]], "a JSON Patch")
            if withheld:
                withheld.refuse_patching(operations)
            return catalog.patch(kind, which, operations, caller)

        return await _answer(services, kind, request.auth, Action.EDIT, work)

    async def delete(
        request: AnyRequest, entity_id: str, hard_delete: bool, recursive: bool
    ) -> Finished:
        return await delete_entity(request, id_in_path(entity_id), hard_delete, recursive)

    async def delete_by_name(
        request: AnyRequest, fqn: str, hard_delete: bool, recursive: bool
    ) -> Finished:
        return await delete_entity(request, named_in(request), hard_delete, recursive)

    async def delete_entity(
        request: AnyRequest, which: str | ByName, hard: bool, recursive: bool
    ) -> Finished:
        if recursive:
            for below in sorted(kinds_below(kind.name)):
                if not request.auth.may(Permission(Action.DELETE, below)):
                    raise Forbidden(f"recursive: you have no permission to delete {below}")
        _, caller = await _read(request)
        return await _answer(
            services,
            kind,
            request.auth,
            Action.DELETE,
            lambda: catalog.delete(kind, which, caller, hard=hard, recursive=recursive),
        )

    def named_in(request: AnyRequest) -> ByName:
        return ByName(kind.spelled(name_in_path(request)))

    async def restore(request: AnyRequest) -> Finished:
        body, caller = await _read(request)
        entity_id = parse_id(decode(body, _Restore, "the body").id, "id")
        return await _answer(
            services,
            kind,
            request.auth,
            Action.EDIT,
            lambda: catalog.restore(kind, entity_id, caller),
        )

    creating, editing, deleting = (
        Permission(action, kind.name) for action in (Action.CREATE, Action.EDIT, Action.DELETE)
    )
    putting = Permission(Action.EDIT, kind.name, also=Action.CREATE)
    named = f"{path}/name/{{fqn:path}}"
    name: Parameters = {**REQUEST, **FQN}
    item = f"{path}/{{entity_id:str}}"
    one: Parameters = {**REQUEST, **ENTITY_ID}
    return [
        route("POST", path, creating, create, REQUEST, status=201),
        route("PUT", path, putting, put, REQUEST),
        route("PATCH", item, editing, patch, one),
        route("PATCH", named, editing, patch_by_name, name),
        route("DELETE", item, deleting, delete, {**one, **_DELETE}),
        route("DELETE", named, deleting, delete_by_name, {**name, **_DELETE}),
        route("PUT", f"{path}/restore", editing, restore, REQUEST),
    ]


@cache
def kinds_below(kind: str) -> frozenset[str]:
    """The kinds that entities below one of this kind may have."""
    found: set[str] = set()
    above = {kind}
    while above:
        above = {
            row.name
            for row in KINDS.values()
            for key in row.parents
            if (to := set(row.references[row.attribute_of[key]]) or set(KINDS)) and to & above
        } - found
        found |= above
    return frozenset(found)


_DELETE: Parameters = {
    "hard_delete": (
        Annotated[
            bool,
            QueryParameter(name="hardDelete", description="Delete for good, freeing the name."),
        ],
        False,
    ),
    "recursive": (
        Annotated[bool, QueryParameter(description="With everything below it.")],
        False,
    ),
}


class _Restore(msgspec.Struct, forbid_unknown_fields=True):
    id: str


async def _read(
    request: AnyRequest, media_types: tuple[str, ...] = JSON_TYPES
) -> tuple[bytes, Caller]:
    """The body, and who asks under which conditions."""
    check_media_type(request.headers.get("content-type"), media_types)
    body = await read_body(request)
    key = request.headers.get("idempotency-key")
    if key is not None and not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise InvalidInput(f"Idempotency-Key must have 1 to {MAX_KEY_LENGTH} characters")
    condition = request.headers.get("if-match")
    target = b"%b %b?%b" % (
        request.method.encode(),
        request.scope["raw_path"],
        request.scope["query_string"],
    )
    caller = Caller(
        actor=request.user.name,
        request_id=request.scope["state"]["request_id"],
        expected_version=_expected_version(condition),
        idempotency_key=key,
        digest=sha256(target + b"\0" + (condition or "").encode() + b"\0" + body).digest(),
    )
    return body, caller


def _expected_version(condition: str | None) -> int | None:
    """Tenths of the version in an If-Match header; None when there is none, or `*`."""
    if condition is None or condition.strip() == "*":
        return None
    match = _ETAG.match(condition.strip())
    if match is None:
        raise InvalidInput(
            f'If-Match must be * or the ETag of one version such as W/"0.2", got {condition[:64]!r}'
        )
    return int(match[1]) * 10 + int(match[2])


async def _answer(
    services: Services,
    kind: EntityKind,
    access: Access,
    action: Action,
    work: Callable[[], Outcome],
) -> Finished:
    """Do a write and show the entity as it left it, as far as the caller may see it.

    That is what both the action and `view` show; without `view`, what tells which entity it is.
    """
    outcome = await services.write(work)
    entity = outcome.entity
    headers = {
        "ETag": etag(format_version(entity.version)),
        "X-OpenMetadata-Change": outcome.change.value,
        "X-Catalog-Position": str(outcome.position),
    }
    if outcome.change is Change.CREATED:
        headers["Location"] = f"/v1/{kind.collection}/{entity.id}"
    fields = document.fields(entity)
    if not access.may(Permission(Action.VIEW, kind.name)):
        fields = {key: raw for key, raw in fields.items() if key in _IDENTITY}
    shown = document.encode(fields)
    for withheld in (access.withheld(action, kind.name), access.withheld(Action.VIEW, kind.name)):
        shown = withheld.cut(shown) if withheld else shown
    return Finished(
        body=shown,
        status_code=_STATUS.get(outcome.change, 200),
        headers=headers,
    )
