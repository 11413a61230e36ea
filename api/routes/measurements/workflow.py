"""Reports of a run of the usage workflow: joins of tables, and costs of queries."""

from collections.abc import Iterator

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import Operation, Report
from api.declaring.signatures import AnyRequest
from api.routes.measurements.reports import MEASURED, STORED
from api.services import Services
from api.use_cases.measured import (
    find,
    id_of,
    joins_of,
    reading,
    refuse_joins,
    report,
    reporting,
    today,
    visible,
    with_member,
)
from domain.errors import InvalidInput, NotFound, shown
from domain.kinds import names
from domain.kinds.bodies.components import Identified, Reference
from domain.kinds.registry import KINDS
from domain.machine import clock
from domain.measurements.costs import CostSums, QueryCost
from domain.measurements.joins import Side, TableJoins, joined_points
from projections.entities.single_entities import EntityAnswer

MOST_TABLE_BYTES = 64_000_000
"""The most bytes of the tables together that one report names, as they are read for it."""


def join_routes(services: Services) -> list[HTTPRouteHandler]:
    """The route that reports joins; reads of a single table show them when asked."""
    kind = KINDS["table"]

    def put(request: AnyRequest, body: bytes, table: str) -> bytes:
        access: Access = request.auth
        refuse_joins(access, Action.EDIT)
        given = report(body, TableJoins)
        entity = find(services, kind, table)
        tables = _Tables(services)
        points = joined_points(given, tables.seen(entity), tables.named, today())
        services.measurements.write_all(points, clock.now())
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

    def named(self, fqn: str, column: bool) -> Side:
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


PATH = "/v1/queryCostRecord"


class _Query(msgspec.Struct, rename="camel"):
    """The part of a query that is shown beside its costs."""

    id: str
    name: str
    fully_qualified_name: str
    query: str
    service: Identified
    users: list[Reference] | None = None


class QueryGroup(msgspec.Struct, rename="camel"):
    """A query and what its runs have cost."""

    query_text: str
    users: list[str]
    total_cost: float
    total_count: int
    total_duration: float
    avg_duration: float
    query_details: dict[str, dict[str, str]]


class OverallStats(msgspec.Struct, rename="camel"):
    """Costs of the runs of all queries of a service."""

    total_cost: float
    min_cost: float
    max_cost: float
    avg_cost: float
    total_execution_count: int


class QueryCosts(msgspec.Struct, rename="camel"):
    """The dearest queries of a service, and all of its queries together."""

    query_groups: list[QueryGroup]
    overall_stats: OverallStats


def query_cost_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of costs of queries: reported one by one, shown by service."""
    kind = KINDS["query"]

    def add(request: AnyRequest, body: bytes) -> bytes:
        given = report(body, QueryCost)
        reference = given.query_reference
        if reference.type not in (None, kind.name):
            raise InvalidInput(f"queryReference.type must be {kind.name}")
        which = reference.id or reference.fully_qualified_name
        if which is None:
            raise InvalidInput("queryReference needs `id` or `fullyQualifiedName`")
        query = msgspec.json.decode(find(services, kind, which).body, type=_Query)
        bare = Reference(type=kind.name, id=query.id)
        fqn = query.fully_qualified_name
        record = given.of(replace(bare, name=query.name, fully_qualified_name=fqn))
        services.measurements.write(query.id, record.points(query.service.id), clock.now())
        if not request.auth.may(Permission(Action.VIEW, kind.name)):
            record = replace(record, query_reference=bare)
        return msgspec.json.encode(record)

    def shown(request: AnyRequest, service: str) -> bytes:
        access: Access = request.auth
        if withheld := access.withheld(Action.VIEW, kind.name):
            withheld.refuse_field("users", "costs")
        if not access.may(Permission(Action.VIEW, "databaseService")):
            raise NotFound(f"databaseService instance for {service[:80]!r} not found")
        entity_id = id_of(find(services, KINDS["databaseService"], service))
        sums = services.measurements.query_costs(entity_id)
        return msgspec.json.encode(_costs(services, sums))

    return [
        Report(
            "addQueryCost",
            "Report what runs of a query have cost",
            STORED,
            answer=QueryCost,
            body=QueryCost,
            tag="queries",
        ).at("POST", PATH, Permission(Action.EDIT, kind.name), reporting(services, add)),
        Operation(
            "getQueryCosts",
            "Get what the queries of a service have cost",
            "All of them together, and those that have cost most one by one.",
            answer=QueryCosts,
            tag="queries",
        ).at(
            "GET",
            f"{PATH}/service/{{service:str}}",
            Permission(Action.VIEW, kind.name),
            reading(services, shown),
        ),
    ]


def _costs(services: Services, sums: list[CostSums]) -> QueryCosts:
    whole, *queries = sums or [CostSums("", 0, 0, 0, 0, 0)]
    groups = []
    for each in queries:
        try:
            entity = find(services, KINDS["query"], each.entity_id)
        except NotFound:
            continue  # deleted since
        query = msgspec.json.decode(entity.body, type=_Query)
        groups.append(
            QueryGroup(
                query_text=query.query,
                users=[user.name or "" for user in query.users or ()],
                total_cost=each.total,
                total_count=int(each.runs),
                total_duration=each.duration,
                avg_duration=each.duration / each.runs if each.runs else 0.0,
                query_details={
                    "query": {
                        "id": query.id,
                        "name": query.name,
                        "fullyQualifiedName": query.fully_qualified_name,
                    }
                },
            )
        )
    return QueryCosts(
        query_groups=groups,
        overall_stats=OverallStats(
            total_cost=whole.total,
            min_cost=whole.least,
            max_cost=whole.most,
            avg_cost=whole.total / whole.runs if whole.runs else 0.0,
            total_execution_count=int(whole.runs),
        ),
    )
