"""The columns of a table, a page at a time."""

from typing import Annotated, Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, QueryParameter
from api.declaring.signatures import ENTITY_ID, FQN, id_in_path, name_in_path, route
from api.paths.reroutes import COLUMNS_OF
from api.routes.measurements.profiles import add_profiles
from api.services import Services
from api.use_cases.measured import AnyRequest, id_of, read, visible
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from domain.measurements.reports import COLUMN
from projections.entities.port import Include
from projections.entities.single_entities import read_one

FIELDS = ("tags", "customMetrics", "extension", "profile")
"""What `fields` may name; there are no custom metrics."""
_UNASKED = ("tags", "extension")
"""Keys of columns that are shown when they are asked for."""
MOST_COLUMNS = 1_000

_PAGE: Parameters = {
    "limit": (
        Annotated[int, QueryParameter(ge=1, le=MOST_COLUMNS, description="Columns on the page.")],
        50,
    ),
    "offset": (
        Annotated[int, QueryParameter(ge=0, le=2**31, description="Columns before the page.")],
        0,
    ),
    "fields": (
        Annotated[
            str | None,
            QueryParameter(description=f"Comma-separated optional fields: {', '.join(FIELDS)}."),
        ],
        None,
    ),
    "include": (
        Annotated[Include, QueryParameter(description="By deletion state.")],
        Include.NON_DELETED,
    ),
    "sort_by": (
        Annotated[
            Literal["name", "ordinalPosition"],
            QueryParameter(name="sortBy", description="By name, or in the order of the table."),
        ],
        "ordinalPosition",
    ),
    "sort_order": (
        Annotated[
            Literal["asc", "desc"],
            QueryParameter(name="sortOrder", description="Which end comes first."),
        ],
        "asc",
    ),
}


def column_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of the columns of a table, by its id and by its name."""
    kind = KINDS["table"]

    async def by_id(request: AnyRequest, entity_id: str, **page: Any) -> Finished:
        return await shown(request, id_in_path(entity_id), None, **page)

    async def by_name(request: AnyRequest, fqn: str, **page: Any) -> Finished:
        return await shown(request, None, name_in_path(request, COLUMNS_OF.encode()), **page)

    async def shown(
        request: AnyRequest,
        entity_id: str | None,
        fqn: str | None,
        *,
        limit: int,
        offset: int,
        fields: str | None,
        include: Include,
        sort_by: str,
        sort_order: str,
    ) -> Finished:
        access: Access = request.auth
        asked = _asked(fields)
        withheld = access.withheld(Action.VIEW, kind.name)
        if withheld:
            withheld.refuse_field("columns", "columns")
            for each in asked:
                withheld.refuse_field(f"columns.{each}", "fields")

        def work() -> bytes:
            with services.stores.entities.use() as entities:
                entity = read_one(entities, kind, entity_id=entity_id, fqn=fqn, include=include)
            whole = msgspec.json.decode(visible(access, Action.VIEW, kind, entity))
            columns = whole.get("columns", [])
            if sort_by == "name":
                columns.sort(key=lambda column: column["name"])
            if sort_order == "desc":
                columns.reverse()
            page = columns[offset : offset + limit]
            _cut(page, [key for key in _UNASKED if key not in asked])
            if "profile" in asked:
                add_profiles(page, services.measurements.newest(id_of(entity), COLUMN), "")
            paging = {"total": len(columns), "offset": offset, "limit": limit}
            return msgspec.json.encode({"data": page, "paging": paging})

        return await read(services, request, work)

    viewing = Permission(Action.VIEW, kind.name)
    item = f"/v1/{kind.collection}/{{entity_id:str}}/columns"
    return [
        route("GET", item, viewing, by_id, {**ENTITY_ID, **_PAGE}, unsupported={}),
        route(
            "GET",
            f"{COLUMNS_OF}{{fqn:path}}",
            viewing,
            by_name,
            {**FQN, **_PAGE},
            unsupported={},
        ),
    ]


def _asked(fields: str | None) -> tuple[str, ...]:
    """The fields that are asked for; raises InvalidInput for one that columns do not have."""
    asked = [each.strip() for each in fields.split(",")] if fields else []
    for each in asked:
        if each not in (*FIELDS, "*"):
            raise InvalidInput(f"fields of columns are {', '.join(FIELDS)}, got {each[:64]!r}")
    return FIELDS if "*" in asked else tuple(asked)


def _cut(columns: list[dict[str, Any]], keys: list[str]) -> None:
    """Take keys out of columns, at every depth."""
    for column in columns:
        for key in keys:
            column.pop(key, None)
        _cut(column.get("children", []), keys)
