"""What each operation takes and answers, which Litestar cannot see: handlers work on bytes.

Every route needs an `Operation` here; the document cannot be built without it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from api.answers.responses import JSON
from api.openapi.measurements import MEASUREMENT_OPERATIONS
from api.openapi.operation import Operation
from api.openapi.parameters import KNOWN_VERSION, REQUEST_HEADERS
from api.routes.system import audit

READ_ERRORS = (400, 503)
_ONE_ERRORS = (400, 404, 503)
WRITE_ERRORS = (400, 404, 408, 409, 412, 413, 415, 503)
GUARD_ERRORS = (401, 403, 429)
"""Statuses that every route with a token may answer."""
_ENTITY_HEADERS = ("ETag", "X-Catalog-Position")
WRITTEN = ("X-Catalog-Position", "X-Catalog-Lists")
"""Headers of every answer to a write."""
WRITE_HEADERS = ("ETag", *WRITTEN, "X-OpenMetadata-Change")
"""Headers of the answer to a write of one entity."""
_LARGE_ABOUT = (
    "Large fields are there without being asked for. What the last version has changed is there"
    " where `fields` names `changeDescription`, unless some field is withheld from the caller."
)
_PATCH_ABOUT = "RFC 6902, applied to the entity as it is shown, with absent arrays as []."
_AGGREGATE_ABOUT = (
    "By value, without hits. With fields of documents, each bucket has some of its documents."
)
_DELETE_ABOUT = (
    "Soft-deleted entities keep their names and can be restored. A purge of more than 1,000"
    " entities and edges is made in several transactions, the entity itself in the last."
)


def _one(id: str, summary: str) -> Operation:
    """An operation that reads one entity."""
    return Operation(
        id=id,
        summary=summary,
        about=_LARGE_ABOUT,
        answers={200: "{Kind}"},
        conditional=True,
        errors=_ONE_ERRORS,
        takes=(KNOWN_VERSION,),
        headers=_ENTITY_HEADERS,
    )


_CONDITIONS = ("If-Match", "If-None-Match")
"""Headers that say which state of an entity a write is meant for."""


def _write(
    id: str,
    summary: str,
    about: str,
    body: str | None = None,
    statuses: tuple[int, ...] = (200,),
) -> Operation:
    """An operation that changes one entity."""
    return Operation(
        id=id,
        summary=summary,
        about=about,
        answers=dict.fromkeys(statuses, "{Kind}"),
        errors=WRITE_ERRORS,
        body=body,
        body_types=(JSON, "application/json-patch+json") if body == "JsonPatch" else (JSON,),
        takes=tuple(
            name for name in REQUEST_HEADERS if name not in _CONDITIONS or statuses != (201,)
        ),
        headers=WRITE_HEADERS,
    )


def _search(
    id: str,
    summary: str,
    about: str = "",
    *,
    answers: Mapping[int, str] = MappingProxyType({200: "SearchResponse"}),
    errors: tuple[int, ...] = READ_ERRORS,
    body: str | None = None,
    media_type: str = JSON,
) -> tuple[str, Operation]:
    """An operation of the search, under its tag."""
    operation = Operation(
        id=id,
        summary=summary,
        about=about,
        answers=answers,
        errors=errors,
        body=body,
        media_type=media_type,
    )
    return "search", operation


ENTITY_OPERATIONS: Mapping[tuple[str, str], Operation] = MappingProxyType(
    {
        ("get", ""): Operation(
            id="list{Kinds}",
            summary="List {kinds}",
            about="By name. Follow `paging.after` until it is absent.",
            answers={200: "{Kind}List"},
            errors=READ_ERRORS,
        ),
        ("post", ""): _write(
            "create{Kind}",
            "Create a new {kind}",
            "409 when the name is taken.",
            body="Create{Kind}",
            statuses=(201,),
        ),
        ("put", ""): _write(
            "createOrUpdate{Kind}",
            "Create or update a {kind}",
            "Keys given as null or empty are removed, keys not given stay.",
            body="Create{Kind}",
            statuses=(200, 201),
        ),
        ("put", "/bulk"): Operation(
            id="bulkCreateOrUpdate{Kinds}",
            summary="Create or update many {kinds}",
            about="Each as a PUT after those before it: one may refer to another that comes"
            " before it. What is good is stored in one transaction; what is not is told item by"
            " item.",
            answers={200: "BulkResult"},
            errors=(400, 408, 409, 413, 415, 503),
            body="Create{Kind}List",
            takes=("X-Request-Id",),
            headers=WRITTEN,
        ),
        ("delete", "/deleteStale"): Operation(
            id="deleteStale{Kinds}",
            summary="Delete {kinds} that were not seen",
            about="Those that live below the scope and are not among `seenFqns`, some in each"
            " transaction. Where `seenFqns` is empty, or the scope is not there, nothing is"
            " deleted. What is not seen and has something below it that was seen is kept.",
            answers={200: "BulkResult"},
            errors=(400, 408, 409, 413, 415, 503),
            body="DeleteStale",
            takes=("X-Request-Id",),
            headers=WRITTEN,
        ),
        ("put", "/restore"): _write(
            "restore{Kind}",
            "Restore a soft-deleted {kind}",
            "With what was deleted by the same request.",
            body="RestoreEntity",
        ),
        ("get", "/entity"): _one("get{Kind}ByEntityId", "Get the {kind} of an entity"),
        ("get", "/{entity_id}"): _one("get{Kind}", "Get a {kind} by id"),
        ("get", "/name/{fqn}"): _one("get{Kind}ByName", "Get a {kind} by qualified name"),
        ("patch", "/{entity_id}"): _write(
            "patch{Kind}", "Patch a {kind}", _PATCH_ABOUT, "JsonPatch"
        ),
        ("patch", "/name/{fqn}"): _write(
            "patch{Kind}ByName", "Patch a {kind} by qualified name", _PATCH_ABOUT, "JsonPatch"
        ),
        ("put", "/{entity_id}/dataModel"): _write(
            "put{Kind}DataModel",
            "Put the data model of a {kind}",
            "Replaces the data model; `rawSql` and `sql` stay where none are given.",
            "DataModel",
        ),
        ("put", "/{entity_id}/tableProfilerConfig"): _write(
            "put{Kind}ProfilerConfig",
            "Put the profiler configuration of a {kind}",
            "Replaces it. Columns that it names have to be there.",
            "ProfilerConfig",
        ),
        ("get", "/{entity_id}/tableProfilerConfig"): _one(
            "get{Kind}ProfilerConfig", "Get a {kind} with its profiler configuration"
        ),
        ("delete", "/{entity_id}/tableProfilerConfig"): _write(
            "delete{Kind}ProfilerConfig", "Remove the profiler configuration of a {kind}", ""
        ),
        ("put", "/{entity_id}/usage"): _write(
            "add{Kind}Usage",
            "Add entities that a {kind} was run for",
            "To `queryUsedIn`, as far as they are not there yet.",
            "QueryUsage",
        ),
        ("put", "/{entity_id}/users"): _write(
            "add{Kind}Users",
            "Add users who ran a {kind}",
            "To `users`, as far as they are not there yet.",
            "QueryUsers",
        ),
        ("put", "/{entity_id}/usedBy"): _write(
            "add{Kind}UsedBy",
            "Add programs that ran a {kind}",
            "To `usedBy`, as far as they are not there yet.",
            "QueryUsedBy",
        ),
        ("delete", "/{entity_id}"): _write("delete{Kind}", "Delete a {kind}", _DELETE_ABOUT),
        ("delete", "/name/{fqn}"): _write(
            "delete{Kind}ByName", "Delete a {kind} by qualified name", _DELETE_ABOUT
        ),
        ("get", "/{entity_id}/versions"): Operation(
            id="list{Kind}Versions",
            summary="List the versions of a {kind}",
            answers={200: "EntityVersions"},
            errors=_ONE_ERRORS,
        ),
        ("get", "/{entity_id}/versions/{version}"): Operation(
            id="get{Kind}Version",
            summary="Get one version of a {kind}",
            answers={200: "{Kind}"},
            errors=_ONE_ERRORS,
        ),
    }
)
"""(method, path below the collection) -> operation of every kind."""
OTHER_OPERATIONS: Mapping[tuple[str, str], tuple[str, Operation]] = MappingProxyType(
    {
        **MEASUREMENT_OPERATIONS,
        ("put", "/v1/dataQuality/testSuites/executable"): (
            "testSuites",
            replace(
                _write(
                    "createOrUpdateExecutableTestSuite",
                    "Create or update the test suite of a table",
                    "A PUT of a test suite whose `basicEntityReference` is there: a table has one.",
                    body="CreateTestSuite",
                ),
                answers={200: "TestSuite", 201: "TestSuite"},
            ),
        ),
        ("put", "/v1/dataQuality/testCases/logicalTestCases"): (
            "testCases",
            Operation(
                id="addLogicalTestCases",
                summary="Add test cases to a logical test suite",
                about="All of them or none, in one transaction. The suite stands alone; the cases"
                " stay in the suites of their tables. Needs the permission to edit testSuite too.",
                answers={200: "TestSuite"},
                errors=(400, 404, 408, 409, 413, 415, 503),
                body="LogicalTestCases",
                takes=("X-Request-Id",),
                headers=WRITTEN,
            ),
        ),
        ("delete", "/v1/dataQuality/testCases/logicalTestCases/{suite_id}/{entity_id}"): (
            "testCases",
            replace(
                _write(
                    "deleteLogicalTestCase",
                    "Take a test case out of a logical test suite",
                    "Needs the permission to edit testSuite too.",
                ),
                answers={200: "TestCase"},
            ),
        ),
        ("get", "/v1/tables/{entity_id}/columns"): (
            "tables",
            Operation(
                id="listTableColumns",
                summary="List the columns of a table",
                answers={200: "ColumnPage"},
                errors=_ONE_ERRORS,
            ),
        ),
        ("get", "/v1/tables/columns/name/{fqn}"): (
            "tables",
            Operation(
                id="listTableColumnsByFQN",
                summary="List the columns of a table by its qualified name",
                path="/v1/tables/name/{fqn}/columns",
                answers={200: "ColumnPage"},
                errors=_ONE_ERRORS,
            ),
        ),
        ("get", "/v1/metadata/types/name/{type_name}"): (
            "system",
            Operation(
                id="getTypeByName",
                summary="Get the type of a kind",
                about="As OpenMetadata's clients ask for it, to learn of custom properties.",
                answers={200: "EntityType"},
                errors=(400, 404),
            ),
        ),
        ("get", "/v1/search/query"): _search(
            "searchEntities",
            "Search all kinds",
            "Every parameter may be spelled in snake_case too: `sort_field`.",
        ),
        ("get", "/v1/search/fieldQuery"): _search(
            "searchByField",
            "Search by a whole value of one field",
            "Letters count without case. Of descriptions, which keep no whole values, a word fits.",
        ),
        ("get", "/v1/search/aggregate"): _search(
            "aggregateField", "Count by the values of one field", _AGGREGATE_ABOUT
        ),
        ("post", "/v1/search/aggregate"): _search(
            "aggregateFieldByBody",
            "Count by the values of one field",
            _AGGREGATE_ABOUT,
            errors=(400, 408, 413, 415, 503),
            body="AggregateRequest",
        ),
        ("get", "/v1/search/entityTypeCounts"): _search(
            "countKinds",
            "Count what a search finds of each kind",
            "As `aggregations.entityType.buckets`, without kinds of which nothing is found. Every"
            " parameter may be spelled in snake_case too.",
        ),
        ("get", "/v1/search/suggest"): _search(
            "suggestNames",
            "Suggest names for what is being typed",
            "Names that begin so, then names with a word that does, then such with slips."
            " OpenMetadata's newer servers have it no more. Every parameter may be spelled in"
            " snake_case too.",
            answers={200: "Suggestions"},
        ),
        ("get", "/v1/search/sourceUrl"): _search(
            "searchBySourceUrl", "Search by the address of a source"
        ),
        ("get", "/v1/search/get/{index}/doc/{entity_id}"): _search(
            "getSearchDocument",
            "Get a document of an index",
            "Soft-deleted or not.",
            answers={200: "SearchSource"},
            errors=_ONE_ERRORS,
        ),
        ("get", "/v1/search/export"): _search(
            "exportSearch",
            "Get all that a search finds as CSV",
            "A row for each entity, by name where no order is asked for. What a spreadsheet would"
            " take for a formula has an apostrophe before it. Every parameter may be spelled in"
            " snake_case too.",
            answers={200: ""},
            media_type="text/csv",
        ),
        ("get", "/v1/audit/events"): (
            "audit",
            Operation(
                id="listAuditEvents",
                summary="Read the log",
                about="In log order, or newest first with `order=desc`. In log order,"
                " `paging.after` is the position reached: give it as `after` until it equals"
                " `paging.head`. Newest first it is `paging.before`: give it as `before`"
                f" until it is 1. One request looks at no more than {audit.BOUND:,} events"
                f" ({audit.STREAM_BOUND:,} as NDJSON), and as JSON for no longer than about"
                f" {audit.PAGE_SECONDS} s and {audit.PAGE_BYTES:,} bytes of events, so a page"
                " may be short, or empty, before the end. Events of one `entity` are found"
                " at once; other filters look through the log. As NDJSON (`Accept:"
                " application/x-ndjson`) there is a line for each event, and a last one with"
                " `paging`; without it the answer was cut off.",
                answers={200: "AuditPage"},
                errors=READ_ERRORS,
                lines="AuditLine",
            ),
        ),
        ("get", "/v1/services/testConnectionDefinitions/name/{fqn}"): (
            "services",
            Operation(
                id="getTestConnectionDefinitionByName",
                summary="Get the steps that test the connection to a service",
                about="Of every service type, as in `Postgres.testConnectionDefinition`, and"
                " without a step, because connectors stop at steps that they do not know.",
                answers={200: "TestConnectionDefinition"},
                errors=(400, 404),
            ),
        ),
        ("get", "/v1/system/settings/profilerConfiguration"): (
            "system",
            Operation(
                id="getProfilerSettings",
                summary="Get the settings of the profiler",
                about="What OpenMetadata's profiler asks before it measures; nothing is set.",
                answers={200: "ProfilerSettings"},
            ),
        ),
        ("get", "/v1/system/version"): (
            "system",
            Operation(id="getVersion", summary="Get the version", answers={200: "Version"}),
        ),
        ("get", "/v1/system/projections"): (
            "system",
            Operation(
                id="getProjections",
                summary="Get the state of the projections",
                answers={200: "Inspection"},
                errors=(503,),
            ),
        ),
        ("get", "/healthz"): (
            "system",
            Operation(id="getHealth", summary="Is the process alive?", answers={200: "Health"}),
        ),
        ("get", "/readyz"): (
            "system",
            Operation(
                id="getReadiness",
                summary="Can requests be answered with fresh data?",
                answers={200: "Readiness", 503: "Readiness"},
                errors=(400, 503),
            ),
        ),
        ("get", "/metrics"): (
            "system",
            Operation(
                id="getMetrics",
                summary="Get the metrics in Prometheus' text format",
                answers={200: ""},
                errors=(503,),
                media_type="text/plain",
            ),
        ),
    }
)
"""(method, path) -> tag and operation of a route that concerns no kind."""
