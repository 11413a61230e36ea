"""The columns of a table, a page at a time."""

from typing import Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest, id_in_path, name_in_path
from api.paths.base_path import COLUMNS_OF
from api.routes.measurements.reports import add_profiles
from api.services import Services
from api.use_cases.list_parameters import named_in
from api.use_cases.measured import id_of, reading, visible
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from domain.measurements.reports import COLUMN
from projections.entities.list_port import Include
from projections.entities.single_entities import read_one

FIELDS = ("tags", "customMetrics", "extension", "profile")
"""Names that `fields` may have; there are no custom metrics."""
_UNASKED = ("tags", "extension")
"""Keys of columns that are shown when they are asked for."""
MOST_COLUMNS = 1_000

_PAGE: Parameters = {
    "limit": query(int, "Columns on the page.", 50, ge=1, le=MOST_COLUMNS),
    "offset": query(int, "Columns before the page.", 0, ge=0, le=2**31),
    "fields": query(str, f"Comma-separated optional fields: {', '.join(FIELDS)}."),
    "include": query(Include, "By deletion state.", Include.NON_DELETED),
    "sort_by": query(
        Literal["name", "ordinalPosition"],
        "By name, or in the order of the table.",
        "ordinalPosition",
    ),
    "sort_order": query(Literal["asc", "desc"], "Which end comes first.", "asc"),
}


def column_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of the columns of a table, by its id and by its name."""
    kind = KINDS["table"]

    def shown(
        request: AnyRequest,
        limit: int,
        offset: int,
        fields: str | None,
        include: Include,
        sort_by: str,
        sort_order: str,
        **where: str,
    ) -> bytes:
        entity_id = fqn = None
        if "entity_id" in where:
            entity_id = id_in_path(where["entity_id"])
        else:
            fqn = name_in_path(request.scope, COLUMNS_OF.encode())
        access: Access = request.auth
        asked = _asked(fields)
        withheld = access.withheld(Action.VIEW, kind.name)
        if withheld:
            withheld.refuse_field("columns", "columns")
            for each in asked:
                withheld.refuse_field(f"columns.{each}", "fields")
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

    columns = reading(services, shown)
    viewing = Permission(Action.VIEW, kind.name)
    item = f"/v1/{kind.collection}/{{entity_id:str}}/columns"
    listed = Operation("listTableColumns", "List the columns of a table", answer="ColumnPage")
    named = replace(
        listed,
        id="listTableColumnsByFQN",
        summary="List the columns of a table by its qualified name",
        path="/v1/tables/name/{fqn}/columns",
    )
    return [
        listed.at("GET", item, viewing, columns, _PAGE, unsupported={}),
        named.at("GET", f"{COLUMNS_OF}{{fqn:path}}", viewing, columns, _PAGE, unsupported={}),
    ]


def _asked(fields: str | None) -> tuple[str, ...]:
    """The fields that are asked for; raises InvalidInput for one that columns do not have."""
    asked = named_in(fields)
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
