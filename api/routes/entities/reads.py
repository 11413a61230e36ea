"""Lists and single entities of one kind, from the sorted read model."""

from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter
from litestar.response.base import ASGIResponse

from api.answers.responses import LOOP_BYTES, Deferred, Finished, Heavy, Large
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, QueryParameter
from api.declaring.signatures import ENTITY_ID, FQN, id_in_path, name_in_path, route
from api.declaring.unsupported_parameters import unsupported_parameters
from api.paths import base_path
from api.services import Services
from api.use_cases.entity_reads import read_entity
from api.use_cases.list_parameters import list_parameters, list_request, single_parameters
from domain.errors import NotFound
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.openmetadata import document
from domain.openmetadata.stand_ins import insisted_keys
from domain.patches.payload_bounds import MAX_ENTITY_BYTES
from domain.reading import history
from projections.entities.list_pages import list_page, small_page
from projections.entities.port import EntityTooLarge, Include, ListRequest
from projections.visibility.withholding import Withheld
from projections.wiring.stores import Stores

_CHUNK_BYTES = 256 * 1024
_AT_ONCE = 100
"""The largest `limit` of a page that is read as soon as it is asked for, half a millisecond of
work; a larger one is read in a task of its request."""

AnyRequest = Request[Any, Any, Any]


def read_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The GET routes of a kind."""
    path = f"/v1/{kind.collection}"
    stores = services.stores
    insisted_on = tuple(key for key in insisted_keys(kind.name) if key in kind.optional)

    def list_entities(request: AnyRequest, **given: Any) -> ASGIResponse:
        wanted = list_request(kind, request.auth, given, shown_to(request.scope))
        if stores.is_shared:
            caller: str = request.user.name
            return Heavy(page(wanted), caller, services.lookups, services.streams)

        async def in_task(request: AnyRequest) -> ASGIResponse:
            return at_once(request, wanted)

        return Deferred(in_task) if wanted.limit > _AT_ONCE else at_once(request, wanted)

    def at_once(request: AnyRequest, wanted: ListRequest) -> ASGIResponse:
        whole = stores.entities.read(partial(small_page, request=wanted))
        return heavy(request, page(wanted)) if whole is None else Finished(whole)

    def shown_to(scope: Any) -> tuple[str, ...]:
        return insisted_on if base_path.has_prefix(scope) else ()

    def page(wanted: ListRequest) -> Generator[bytes]:
        if stores.is_shared and wanted.limit <= _AT_ONCE:
            # One round trip, where more would be needed to hold a state for a larger page.
            whole = stores.entities.read(partial(small_page, request=wanted))
            if whole is not None:
                yield whole
                return
        with stores.entities.use() as entities:
            yield from list_page(entities, wanted)

    def heavy(request: AnyRequest, chunks: Generator[bytes]) -> Heavy:
        caller: str = request.user.name
        return Heavy(chunks, caller, services.heavy_reads, services.streams)

    def by_id(
        request: AnyRequest, entity_id: str, fields: str | None, include: Include
    ) -> ASGIResponse:
        return one(request, fields, include, entity_id=id_in_path(entity_id))

    def by_name(
        request: AnyRequest, fqn: str, fields: str | None, include: Include
    ) -> ASGIResponse:
        return one(request, fields, include, fqn=kind.spelled(name_in_path(request)))

    def one(
        request: AnyRequest, fields: str | None, include: Include, **which: str
    ) -> ASGIResponse:
        caller: str = request.user.name
        access: Access = request.auth
        given = {"fields": fields, "include": include}

        def small() -> Finished:
            body, more = read(access, given, LOOP_BYTES, **which)
            return Finished(body, **more)

        def large() -> Finished:
            body, more = read(access, given, None, **which)
            return Large(body, caller, services.streams, **more)

        async def in_thread(request: AnyRequest) -> ASGIResponse:
            return await services.heavy_read(request, large)

        async def of_database(request: AnyRequest) -> ASGIResponse:
            try:
                return await services.light_read(request, small)
            except EntityTooLarge:
                return await in_thread(request)

        if stores.is_shared:
            return Deferred(of_database)
        try:
            return small()
        except EntityTooLarge:
            return Deferred(in_thread)

    def read(
        access: Access, given: Mapping[str, Any], most_bytes: int | None, **which: str
    ) -> tuple[bytes, dict[str, Any]]:
        return read_entity(services, kind, access, given, most_bytes, **which)

    async def attached(
        request: AnyRequest, to_id: UUID, to_type: str, fields: str | None, include: Include
    ) -> Finished:
        caller: str = request.user.name
        wanted = str(to_id)

        def work() -> Finished:
            entity_id = _attached(kind, stores, wanted, to_type, include)
            given = {"fields": fields, "include": include}
            body, more = read(request.auth, given, None, entity_id=entity_id)
            return Large(body, caller, services.streams, **more)

        return await services.heavy_read(request, work)

    def versions(request: AnyRequest, entity_id: str) -> Heavy:
        revisions = history.versions(stores.log, kind, id_in_path(entity_id))
        return heavy(request, _history(kind, (show(request, each) for each in revisions)))

    def version(request: AnyRequest, entity_id: str, version: str) -> Heavy:
        wanted = id_in_path(entity_id)

        def make() -> bytes:
            return show(request, history.version(stores.log, kind, wanted, version))

        return heavy(request, _single_chunk(make))

    def show(request: AnyRequest, revision: history.Revision) -> bytes:
        withheld: Withheld | None = request.auth.withheld(Action.VIEW, kind.name)
        if withheld is None:
            return document.encode(revision.document())
        # The change description is left out: it holds old and new values of any field.
        return withheld.cut(document.encode(document.fields(revision.entity)))

    def shown_alone(key: str) -> Callable[..., Any]:
        def show_key(request: AnyRequest, entity_id: str) -> ASGIResponse:
            return one(request, key, Include.NON_DELETED, entity_id=id_in_path(entity_id))

        return show_key

    listing, viewing = (Permission(action, kind.name) for action in (Action.LIST, Action.VIEW))
    single = single_parameters(kind)
    # Nothing that asks a database is for the event loop.
    revision = None if stores.is_shared else stores.entities.revision
    item, named = f"{path}/{{entity_id:str}}", f"{path}/name/{{fqn:path}}"
    by_attachment = []
    if kind.agreement is not None:
        key = kind.agreement.about
        place = {**_attachment_parameters(key), **single}
        by_attachment = [route("GET", f"{path}/{key}", viewing, attached, place)]
    return [
        *by_attachment,
        route(
            "GET",
            path,
            listing,
            list_entities,
            list_parameters(kind),
            unsupported=unsupported_parameters(kind.name),
            revision=revision,
        ),
        route("GET", item, viewing, by_id, {**ENTITY_ID, **single}, revision=revision),
        route("GET", named, viewing, by_name, {**FQN, **single}, revision=revision),
        *(
            route("GET", f"{item}/{key}", viewing, shown_alone(key), ENTITY_ID)
            for key in kind.own_paths.deleted
        ),
        route("GET", f"{item}/versions", viewing, versions, ENTITY_ID),
        route(
            "GET",
            f"{item}/versions/{{version:str}}",
            viewing,
            version,
            {**ENTITY_ID, **_VERSION},
        ),
    ]


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
        found = reader.head(MAX_ENTITY_BYTES).entities
    if found:
        _, entity_id, core, _ = found[0]
        attached_to: dict[str, str] = msgspec.json.decode(core)[kind.agreement.about]
        if attached_to["type"] == to_type:
            return entity_id
    raise NotFound(f"no {kind.name} is attached to the {to_type} {to_id}")


_KINDS: Any = Literal.__getitem__(tuple(KINDS))


def _attachment_parameters(key: str) -> Parameters:
    """The parameters that say which entity another one is attached to."""
    return {
        "to_id": (
            Annotated[UUID, QueryParameter(name=f"{key}Id", description=f"Id of the {key}.")],
            ...,
        ),
        "to_type": (
            Annotated[_KINDS, QueryParameter(name=f"{key}Type", description=f"Kind of the {key}.")],
            ...,
        ),
    }


def _single_chunk(make: Callable[[], bytes]) -> Generator[bytes]:
    """An answer in a single chunk, made when the chunk is asked for."""
    yield make()


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


_VERSION: Parameters = {
    "version": (Annotated[str, PathParameter(description="Decimal version, as 0.2.")], ...)
}
