"""How often tables and their columns are joined, as a run of the usage workflow reports it."""

from collections.abc import Iterator

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import Report
from api.declaring.signatures import AnyRequest
from api.routes.measurements.reports import MEASURED, STORED
from api.services import Services
from api.use_cases.measured import (
    find,
    id_of,
    joins_of,
    now,
    refuse_joins,
    report,
    reporting,
    today,
    visible,
    with_member,
)
from domain.errors import InvalidInput, shown
from domain.kinds import names
from domain.kinds.registry import KINDS
from domain.measurements.joins import Side, TableJoins, joined_points
from projections.entities.single_entities import EntityAnswer

MOST_TABLE_BYTES = 64_000_000
"""How large the tables that one report names may be together, as they are read for it."""


def join_routes(services: Services) -> list[HTTPRouteHandler]:
    """The route that reports joins; reads of a single table show them when asked."""
    kind = KINDS["table"]

    def put(request: AnyRequest, body: bytes, table: str) -> bytes:
        access: Access = request.auth
        refuse_joins(access, Action.EDIT)
        given = report(body, TableJoins)
        entity = find(services, kind, table)
        tables = _Tables(services)
        points = joined_points(given, tables.seen(entity), tables, today())
        services.measurements.write_all(points, now())
        whole = visible(access, Action.EDIT, kind, entity)
        if not access.may(Permission(Action.VIEW, kind.name)):
            return whole
        return with_member(whole, "joins", joins_of(services, id_of(entity)))

    operation = Report(
        "addTableJoins",
        "Report what a table was joined with on a day",
        f"In place of what was reported of the same columns and day. {STORED} A read of the table"
        " shows the `joins` of 30 days where `fields` names them, those that were reported of the"
        " other tables included.",
        answer=MEASURED,
        body=TableJoins,
    )
    path = f"/v1/{kind.collection}/{{table:str}}/joins"
    editing = Permission(Action.EDIT, kind.name)
    return [operation.at("PUT", path, editing, reporting(services, put))]


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
