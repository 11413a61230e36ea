"""What queries have cost, as a run of the usage workflow reports it."""

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import Operation, Report
from api.declaring.signatures import AnyRequest
from api.routes.measurements.reports import STORED
from api.services import Services
from api.use_cases.measured import find, id_of, now, reading, report, reporting
from domain.errors import InvalidInput, NotFound
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS
from domain.measurements.costs import CostSums, QueryCost

PATH = "/v1/queryCostRecord"


class _Service(msgspec.Struct):
    id: str


class _Query(msgspec.Struct, rename="camel"):
    """What is shown of a query beside its costs."""

    id: str
    name: str
    fully_qualified_name: str
    query: str
    service: _Service
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
    """What the runs of all queries of a service have cost."""

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
        services.measurements.write(query.id, record.points(query.service.id), now())
        if not request.auth.may(Permission(Action.VIEW, kind.name)):
            record = replace(record, query_reference=bare)
        return msgspec.json.encode(record)

    def shown(request: AnyRequest, service: str) -> bytes:
        access: Access = request.auth
        if withheld := access.withheld(Action.VIEW, kind.name):
            withheld.refuse_field("users", "costs")
        if not access.may(Permission(Action.VIEW, "databaseService")):
            raise NotFound(f"databaseService instance for {service[:80]!r} not found")
        found = find(services, KINDS["databaseService"], service)
        sums = services.measurements.query_costs(id_of(found))
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
