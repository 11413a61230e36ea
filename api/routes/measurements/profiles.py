"""What profilers report of tables: profiles over time, and samples of rows."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter

from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, QueryParameter
from api.declaring.signatures import route
from api.services import Services
from api.use_cases.measured import (
    FOREVER,
    AnyRequest,
    change,
    find,
    id_of,
    now,
    page,
    read,
    report,
    visible,
    with_member,
    write,
)
from domain.errors import InvalidInput, NotFound
from domain.kinds import names
from domain.kinds.registry import KINDS
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
from projections.entities.single_entities import EntityAnswer

MOST_LISTED = 1_000
"""The largest `limit` of a page of measurements."""

ProfileType = Literal["table", "column", "system"]

TABLE_IN_PATH: Parameters = {
    "table": (Annotated[str, PathParameter(description="Id or qualified name.")], ...)
}
PERIOD: Parameters = {
    "start_ts": (
        Annotated[
            int | None,
            QueryParameter(
                name="startTs", ge=0, le=FOREVER, description="From this time on, in milliseconds."
            ),
        ],
        None,
    ),
    "end_ts": (
        Annotated[
            int | None,
            QueryParameter(
                name="endTs", ge=0, le=FOREVER, description="Up to this time, in milliseconds."
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
            if at > FOREVER or not store.delete(id_of(entity), profile_type, at):
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
