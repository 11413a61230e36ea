"""How often tables and their columns are joined, as a run of the usage workflow reports it."""

from collections.abc import Iterator
from datetime import UTC, date, datetime

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.permissions import Access, Action, Permission
from api.responses import Finished
from api.routes.measurements import (
    TABLE_IN_PATH,
    AnyRequest,
    change,
    find,
    id_of,
    now,
    read_report,
    report,
    visible,
    with_member,
)
from api.routes.signatures import route
from api.services import Services
from domain import names
from domain.errors import InvalidInput, shown
from domain.kinds import EntityKind
from domain.measurements.joins import Side, TableJoins, first_day, joined_points, summed
from domain.measurements.reports import JOIN, moment_of
from domain.registry import KINDS
from projections.entities.single_entities import EntityAnswer

_MOST_SHOWN = 10_000
MOST_TABLE_BYTES = 64_000_000
"""How large the tables that one report names may be together, as they are read for it."""
_MOST_BYTES = 4_000_000


def join_routes(services: Services) -> list[HTTPRouteHandler]:
    """The route that reports joins; reads of a single table show them when asked."""
    kind = KINDS["table"]

    async def put(request: AnyRequest, table: str) -> Finished:
        body = await read_report(request)

        def work() -> bytes:
            access: Access = request.auth
            refuse_joins(access, Action.EDIT)
            given = report(body, TableJoins)
            entity = find(services, kind, table)
            tables = _Tables(services)
            points = joined_points(given, tables.seen(entity), tables, _today())
            services.measurements.write_all(points, now())
            whole = visible(access, Action.EDIT, kind, entity)
            if not access.may(Permission(Action.VIEW, kind.name)):
                return whole
            return with_member(whole, "joins", joins_of(services, id_of(entity)))

        return await change(services, request, work)

    path = f"/v1/{kind.collection}/{{table:str}}/joins"
    return [route("PUT", path, Permission(Action.EDIT, "table"), put, TABLE_IN_PATH)]


def refuse_joins(access: Access, action: Action) -> None:
    """Raise FieldWithheld where a caller does not see the columns, which joins are of."""
    for each in (action, Action.VIEW):
        if withheld := access.withheld(each, "table"):
            withheld.refuse_field("columns", "joins")


def asks_for_joins(kind: EntityKind, fields: str | None) -> bool:
    """Whether a read of a table names its joins, which `*` does not stand for."""
    return kind.name == "table" and "joins" in [each.strip() for each in (fields or "").split(",")]


def joins_of(services: Services, table_id: str) -> bytes:
    """The joins of a table in the last days, as JSON."""
    today = _today()
    found = services.measurements.page(
        table_id,
        JOIN,
        None,
        since=moment_of(first_day(today)),
        until=moment_of(today),
        before=None,
        limit=_MOST_SHOWN,
        most_bytes=_MOST_BYTES,
    )
    return msgspec.json.encode(summed((body for _, body in found.points), today))


class _Column(msgspec.Struct, rename="camel"):
    name: str
    fully_qualified_name: str
    children: "list[_Column] | None" = None


class _Table(msgspec.Struct, rename="camel"):
    id: str
    fully_qualified_name: str
    columns: list[_Column] | None = None


class _Tables:
    """The columns of tables that a report names, each table looked up once."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._known: dict[str, tuple[Side, dict[str, str]]] = {}
        self._bytes = 0

    def seen(self, entity: EntityAnswer) -> Side:
        """Remember a table that was read; raises InvalidInput for too many large ones."""
        self._bytes += len(entity.body)
        if self._bytes > MOST_TABLE_BYTES:
            raise InvalidInput(f"the tables of a report may have {MOST_TABLE_BYTES} bytes together")
        table = msgspec.json.decode(entity.body, type=_Table)
        side = Side(table.id, table.fully_qualified_name)
        columns = {each.fully_qualified_name: each.name for each in _at_all_depths(table.columns)}
        self._known[side.fqn] = side, columns
        return side

    def column(self, table: Side, name: str) -> Side:
        """The column of a table with a name."""
        return self.named(names.child(table.fqn, name), column=True)

    def named(self, fqn: str, *, column: bool) -> Side:
        """The column, or the table, with a qualified name; raises NotFound and InvalidInput."""
        parts = names.split(fqn)
        below = parts[names.TABLE_PARTS :]
        if len(parts) < names.TABLE_PARTS or bool(below) is not column:
            what = "a column" if column else "a table"
            raise InvalidInput(f"{shown(fqn)} is not the qualified name of {what}")
        table = names.join(parts[: names.TABLE_PARTS])
        if table not in self._known:
            self.seen(find(self._services, KINDS["table"], table))
        side, columns = self._known[table]
        if not column:
            return side
        if (name := columns.get(names.join(parts))) is None:
            raise InvalidInput(f"{table!r} has no column {shown(names.join(below))}")
        return Side(
            side.table_id, names.join(parts), name if len(below) == 1 else names.join(below)
        )


def _at_all_depths(columns: list[_Column] | None) -> Iterator[_Column]:
    for each in columns or ():
        yield each
        yield from _at_all_depths(each.children)


def _today() -> date:
    return datetime.now(UTC).date()
