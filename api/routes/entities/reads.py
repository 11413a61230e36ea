"""Lists and single entities of one kind, from the sorted read model."""

from collections.abc import Generator, Iterable
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.answers.responses import LOOP_BYTES, Deferred, Finished, Heavy
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import query
from api.declaring.operation import EntityRead, Operation
from api.declaring.signatures import KIND_NAME, AnyRequest, id_in_path, name_in_path
from api.declaring.unsupported_parameters import UNSUPPORTED
from api.routes.entities.related import related_routes
from api.services import Services
from api.use_cases.entity_reads import EntityForm, entity_form, read_entity
from api.use_cases.list_parameters import list_parameters, list_request, single_parameters
from api.use_cases.measured import reading
from api.use_cases.past import (
    BETWEEN,
    HEADER,
    PAST,
    EntityDiff,
    difference,
    fields_without_past,
    past_of,
    position_asked,
    position_of_list,
    positions_between,
    read_past_entity,
    refuse_fields_without_past,
)
from domain.errors import NotFound
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind
from domain.openmetadata import document
from domain.openmetadata.document import stand_ins
from domain.reading import history
from projections.entities.cursors import is_pinned
from projections.entities.list_pages import long_page, place_asked, small_page
from projections.entities.list_port import Include, ListRequest
from projections.entities.port import EntityTooLarge
from projections.visibility.withholding import Withheld
from projections.wiring.stores import Stores

_CHUNK_BYTES = 256 * 1024
_ANY_BYTES = 2**31 - 1
"""No page of one entity has so many."""
_Form = tuple[ListRequest, str | None, str | None, tuple[str, ...]]
"""The request that the pages of one list share, their point in time (`at` and `asOf`), and the
fields asked for that have no past."""
_OneForm = tuple[EntityForm | None, dict[str, Any], str | None, str | None]
"""The form that reads of single entities share, None for one of the past, and the parameters that
it is made of: `fields` and `include`, `at`, and `asOf`."""
_AT_ONCE = 100
"""The largest `limit` of a page that is read as soon as it is asked for, half a millisecond of
work; a larger one is read in a task of its request."""


def read_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The GET routes of a kind."""
    path = f"/v1/{kind.collection}"
    is_shared = services.stores.is_shared
    stores, read = services.stores, partial(read_entity, services, kind)
    insisted_on = tuple(key for key in stand_ins(kind.name, "x") if key in kind.optional)

    def prepare(access: Access, prefixed: bool, **given: Any) -> tuple[_Form, bool]:
        form = list_request(kind, access, given, insisted_on if prefixed else ())
        # Compiled expressions may take megabytes.
        pastless = fields_without_past(kind, given["fields"])
        return (form, given["at"], given["as_of"], pastless), form.names is None

    def list_entities(scope: Any, form: _Form, **cursor: str) -> ASGIResponse:
        wanted, at, as_of, pastless = form
        if cursor:
            wanted = wanted.at(**cursor)
        of_page = wanted.after or wanted.before
        if at is not None or as_of is not None or (of_page and is_pinned(of_page)):
            refuse_fields_without_past(kind, pastless)
            return Deferred(partial(list_past, wanted, at, as_of, of_page))
        if wanted.limit > _AT_ONCE and not is_shared:

            async def in_task(request: AnyRequest) -> ASGIResponse:
                return begun(wanted, request.scope)

            return Deferred(in_task)
        return begun(wanted, scope)

    async def list_past(
        wanted: ListRequest,
        at: str | None,
        as_of: str | None,
        cursor: str | None,
        request: AnyRequest,
    ) -> ASGIResponse:
        # Check the cursor before waiting for its position, which may be made up.
        place_asked(wanted)
        position = await position_of_list(services, request, at, as_of, cursor)
        past = await services.light_read(request, partial(past_of, services, position))
        wanted = msgspec.structs.replace(wanted, past=past)
        return begun(wanted, request.scope, {HEADER: str(position)})

    def begun(
        wanted: ListRequest, scope: Any, headers: dict[str, str] | None = None
    ) -> ASGIResponse:
        if is_shared:
            caller: str = scope["user"].name
            return Heavy(page(wanted), caller, services.lookups, services.streams, headers)
        whole = small(wanted)
        if whole is None:
            return heavy(scope, large(wanted), headers)
        return Finished(whole, headers=headers)

    def page(wanted: ListRequest) -> Generator[bytes]:
        whole = small(wanted)
        if whole is None:
            yield from large(wanted)
        else:
            yield whole

    def small(wanted: ListRequest) -> bytes | None:
        return stores.entities.read(partial(small_page, request=wanted))

    def large(wanted: ListRequest) -> Generator[bytes]:
        with stores.entities.use() as entities:
            yield from long_page(entities, wanted)

    def heavy(scope: Any, chunks: Generator[bytes], headers: dict[str, str] | None = None) -> Heavy:
        caller: str = scope["user"].name
        return Heavy(chunks, caller, services.heavy_reads, services.streams, headers)

    def prepare_one(
        access: Access, prefixed: bool, at: str | None, as_of: str | None, **given: Any
    ) -> tuple[_OneForm, bool]:
        is_past = at is not None or as_of is not None
        return (None if is_past else entity_form(kind, access, given), given, at, as_of), True

    def one(scope: Any, prepared: _OneForm, **where: str) -> ASGIResponse:
        if "entity_id" in where:
            which = {"entity_id": id_in_path(where["entity_id"])}
        else:
            which = {"fqn": kind.spelled(name_in_path(scope))}
        form, given, at, as_of = prepared
        if form is not None:
            return found(form, which)

        async def in_past(request: AnyRequest) -> ASGIResponse:
            position = await position_asked(services, request, at, as_of)
            work = partial(read_past_entity, services, kind, request.auth, given, position, **which)
            body, more = await services.heavy_read(request, work)
            return services.large(request, body, **more)

        return Deferred(in_past)

    async def diff(request: AnyRequest, entity_id: str, from_: str, to: str) -> ASGIResponse:
        ends = await positions_between(services, request, from_, to)
        which = id_in_path(entity_id)
        work = partial(difference, services, kind, request.auth, which, *ends)
        return services.large(request, await services.heavy_read(request, work))

    def of_caller(request: AnyRequest, fields: str | None, include: Include) -> ASGIResponse:
        form = entity_form(kind, request.auth, {"fields": fields, "include": include})
        return found(form, {"fqn": names.quote(request.user.name)})

    def found(form: EntityForm, which: dict[str, str]) -> ASGIResponse:
        def small() -> Finished:
            body, more = read(form, LOOP_BYTES, **which)
            return Finished(body, **more)

        async def in_thread(request: AnyRequest) -> ASGIResponse:
            def large() -> Finished:
                body, more = read(form, None, **which)
                return services.large(request, body, **more)

            return await services.heavy_read(request, large)

        async def of_database(request: AnyRequest) -> ASGIResponse:
            try:
                return await services.light_read(request, small)
            except EntityTooLarge:
                return await in_thread(request)

        if is_shared:
            return Deferred(of_database)
        try:
            return small()
        except EntityTooLarge:
            return Deferred(in_thread)

    def attached(
        request: AnyRequest, to_id: UUID, to_type: str, **given: Any
    ) -> tuple[bytes, dict[str, Any]]:
        entity_id = _attached(kind, stores, str(to_id), to_type, given["include"])
        return read(entity_form(kind, request.auth, given), None, entity_id=entity_id)

    def versions(request: AnyRequest, entity_id: str) -> Heavy:
        revisions = history.versions(stores.log, kind, id_in_path(entity_id))
        return heavy(request.scope, _history(kind, (show(request, each) for each in revisions)))

    def version(request: AnyRequest, entity_id: str, version: str) -> bytes:
        return show(request, history.version(stores.log, kind, id_in_path(entity_id), version))

    def show(request: AnyRequest, revision: history.Revision) -> bytes:
        withheld: Withheld | None = request.auth.withheld(Action.VIEW, kind.name)
        if withheld is None:
            shown = document.encode(revision.document())
        else:
            # The change description is left out: it holds old and new values of any field.
            shown = withheld.cut(document.encode(document.fields(revision.entity)))
        access: Access = request.auth
        return access.statuses.shown(kind, shown)

    def show_key(key: str, request: AnyRequest, entity_id: str) -> ASGIResponse:
        given = {"fields": key, "include": Include.NON_DELETED}
        return found(entity_form(kind, request.auth, given), {"entity_id": id_in_path(entity_id)})

    listing, viewing = (Permission(action, kind.name) for action in (Action.LIST, Action.VIEW))
    single = single_parameters(kind)
    # Nothing that asks a database is for the event loop.
    revision = None if is_shared else stores.entities.revision
    item = f"{path}/{{entity_id:str}}"
    by_attachment = []
    if kind.agreement is not None:
        key = kind.agreement.about
        place = {
            "to_id": query(UUID, f"Id of the {key}.", ..., name=f"{key}Id"),
            "to_type": query(KIND_NAME, f"Kind of the {key}.", ..., name=f"{key}Type"),
            **single,
        }
        by_attachment = [
            _ATTACHED.at("GET", f"{path}/{key}", viewing, reading(services, attached), place)
        ]
    if caller := kind.own_paths.caller:
        # Each caller is answered with another entity: no answer is remembered for all.
        by_attachment.append(_OF_CALLER.at("GET", f"{path}/{caller}", viewing, of_caller, single))
    return [
        *by_attachment,
        *related_routes(kind, services),
        _LIST.at(
            "GET",
            path,
            listing,
            list_entities,
            {**list_parameters(kind), **PAST},
            unsupported=UNSUPPORTED.get(kind.name, {}),
            revision=revision,
            # What a filter names may be of any kind.
            unfiltered=partial(revision, kind.name) if revision else None,
            prepare=prepare,
        ),
        *_ONE.by_id_and_name(
            "GET", path, viewing, one, {**single, **PAST}, revision=revision, prepare=prepare_one
        ),
        *(
            _SHOWN_ALONE[key].at("GET", f"{item}/{key}", viewing, partial(show_key, key))
            for key in kind.own_paths.deleted
        ),
        _VERSIONS.at("GET", f"{item}/versions", viewing, versions),
        _DIFF.at("GET", f"{item}/diff", viewing, diff, BETWEEN),
        _VERSION.at("GET", f"{item}/versions/{{version:str}}", viewing, reading(services, version)),
    ]


_LARGE_ABOUT = (
    "Large fields are there without being asked for. What the last version has changed is there"
    " where `fields` names `changeDescription`, unless some field is withheld from the caller."
)
_LIST = Operation(
    "list{Kinds}",
    "List {kinds}",
    "By name. Follow `paging.after` until it is absent. With `at` or `asOf` it is the list as it"
    " was, on every page that follows, and `X-Catalog-At` says at which position. What is purged"
    " since is left out: `paging.purged` counts it, in the kind, deletion state and status.",
    answer="{Kind}List",
    errors=(410, 503),
)
_ONE = EntityRead(
    "get{Kind}",
    "Get a {kind} by id",
    f"{_LARGE_ABOUT} With `at` or `asOf` it is shown as it was, and `X-Catalog-At` says at"
    " which position.",
    errors=(404, 410, 503),
)
_ATTACHED = EntityRead("get{Kind}ByEntityId", "Get the {kind} of an entity", _LARGE_ABOUT)
_OF_CALLER = EntityRead(
    "getLoggedIn{Kind}",
    "Get the {kind} that is signed in",
    "That is the one with the name in the token's subject; 404 where there is none.",
)
_SHOWN_ALONE = {
    "tableProfilerConfig": EntityRead(
        "get{Kind}ProfilerConfig", "Get a {kind} with its profiler configuration", _LARGE_ABOUT
    )
}
_DIFF = Operation(
    "diff{Kind}",
    "What changed of a {kind} between two points of the log",
    answer=EntityDiff,
    errors=(404, 410, 503),
)
_VERSIONS = Operation(
    "list{Kind}Versions", "List the versions of a {kind}", answer="EntityVersions"
)
_VERSION = Operation("get{Kind}Version", "Get one version of a {kind}", answer="{Kind}")


def _attached(
    kind: EntityKind,
    stores: Stores,
    to_id: str,
    to_type: str,
    include: Include,
) -> str:
    """The id of the first entity of a kind, by name, that is attached to another entity.

    Raises NotFound. The key of the other entity is never withheld.
    """
    assert kind.agreement is not None
    request = ListRequest(
        kind=kind, limit=1, include=include, filters={kind.agreement.about: to_id}
    )
    with stores.entities.use() as entities, entities.read_list(request, None) as reader:
        page = reader.whole(_ANY_BYTES)
    if page and page.entities:
        entity_id, core = page.entities[0][1:3]
        attached_to: dict[str, str] = msgspec.json.decode(core)[kind.agreement.about]
        if attached_to["type"] == to_type:
            return entity_id
    raise NotFound(f"no {kind.name} is attached to the {to_type} {to_id}")


def _history(kind: EntityKind, versions: Iterable[bytes]) -> Generator[bytes]:
    """The envelope of an entity's versions in chunks; each version is JSON in a text."""
    chunk = b'{"entityType":%b,"versions":[' % msgspec.json.encode(kind.name)
    comma = b""
    for version in versions:
        chunk += comma + msgspec.json.encode(version.decode())
        comma = b","
        if len(chunk) >= _CHUNK_BYTES:
            yield chunk
            chunk = b""
    yield chunk + b"]}"
