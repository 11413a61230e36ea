"""What profilers report of tables: profiles over time, and samples of rows."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter

from api.bodies import JSON_TYPES, check_media_type, has_left, read_body
from api.permissions import Access, Action, Permission
from api.responses import Finished, Large
from api.routes.declared_query import Parameters, QueryParameter
from api.routes.signatures import route
from api.services import Services
from domain import names
from domain.bodies.refused_values import explained
from domain.errors import InvalidInput, NotFound
from domain.ids import parse_id
from domain.json_input import decode
from domain.kinds import EntityKind
from domain.measurements.reports import (
    COLUMN,
    SAMPLE,
    SYSTEM,
    TABLE,
    Point,
    TableProfileReport,
    TableSample,
    column_part,
)
from domain.registry import KINDS
from projections.entities.single_entities import EntityAnswer, read_one

MOST_LISTED = 1_000
"""The largest `limit` of a page of measurements."""
_PAGE_BYTES = 1_000_000
_FOREVER = 2**53 - 1

AnyRequest = Request[Any, Any, Any]
ProfileType = Literal["table", "column", "system"]

TABLE_IN_PATH: Parameters = {
    "table": (Annotated[str, PathParameter(description="Id or qualified name.")], ...)
}
PERIOD: Parameters = {
    "start_ts": (
        Annotated[
            int | None,
            QueryParameter(
                name="startTs", ge=0, le=_FOREVER, description="From this time on, in milliseconds."
            ),
        ],
        None,
    ),
    "end_ts": (
        Annotated[
            int | None,
            QueryParameter(
                name="endTs", ge=0, le=_FOREVER, description="Up to this time, in milliseconds."
            ),
        ],
        None,
    ),
    "limit": (
        Annotated[int, QueryParameter(ge=1, le=MOST_LISTED, description="Of a page.")],
        MOST_LISTED,
    ),
    "after": (
        Annotated[
            int | None, QueryParameter(description="`paging.after` of the page before this one.")
        ],
        None,
    ),
}
_DELETED: Parameters = {
    "profile_type": (
        Annotated[ProfileType, PathParameter(description="What of the table to delete.")],
        ...,
    ),
    "at": (Annotated[int, PathParameter(description="Time of the profile.")], ...),
}


def measurement_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of profiles and samples of tables."""
    kind = KINDS["table"]
    store = services.measurements

    async def put_profile(request: AnyRequest, table: str) -> Finished:
        def points(body: bytes) -> Iterable[Point]:
            return report(body, TableProfileReport).points()

        def shown(entity: EntityAnswer, _: bytes) -> bytes:
            return visible(request.auth, Action.EDIT, kind, entity)

        return await write(services, request, kind, table, points, shown)

    async def latest(request: AnyRequest, table: str) -> Finished:
        def work() -> bytes:
            entity = find(services, kind, table)
            access: Access = request.auth
            whole = msgspec.json.decode(visible(access, Action.VIEW, kind, entity))
            entity_id = id_of(entity)
            if newest := store.newest(entity_id, TABLE):
                whole["profile"] = msgspec.Raw(newest[""])
            if "columns" in whole:
                add_profiles(whole["columns"], store.newest(entity_id, COLUMN), "")
            return msgspec.json.encode(whole)

        return await read(services, request, work)

    def listing(series: str) -> Callable[..., Any]:
        async def listed(request: AnyRequest, table: str, **period: Any) -> Finished:
            def work() -> bytes:
                name, part = _column(table) if series == COLUMN else (table, None)
                if series == COLUMN and (withheld := request.auth.withheld(Action.VIEW, "table")):
                    withheld.refuse_field("columns", "columnProfile")
                entity = find(services, kind, name)
                return page(services, id_of(entity), series, part, **period)

            return await read(services, request, work)

        return listed

    async def delete_profile(
        request: AnyRequest, table: str, profile_type: ProfileType, at: int
    ) -> Finished:
        def work() -> bytes:
            entity = find(services, kind, table)
            if at > _FOREVER or not store.delete(id_of(entity), profile_type, at):
                raise NotFound(f"the table has no {profile_type} profile of {at}")
            return visible(request.auth, Action.EDIT, kind, entity)

        return await change(services, request, work)

    async def put_sample(request: AnyRequest, table: str) -> Finished:
        def points(body: bytes) -> Iterable[Point]:
            return report(body, TableSample).points(now())

        def shown(entity: EntityAnswer, body: bytes) -> bytes:
            whole = visible(request.auth, Action.EDIT, kind, entity)
            return with_member(whole, "sampleData", body)

        return await write(services, request, kind, table, points, shown)

    async def get_sample(request: AnyRequest, table: str) -> Finished:
        def work() -> bytes:
            if withheld := request.auth.withheld(Action.VIEW, "table"):
                withheld.refuse_field("columns", "sampleData")
            entity = find(services, kind, table)
            whole = visible(request.auth, Action.VIEW, kind, entity)
            newest = store.newest(id_of(entity), SAMPLE)
            return with_member(whole, "sampleData", newest[""]) if newest else whole

        return await read(services, request, work)

    async def delete_sample(request: AnyRequest, table: str) -> Finished:
        def work() -> bytes:
            entity = find(services, kind, table)
            store.delete(id_of(entity), SAMPLE)
            return visible(request.auth, Action.EDIT, kind, entity)

        return await change(services, request, work)

    viewing, editing = Permission(Action.VIEW, "table"), Permission(Action.EDIT, "table")
    sampling = Permission(Action.VIEW, "table", also=Action.SAMPLE)
    path = f"/v1/{kind.collection}/{{table:str}}"
    one = TABLE_IN_PATH
    listed = {**one, **PERIOD}
    return [
        route("PUT", f"{path}/tableProfile", editing, put_profile, one),
        route("GET", f"{path}/tableProfile", viewing, listing(TABLE), listed),
        route("GET", f"{path}/tableProfile/latest", viewing, latest, one),
        route("GET", f"{path}/columnProfile", viewing, listing(COLUMN), listed),
        route("GET", f"{path}/systemProfile", viewing, listing(SYSTEM), listed),
        route(
            "DELETE",
            f"{path}/{{profile_type:str}}/{{at:int}}/profile",
            editing,
            delete_profile,
            {**one, **_DELETED},
        ),
        route("PUT", f"{path}/sampleData", editing, put_sample, one),
        route("GET", f"{path}/sampleData", sampling, get_sample, one),
        route("DELETE", f"{path}/sampleData", editing, delete_sample, one),
    ]


T = TypeVar("T", bound=msgspec.Struct)


def report(body: bytes, expected: type[T]) -> T:
    """What a body reports; raises InvalidInput naming the key that does not fit."""
    values = decode(body, dict[str, Any], "the body")
    try:
        return msgspec.convert(values, expected)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the body: {explained(error, expected)}") from None


async def read_report(request: AnyRequest) -> bytes:
    """The body of a report; raises InvalidInput for a condition, which needs a version."""
    for name in ("if-match", "if-none-match"):
        if name in request.headers:
            raise InvalidInput(f"{name} means a version of an entity, and measurements have none")
    check_media_type(request.headers.get("content-type"), JSON_TYPES)
    return await read_body(request)


async def write(
    services: Services,
    request: AnyRequest,
    kind: EntityKind,
    which: str,
    points: Callable[[bytes], Iterable[Point]],
    shown: Callable[[EntityAnswer, bytes], bytes],
) -> Finished:
    """Store what the body of a request reports of an entity, in the caller's turn.

    `points` makes points of the body, `shown` the answer of the entity and the body.
    """
    body = await read_report(request)

    def work() -> bytes:
        reported = points(body)
        entity = find(services, kind, which)
        services.measurements.write(id_of(entity), reported, now())
        return shown(entity, body)

    return await change(services, request, work)


async def change(services: Services, request: AnyRequest, work: Callable[[], bytes]) -> Finished:
    """The answer that a change of measurements makes, when it is its caller's turn."""
    caller: str = request.user.name
    left = partial(has_left, request.receive)
    answer = await services.measure(caller, work, left)
    return Large(answer, caller, services.streams)


async def read(services: Services, request: AnyRequest, work: Callable[[], bytes]) -> Finished:
    """The answer that a read makes in the threads of heavy reads."""
    caller: str = request.user.name
    answer = await services.heavy_read(request, work)
    return Large(answer, caller, services.streams)


def find(services: Services, kind: EntityKind, which: str) -> EntityAnswer:
    """The live entity with this id or qualified name, whole; raises NotFound."""
    entity_id = fqn = None
    try:
        entity_id = parse_id(which, "id")
    except InvalidInput:
        fqn = kind.spelled(which)
    with services.stores.entities.use() as entities:
        return read_one(entities, kind, entity_id=entity_id, fqn=fqn)


class _Identified(msgspec.Struct):
    id: str


def id_of(entity: EntityAnswer) -> str:
    """The id of an entity that was read."""
    return msgspec.json.decode(entity.body, type=_Identified).id


def visible(access: Access, action: Action, kind: EntityKind, entity: EntityAnswer) -> bytes:
    """The JSON of an entity as far as both an action and `view` show it to a caller."""
    body = entity.body
    if not access.may(Permission(Action.VIEW, kind.name)):
        return b'{"id":%b}' % msgspec.json.encode(id_of(entity))
    for withheld in (access.withheld(action, kind.name), access.withheld(Action.VIEW, kind.name)):
        if withheld:
            body = withheld.cut(body)
    return body


def with_member(whole: bytes, key: str, value: bytes) -> bytes:
    """A JSON object with one more member at its end."""
    return b"%b,%b:%b}" % (whole.rstrip()[:-1], msgspec.json.encode(key), value.strip())


def page(
    services: Services,
    entity_id: str,
    series: str,
    part: str | None,
    *,
    start_ts: int | None,
    end_ts: int | None,
    limit: int,
    after: int | None,
    shown: Callable[[bytes], bytes] = lambda body: body,
) -> bytes:
    """A page of a series of an entity, the newest first, as OpenMetadata's lists are written.

    `shown` makes of the JSON of a point what the caller may see of it.
    """
    found = services.measurements.page(
        entity_id,
        series,
        part,
        since=_bounded(start_ts, 0),
        until=_bounded(end_ts, _FOREVER),
        before=None if after is None else _bounded(after, 0),
        limit=limit,
        most_bytes=_PAGE_BYTES,
    )
    paging: dict[str, int | str] = {"total": found.total}
    if found.more:
        paging["after"] = str(found.points[-1][0])
    data = b",".join(shown(body) for _, body in found.points)
    return b'{"data":[%b],"paging":%b}' % (data, msgspec.json.encode(paging))


def _bounded(given: int | None, default: int) -> int:
    """A time that the store can compare with."""
    return default if given is None else max(min(given, _FOREVER), -_FOREVER)


def _column(fqn: str) -> tuple[str, str]:
    """The qualified name of a column's table, and the column as the store names it."""
    parts = names.split(fqn)
    if len(parts) <= names.TABLE_PARTS:
        raise InvalidInput(f"{fqn[:80]!r} is not the qualified name of a column")
    return names.join(parts[: names.TABLE_PARTS]), ".".join(parts[names.TABLE_PARTS :])


def add_profiles(columns: list[dict[str, Any]], newest: dict[str, bytes], above: str) -> None:
    """Put the profile of each column, at every depth, into the column."""
    for column in columns:
        part = f"{above}{column_part(column['name'])}"
        if part in newest:
            column["profile"] = msgspec.Raw(newest[part])
        add_profiles(column.get("children", []), newest, f"{part}.")


def now() -> int:
    """The time in milliseconds since 1970."""
    return int(time.time() * 1_000)
