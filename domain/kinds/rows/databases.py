"""Rows of the kinds in a database, and of the queries run on it."""

from domain.kinds.bodies import databases
from domain.kinds.bodies.profiling import PROFILER_CONFIG
from domain.kinds.entity_kind import EntityKind
from domain.kinds.kind_options import ListOptions, NamePart, OwnPaths

ROWS = (
    EntityKind(
        name="database",
        body=databases.Database,
        parents=("service",),
        inherits=("serviceType",),
        large=("usageSummary",),
        lists=ListOptions(names={"databaseRegex": NamePart("name", 0)}),
    ),
    EntityKind(
        name="databaseSchema",
        body=databases.DatabaseSchema,
        parents=("database",),
        inherits=("service", "serviceType"),
        large=("usageSummary",),
        lists=ListOptions(
            names={
                "databaseRegex": NamePart("database", 1),
                "databaseSchemaRegex": NamePart("name", 0),
            }
        ),
    ),
    EntityKind(
        name="table",
        body=databases.Table,
        parents=("databaseSchema",),
        inherits=("database", "service", "serviceType"),
        large=(
            "columns",
            "tableConstraints",
            "usageSummary",
            "schemaDefinition",
            "dataModel",
            PROFILER_CONFIG,
        ),
        own_paths=OwnPaths(
            put={"dataModel": ("rawSql", "sql"), PROFILER_CONFIG: ()}, deleted=(PROFILER_CONFIG,)
        ),
        lists=ListOptions(
            names={
                "databaseRegex": NamePart("database", 2),
                "databaseSchemaRegex": NamePart("databaseSchema", 1),
                "tableRegex": NamePart("name", 0),
            }
        ),
        columns="columns",
        searched={
            "columns.name": 2,
            "columns.displayName": 2,
            "columns.description": 0.5,
        },
    ),
    EntityKind(
        name="storedProcedure",
        body=databases.StoredProcedure,
        parents=("databaseSchema",),
        inherits=("database", "service", "serviceType"),
        searched={"storedProcedureCode.code": 0.5},
    ),
    EntityKind(
        name="query",
        collection="queries",
        body=databases.Query,
        parents=("service",),
        large=("users", "queryUsedIn"),
        own_paths=OwnPaths(added_to={"usage": "queryUsedIn", "users": "users", "usedBy": "usedBy"}),
        filters={"service": "service", "entityId": "queryUsedIn"},
        lists=ListOptions(by_id=("entityId",)),
        searched={"query": 2},
    ),
)
