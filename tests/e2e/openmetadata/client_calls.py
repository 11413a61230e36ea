"""The calls that OpenMetadata's Python client is documented with, made by its own Python.

    python client_calls.py HOST_PORT TOKEN

Each call is a function that checks what it gets. A JSON object of those that failed is printed.
"""

import json
import sys
import time
import traceback
from collections.abc import Callable

from metadata.generated.schema.api.data.createCustomProperty import CreateCustomPropertyRequest
from metadata.generated.schema.api.data.createDatabase import CreateDatabaseRequest
from metadata.generated.schema.api.data.createDatabaseSchema import CreateDatabaseSchemaRequest
from metadata.generated.schema.api.data.createDataContract import CreateDataContractRequest
from metadata.generated.schema.api.data.createTable import CreateTableRequest
from metadata.generated.schema.api.data.createTopic import CreateTopicRequest
from metadata.generated.schema.api.domains.createDataProduct import CreateDataProductRequest
from metadata.generated.schema.api.domains.createDomain import CreateDomainRequest
from metadata.generated.schema.api.lineage.addLineage import AddLineageRequest
from metadata.generated.schema.api.services.createDatabaseService import (
    CreateDatabaseServiceRequest,
)
from metadata.generated.schema.api.services.createMessagingService import (
    CreateMessagingServiceRequest,
)
from metadata.generated.schema.api.services.ingestionPipelines.createIngestionPipeline import (
    CreateIngestionPipelineRequest,
)
from metadata.generated.schema.api.teams.createTeam import CreateTeamRequest
from metadata.generated.schema.api.teams.createUser import CreateUserRequest
from metadata.generated.schema.api.tests.createLogicalTestCases import CreateLogicalTestCases
from metadata.generated.schema.api.tests.createTestCase import CreateTestCaseRequest
from metadata.generated.schema.api.tests.createTestSuite import CreateTestSuiteRequest
from metadata.generated.schema.entity.data.database import Database
from metadata.generated.schema.entity.data.databaseSchema import DatabaseSchema
from metadata.generated.schema.entity.data.dataContract import DataContract
from metadata.generated.schema.entity.data.table import Table, TableData, TableProfilerConfig
from metadata.generated.schema.entity.data.topic import TopicSampleData
from metadata.generated.schema.entity.datacontract.dataContractResult import DataContractResult
from metadata.generated.schema.entity.services.connections.metadata.openMetadataConnection import (
    OpenMetadataConnection,
)
from metadata.generated.schema.entity.services.databaseService import DatabaseService
from metadata.generated.schema.entity.services.ingestionPipelines.ingestionPipeline import (
    AirflowConfig,
    IngestionPipeline,
    PipelineState,
    PipelineStatus,
)
from metadata.generated.schema.entity.teams.team import Team
from metadata.generated.schema.entity.teams.user import User
from metadata.generated.schema.tests.basic import TestCaseResult
from metadata.generated.schema.tests.testCase import TestCase
from metadata.generated.schema.tests.testSuite import TestSuite
from metadata.generated.schema.type.bulkOperationResult import BulkOperationResult
from metadata.generated.schema.type.customProperty import CustomProperty
from metadata.generated.schema.type.entityHierarchy import EntityHierarchy
from metadata.generated.schema.type.entityLineage import LineageDetails
from metadata.generated.schema.type.entityReference import EntityReference
from metadata.generated.schema.type.entityReferenceList import EntityReferenceList
from metadata.generated.schema.type.status import EntityStatus
from metadata.generated.schema.type.tagLabel import TagLabel
from metadata.ingestion.models.custom_properties import (
    CustomPropertyDataTypes,
    OMetaCustomProperties,
)
from metadata.ingestion.models.table_metadata import ColumnDescription, ColumnTag
from metadata.ingestion.ometa.client import APIError
from metadata.ingestion.ometa.ometa_api import OpenMetadata
from metadata.sdk import (
    Databases,
    DatabaseSchemas,
    DatabaseServices,
    DataContracts,
    Tables,
    configure,
)
from metadata.sdk.api.lineage import Lineage
from metadata.sdk.api.search import Search

HOST_PORT, TOKEN = sys.argv[1:]
CALLS: list[Callable[[], None]] = []
client: OpenMetadata


def call(function: Callable[[], None]) -> Callable[[], None]:
    """Adds a call to those that are made, in the order of this file."""
    CALLS.append(function)
    return function


def table(name: str) -> Table:
    """A table of the schema, with all that patches compare."""
    found = client.get_by_name(Table, f"calls.shop.sales.{name}", fields=["tags", "owners"])
    assert found is not None
    return found


def reference(entity: Table) -> EntityReference:
    return EntityReference(id=entity.id, type="table")


def tag(fqn: str) -> TagLabel:
    return TagLabel(tagFQN=fqn, source="Classification", labelType="Manual", state="Confirmed")


@call
def connects_with_the_version_checked() -> None:
    global client
    given = {
        "hostPort": HOST_PORT,
        "authProvider": "openmetadata",
        "securityConfig": {"jwtToken": TOKEN},
    }
    client = OpenMetadata(OpenMetadataConnection.model_validate(given))
    assert client.health_check()
    configure(host=HOST_PORT, jwt_token=TOKEN)


# Services, databases, schemas, tables


@call
def create_or_update_a_service_with_a_connection() -> None:
    connection = {
        "type": "Mysql",
        "username": "reader",
        "authType": {"password": "hidden"},
        "hostPort": "db:3306",
    }
    request = {"name": "calls", "serviceType": "Mysql", "connection": {"config": connection}}
    made = client.create_or_update(CreateDatabaseServiceRequest.model_validate(request))
    assert made.fullyQualifiedName.root == "calls"


@call
def create_or_update_a_database_a_schema_and_tables() -> None:
    client.create_or_update(CreateDatabaseRequest(name="shop", service="calls"))
    client.create_or_update(CreateDatabaseSchemaRequest(name="sales", database="calls.shop"))
    for name in ("orders", "customers", "revenue"):
        columns = [
            {"name": "id", "dataType": "BIGINT"},
            {"name": "label", "dataType": "VARCHAR", "dataLength": 10},
        ]
        request = {"name": name, "databaseSchema": "calls.shop.sales", "columns": columns}
        made = client.create_or_update(CreateTableRequest.model_validate(request))
        assert [column.name.root for column in made.columns] == ["id", "label"]


@call
def columns_of_a_table() -> None:
    columns = client.get_table_columns("calls.shop.sales.orders", fields=["tags"])
    assert [column.name.root for column in columns] == ["id", "label"]
    (last,) = client.get_table_columns("calls.shop.sales.orders", params={"offset": "1"})
    assert last.name.root == "label"


@call
def custom_properties_of_a_type() -> None:
    assert client.get_entity_custom_properties(Table) == []
    for name, data_type, config in (
        ("rank", CustomPropertyDataTypes.ENUM, {"values": ["gold"], "multiSelect": False}),
        ("age", CustomPropertyDataTypes.INTEGER, None),
    ):
        request = {
            "name": name,
            "description": f"The {name}.",
            "propertyType": client.get_property_type_ref(data_type).model_dump(mode="json"),
            "customPropertyConfig": config and {"config": config},
        }
        client.create_or_update_custom_property(
            OMetaCustomProperties(
                entity_type=Table,
                createCustomPropertyRequest=CreateCustomPropertyRequest.model_validate(request),
            )
        )
    defined = client.get_entity_custom_properties(Table)
    assert [each["name"] for each in defined] == ["age", "rank"]
    for each in defined:
        CustomProperty.model_validate(each)
    for data_type in CustomPropertyDataTypes:
        assert client.get_custom_property_type(data_type).name.root == data_type.value


@call
def values_of_custom_properties() -> None:
    request = {"name": "orders", "databaseSchema": "calls.shop.sales", "columns": []}
    request["columns"] = [
        {"name": "id", "dataType": "BIGINT"},
        {"name": "label", "dataType": "VARCHAR", "dataLength": 10},
    ]
    status = None
    try:
        wrong = {**request, "extension": {"rank": ["tin"]}}
        client.create_or_update(CreateTableRequest.model_validate(wrong))
    except APIError as error:
        status = error.status_code
    assert status == 400
    right = {**request, "extension": {"rank": ["gold"], "age": 3}}
    client.create_or_update(CreateTableRequest.model_validate(right))
    found = client.get_by_name(Table, "calls.shop.sales.orders", fields=["extension"])
    assert found.extension.root == {"rank": ["gold"], "age": 3}


@call
def profiler_configuration_of_a_table() -> None:
    config = TableProfilerConfig(excludeColumns=["label"])
    made = client.create_or_update_table_profiler_config("calls.shop.sales.orders", config)
    assert made.tableProfilerConfig.excludeColumns == ["label"]


@call
def logical_test_suite() -> None:
    suite = client.create_or_update(CreateTestSuiteRequest(name="nightly"))
    request = {
        "name": "counted",
        "testDefinition": "tableRowCountToEqual",
        "entityLink": "<#E::table::calls.shop.sales.orders>",
        "parameterValues": [{"name": "value", "value": "3"}],
    }
    case = client.create_or_update(CreateTestCaseRequest.model_validate(request))
    client.add_logical_test_cases(
        CreateLogicalTestCases(testSuiteId=suite.id, testCaseIds=[case.id])
    )
    listed = client.list_entities(TestCase, params={"testSuiteId": str(suite.id.root)}).entities
    assert [each.name.root for each in listed] == ["counted"]


@call
def suite_with_its_tests() -> None:
    suite = client.get_by_name(TestSuite, "nightly", fields=["tests"])
    assert [each.name for each in suite.tests] == ["counted"]
    case = client.get_by_name(TestCase, suite.tests[0].fullyQualifiedName, fields=["testSuites"])
    assert [each.name.root for each in case.testSuites] == ["nightly"]


@call
def rows_that_failed_a_test_and_their_query() -> None:
    request = {
        "name": "labelled",
        "testDefinition": "tableRowCountToEqual",
        "entityLink": "<#E::table::calls.shop.sales.orders>",
    }
    case = client.create_or_update(CreateTestCaseRequest.model_validate(request))
    result = {"timestamp": int(time.time() * 1_000), "testCaseStatus": "Failed"}
    client.add_test_case_results(
        TestCaseResult.model_validate(result), case.fullyQualifiedName.root
    )
    rows = TableData(columns=["id", "label"], rows=[[1, None], [2, "b"]])
    assert client.ingest_failed_rows_sample(case, rows, validate=False) == rows
    assert client.get_failed_rows_sample(case) == rows
    query = "SELECT * FROM orders WHERE label IS NULL"
    assert client.ingest_inspection_query(case, query).inspectionQuery.root == query


@call
def sample_of_a_topic() -> None:
    service = {"name": "kafka", "serviceType": "Kafka"}
    client.create_or_update(CreateMessagingServiceRequest.model_validate(service))
    request = {"name": "events", "service": "kafka", "partitions": 1}
    topic = client.create_or_update(CreateTopicRequest.model_validate(request))
    sample = TopicSampleData(messages=['{"id": 1}'])
    assert client.ingest_topic_sample_data(topic, sample) == sample
    assert client.get_topic_sample_data(topic).sampleData == sample


@call
def team_with_its_users_and_teams() -> None:
    user = client.create_or_update(CreateUserRequest(name="dan", email="dan@example.com"))
    inner = client.create_or_update(CreateTeamRequest(name="inner", teamType="Group"))
    request = CreateTeamRequest(
        name="outer", teamType="Department", users=[user.id], children=[inner.id]
    )
    client.create_or_update(request)
    team = client.get_by_name(Team, "outer", fields=["users", "children"])
    assert [each.name for each in team.users.root] == ["dan"]
    assert [each.name for each in team.children.root] == ["inner"]
    assert [each.name for each in client.get_by_id(User, user.id, ["teams"]).teams.root] == [
        "outer"
    ]


@call
def assets_of_a_data_product() -> None:
    request = {"name": "shop", "domainType": "Aggregate", "description": "Shops."}
    client.create_or_update(CreateDomainRequest.model_validate(request))
    request = {"name": "baskets", "description": "What is bought.", "domains": ["shop"]}
    product = client.create_or_update(CreateDataProductRequest.model_validate(request))
    name, assets = product.fullyQualifiedName.root, [reference(table("customers"))]
    for call, expected in (
        (client.add_assets_to_data_product, ["baskets"]),
        (client.remove_assets_from_data_product, []),
    ):
        BulkOperationResult.model_validate(call(name, assets))
        found = client.get_by_id(Table, table("customers").id, fields=["dataProducts"])
        assert [each.name for each in found.dataProducts.root] == expected


@call
def ingestion_pipeline_and_its_runs() -> None:
    service = client.get_by_name(DatabaseService, "calls")
    config = {"type": "DatabaseMetadata", "threads": 2}
    made = client.create_or_update(
        CreateIngestionPipelineRequest(
            name="nightly",
            service=EntityReference(id=service.id, type="databaseService"),
            pipelineType="metadata",
            sourceConfig={"config": config},
            airflowConfig=AirflowConfig(scheduleInterval="0 3 * * *"),
        )
    )
    assert made.fullyQualifiedName.root == "calls.nightly"
    assert client.get_by_name(IngestionPipeline, "calls.nightly").sourceConfig.config.threads == 2
    assert client.get_pipeline_status("calls.nightly", "1") is None
    now = int(time.time() * 1_000)
    run = PipelineStatus(runId="1", pipelineState=PipelineState.running, timestamp=now)
    client.create_or_update_pipeline_status("calls.nightly", run)
    run.pipelineState = PipelineState.success
    client.create_or_update_pipeline_status("calls.nightly", run)
    read = client.get_pipeline_status("calls.nightly", "1")
    assert (read.runId, read.pipelineState) == ("1", PipelineState.success)
    (listed,) = client.get_pipeline_status_between_ts("calls.nightly", now - 1_000, now + 1_000)
    assert listed == read


@call
def followers_of_a_table() -> None:
    user = client.get_by_name(User, "dan")
    customers = table("customers")
    followed = Tables.add_followers(customers.id.root, [user.id.root])
    assert [each.name for each in followed.followers.root] == ["dan"]
    listed = client.client.get(f"/tables/{customers.id.root}/followers")["data"]
    assert [each["name"] for each in listed] == ["dan"]
    assert not Tables.remove_followers(customers.id.root, [user.id.root]).followers.root


@call
def domains_as_a_tree() -> None:
    for each in client.client.get("/domains/hierarchy")["data"]:
        EntityHierarchy.model_validate(each)


@call
def user_that_is_signed_in() -> None:
    client.create_or_update(CreateUserRequest(name="me", email="me@example.com"))
    assert User(**client.client.get("/users/loggedInUser")).name.root == "me"


@call
def create_of_one_that_exists_is_refused() -> None:
    status = None
    try:
        client.create(CreateDatabaseRequest(name="shop", service="calls"))
    except APIError as error:
        status = error.status_code
    assert status == 409


@call
def get_by_name_and_by_id() -> None:
    for entity, name in [
        (DatabaseService, "calls"),
        (Database, "calls.shop"),
        (DatabaseSchema, "calls.shop.sales"),
        (Table, "calls.shop.sales.orders"),
    ]:
        named = client.get_by_name(entity, name, fields=["owners"])
        assert client.get_by_id(entity, named.id).fullyQualifiedName.root == name
    assert client.get_by_name(Table, "calls.shop.sales.no_such") is None


@call
def get_entity_reference() -> None:
    assert client.get_entity_reference(Table, "calls.shop.sales.orders").type == "table"


@call
def list_entities_by_pages_and_all_of_them() -> None:
    scope = {"database": "calls.shop"}
    first = client.list_entities(Table, limit=2, params=scope)
    rest = client.list_entities(Table, limit=2, params=scope, after=first.after)
    assert (first.total, len(first.entities), len(rest.entities), rest.after) == (3, 2, 1, None)
    assert len(client.list_entities(Table, limit=2, params=scope, before=rest.before).entities) == 2
    names = [each.name.root for each in client.list_all_entities(Table, limit=1, params=scope)]
    assert names == ["customers", "orders", "revenue"]
    assert all(each.columns for each in first.entities)


@call
def list_services() -> None:
    assert "calls" in [each.name.root for each in client.list_services(DatabaseService)]


@call
def list_all_with_fields_and_deleted_ones() -> None:
    for entity in (DatabaseService, Database, DatabaseSchema, Table):
        assert list(client.list_all_entities(entity, fields=["owners", "tags"], include="all"))


# Patches


@call
def patch_description() -> None:
    orders = table("orders")
    assert client.patch_description(Table, orders, "What was ordered.").description.root
    kept = client.patch_description(Table, table("orders"), "Other words.")
    forced = client.patch_description(Table, table("orders"), "More.", force=True)
    assert (kept, forced.description.root) == (None, "More.")


@call
def patch_tags_adds_and_removes() -> None:
    added = client.patch_tags(Table, table("orders"), [tag("PII.Sensitive")])
    assert [label.tagFQN.root for label in added.tags] == ["PII.Sensitive"]
    removed = client.patch_tags(Table, table("orders"), [tag("PII.Sensitive")], operation="remove")
    assert not removed.tags


@call
def patch_owner() -> None:
    user = client.create_or_update(CreateUserRequest(name="cara", email="cara@example.com"))
    owners = EntityReferenceList(root=[EntityReference(id=user.id, type="user")])
    patched = client.patch_owner(Table, table("orders"), owners)
    assert [owner.name for owner in patched.owners.root] == ["cara"]


@call
def patch_columns_tags_and_descriptions() -> None:
    column = "calls.shop.sales.orders.label"
    labels = [ColumnTag(column_fqn=column, tag_label=tag("PII.Sensitive"))]
    tagged = client.patch_column_tags(table("orders"), labels)
    assert [label.tagFQN.root for label in tagged.columns[1].tags] == ["PII.Sensitive"]
    texts = [ColumnDescription(column_fqn=column, description="What the label says.")]
    described = client.patch_column_descriptions(table("orders"), texts)
    assert described.columns[1].description.root == "What the label says."


@call
def patch_table_constraints() -> None:
    constraints = [{"constraintType": "PRIMARY_KEY", "columns": ["id"]}]
    patched = client.patch_table_constraints(table("orders"), constraints)
    assert patched.tableConstraints[0].columns == ["id"]


@call
def patch_of_whole_entities() -> None:
    source = table("customers")
    destination = source.model_copy(deep=True)
    destination.displayName = "Customers"
    assert client.patch(Table, source, destination).displayName == "Customers"


@call
def patch_domain() -> None:
    request = {"name": "commerce", "domainType": "Aggregate", "description": "What is sold."}
    domain = client.create_or_update(CreateDomainRequest.model_validate(request))
    domains = EntityReferenceList(root=[EntityReference(id=domain.id, type="domain")])
    patched = client.patch_domain(Table, table("orders"), domains)
    assert [each.name for each in patched.domains.root] == ["commerce"]


# Versions, deletion, many at once


@call
def versions() -> None:
    orders = table("orders")
    listed = client.get_list_entity_versions(orders.id, Table)
    assert len(listed.versions) > 4
    first = client.get_entity_version(Table, orders.id, 0.1)
    assert first.description is None


@call
def delete_and_restore() -> None:
    revenue = table("revenue")
    client.delete(Table, revenue.id)
    assert client.get_by_name(Table, "calls.shop.sales.revenue") is None
    found = client.get_by_name(
        Table, "calls.shop.sales.revenue", fields=["owners"], include="deleted"
    )
    assert found.deleted
    assert client.restore(Table, revenue.id).deleted is False


@call
def delete_for_good_with_what_is_below() -> None:
    client.create_or_update(CreateDatabaseRequest(name="old", service="calls"))
    client.create_or_update(CreateDatabaseSchemaRequest(name="below", database="calls.old"))
    old = client.get_by_name(Database, "calls.old")
    client.delete(Database, old.id, recursive=True, hard_delete=True)
    assert client.get_by_name(DatabaseSchema, "calls.old.below") is None


@call
def delete_as_a_job() -> None:
    client.create_or_update(CreateDatabaseRequest(name="older", service="calls"))
    older = client.get_by_name(Database, "calls.older")
    job = client.delete_async(Database, older.id, recursive=True, hard_delete=True)
    assert job is not None
    assert job["jobId"]
    assert client.get_by_name(Database, "calls.older") is None


@call
def bulk_create_or_update() -> None:
    requests = [
        CreateTableRequest.model_validate(
            {
                "name": f"many_{n}",
                "databaseSchema": "calls.shop.sales",
                "columns": [{"name": "id", "dataType": "INT"}],
            }
        )
        for n in range(3)
    ]
    result = client.bulk_create_or_update(requests)
    assert (result.numberOfRowsProcessed.root, result.numberOfRowsFailed.root) == (3, 0)


@call
def delete_stale_entities() -> None:
    seen = [f"calls.shop.sales.{name}" for name in ("orders", "customers", "revenue")]
    result = client.delete_stale_entities(Table, {"databaseSchema": "calls.shop.sales"}, seen)
    assert result is not None, "the server has no deleteStale"
    assert result.numberOfRowsPassed.root == 3
    assert client.get_by_name(Table, "calls.shop.sales.many_0") is None


# Contracts


@call
def contract_of_a_table() -> None:
    request = {
        "name": "promise",
        "entity": {"id": str(table("orders").id.root), "type": "table"},
        "schema": [{"name": "id", "dataType": "BIGINT"}],
        "entityStatus": "Draft",
    }
    made = client.create_or_update(CreateDataContractRequest.model_validate(request))
    named = client.get_by_name(DataContract, made.fullyQualifiedName.root, fields=["owners"])
    by_entity = client.get_data_contract_by_entity_id(table("orders").id, "table")
    assert named.id == made.id == by_entity.id
    assert [each.id for each in client.list_all_entities(DataContract)] == [made.id]


@call
def contract_that_is_approved() -> None:
    contract = client.get_by_name(DataContract, "calls.shop.sales.orders.dataContract_promise")
    approved = contract.model_copy(deep=True)
    approved.entityStatus = EntityStatus.Approved
    assert client.patch(DataContract, contract, approved).entityStatus is EntityStatus.Approved
    listed = client.list_entities(DataContract, params={"status": "Approved"}).entities
    assert [each.entityStatus for each in listed] == [EntityStatus.Approved]
    assert [each.entityStatus for each in DataContracts.list_all()] == [EntityStatus.Approved]


@call
def second_tag_of_an_exclusive_classification_is_refused() -> None:
    both = [
        {"tagFQN": f"PII.{name}", "source": "Classification", "labelType": "Manual"}
        | {"state": "Confirmed"}
        for name in ("Sensitive", "NonSensitive")
    ]
    request = {
        "name": "levelled",
        "databaseSchema": "calls.shop.sales",
        "columns": [{"name": "id", "dataType": "INT", "tags": both}],
    }
    status = None
    try:
        client.create_or_update(CreateTableRequest.model_validate(request))
    except APIError as error:
        status = error.status_code
    assert status == 400


# Lineage


@call
def add_lineage_and_ask_for_it() -> None:
    orders, revenue = table("orders"), table("revenue")
    columns = [
        {
            "fromColumns": ["calls.shop.sales.orders.id"],
            "toColumn": "calls.shop.sales.revenue.id",
        }
    ]
    edge = {
        "fromEntity": reference(orders),
        "toEntity": reference(revenue),
        "lineageDetails": {"sqlQuery": "select 1", "columnsLineage": columns},
    }
    added = client.add_lineage(AddLineageRequest.model_validate({"edge": edge}))
    assert "error" not in added, added
    assert [each["toEntity"] for each in added["downstreamEdges"]] == [str(revenue.id.root)]
    by_name = client.get_lineage_by_name("table", "calls.shop.sales.revenue", up_depth=2)
    assert [node["name"] for node in by_name["nodes"]] == ["orders"]
    by_id = client.get_lineage_by_id("table", str(orders.id.root), down_depth=1)
    assert [node["name"] for node in by_id["nodes"]] == ["revenue"]


@call
def add_lineage_again_merges_its_columns() -> None:
    edge = {
        "fromEntity": reference(table("orders")),
        "toEntity": reference(table("revenue")),
        "lineageDetails": {
            "columnsLineage": [
                {
                    "fromColumns": ["calls.shop.sales.orders.label"],
                    "toColumn": "calls.shop.sales.revenue.label",
                }
            ]
        },
    }
    request = AddLineageRequest.model_validate({"edge": edge})
    added = client.add_lineage(request, check_patch=True)
    (down,) = added["downstreamEdges"]
    assert len(down["lineageDetails"]["columnsLineage"]) == 2
    assert down["lineageDetails"]["sqlQuery"] == "select 1"


@call
def lineage_edge() -> None:
    found = client.get_lineage_edge(str(table("orders").id.root), str(table("revenue").id.root))
    assert found is not None


@call
def lineage_by_names() -> None:
    ends = ("calls.shop.sales.customers", "table", "calls.shop.sales.revenue", "table")
    details = LineageDetails.model_validate({"sqlQuery": "select 2"})
    assert "error" not in client.add_lineage_by_name(*ends, lineage_details=details)
    edge = client.get_lineage_edge_by_name("table", ends[0], "table", ends[2])
    assert edge is not None
    client.delete_lineage_by_name(ends[0], "table", ends[2], "table")
    up = client.get_lineage_by_name("table", ends[2], up_depth=1)
    assert [node["name"] for node in up["nodes"]] == ["orders"]


@call
def lineage_of_a_query() -> None:
    service = client.get_by_name(DatabaseService, "calls")
    sql = "insert into sales.revenue select id, label from sales.customers"
    client.add_lineage_by_query(
        database_service=service, sql=sql, database_name="shop", schema_name="sales", timeout=30
    )
    up = client.get_lineage_by_name("table", "calls.shop.sales.revenue", up_depth=1)
    assert sorted(node["name"] for node in up["nodes"]) == ["customers", "orders"]


@call
def delete_lineage() -> None:
    orders, revenue = table("orders"), table("revenue")
    edge = AddLineageRequest.model_validate(
        {"edge": {"fromEntity": reference(orders), "toEntity": reference(revenue)}}
    ).edge
    client.delete_lineage_edge(edge)
    client.delete_lineage_by_source("table", str(revenue.id.root), "QueryLineage")
    up = client.get_lineage_by_name("table", "calls.shop.sales.revenue", up_depth=1)
    assert "orders" not in [node["name"] for node in up["nodes"]]


# Search


@call
def es_search_from_fqn() -> None:
    exact = client.es_search_from_fqn(Table, "calls.shop.sales.orders")
    pattern = client.es_search_from_fqn(Table, "*.*.sales.customers", fields="owners")
    nothing = client.es_search_from_fqn(Table, "calls.shop.sales.no_such")
    assert [each.name.root for each in exact] == ["orders"]
    assert [each.name.root for each in pattern] == ["customers"]
    assert not nothing


@call
def search_in_any_service() -> None:
    found = client.search_in_any_service(Table, "sales.orders")
    assert found.fullyQualifiedName.root == "calls.shop.sales.orders"


@call
def paginate_es() -> None:
    found = client.paginate_es(Table, size=2, fields=["owners"])
    names = [each.name.root for each in found if each.service.name == "calls"]
    assert sorted(names) == ["customers", "orders", "revenue"]


@call
def paginate_es_with_a_filter() -> None:
    condition = json.dumps({"query": {"bool": {"must": [{"term": {"name.keyword": "orders"}}]}}})
    names = [each.name.root for each in client.paginate_es(Table, query_filter=condition, size=1)]
    assert set(names) == {"orders"}


@call
def views_with_their_definitions() -> None:
    assert list(client.yield_es_view_def("calls")) == []


@call
def reference_of_a_user_by_email_and_by_name() -> None:
    by_email = client.get_reference_by_email("cara@example.com")
    by_name = client.get_reference_by_name("cara")
    assert [each.name for each in by_email.root + by_name.root] == ["cara", "cara"]


# The newer interface of the same package


@call
def sdk_entities() -> None:
    made = Tables.retrieve_by_name("calls.shop.sales.customers", fields=["tags"])
    assert Tables.retrieve(made.id.root).name.root == "customers"
    page = Tables.list(limit=2, filters={"database": "calls.shop"})
    assert len(page.entities) == 2
    assert len(Tables.list_all(batch_size=2, filters={"database": "calls.shop"})) == 3
    for entity in (DatabaseServices, Databases, DatabaseSchemas, DataContracts):
        assert entity.list_all()
    assert Tables.get_versions(made.id.root)
    assert Tables.get_specific_version(made.id.root, "0.1").displayName is None


@call
def sdk_changes() -> None:
    customers = Tables.retrieve_by_name("calls.shop.sales.customers")
    customers.description = "Who orders."
    assert Tables.update(customers).description.root == "Who orders."
    Tables.delete(customers.id.root)
    assert Tables.restore(customers.id.root).deleted is False


@call
def sdk_tags() -> None:
    customers = Tables.retrieve_by_name("calls.shop.sales.customers")
    tagged = Tables.add_tag(customers.id.root, "Tier.Tier1")
    assert [label.tagFQN.root for label in tagged.tags] == ["Tier.Tier1"]


ODCS = """
apiVersion: v3.1.0
kind: DataContract
id: ours
name: revenue
version: 1.0.0
status: active
schema:
  - name: revenue
    properties:
      - {name: id, logicalType: integer}
      - {name: label, logicalType: string}
customKey: 7
"""


@call
def contract_documents_both_ways() -> None:
    revenue = table("revenue")
    assert client.parse_odcs_yaml(ODCS)["name"] == "revenue"
    assert client.validate_odcs_yaml(revenue.id, "table", ODCS)["schemaValidation"]["failed"] == 0
    made = client.import_from_odcs_yaml(ODCS, revenue.id, "table")
    assert made.entityStatus is EntityStatus.Approved
    again = client.create_or_update_from_odcs_yaml(ODCS, revenue.id, "table")
    assert (again.id, again.version) == (made.id, made.version)
    for text in (
        client.export_to_odcs_yaml(made.id),
        client.export_to_odcs_yaml_by_fqn(made.fullyQualifiedName.root),
    ):
        assert "customKey: 7" in text
    assert client.get_data_contract_by_entity_id(revenue.id, "table").id == made.id


@call
def contract_documents_as_the_client_models_them() -> None:
    orders = table("customers")
    plain = ODCS.replace("customKey: 7\n", "").replace("revenue", "customers")
    assert client.import_from_odcs_yaml(plain, orders.id, "table") is not None
    held = client.get_data_contract_by_entity_id(orders.id, "table")
    for document in (
        client.export_to_odcs(held.id),
        client.export_to_odcs_by_fqn(held.fullyQualifiedName.root),
    ):
        assert document.name == "customers"
        assert client.create_or_update_from_odcs(document, orders.id, "table").id == held.id
    Tables.delete(orders.id.root, recursive=True, hard_delete=True)
    columns = [{"name": "id", "dataType": "BIGINT"}, {"name": "label", "dataType": "TEXT"}]
    request = {"name": "customers", "databaseSchema": "calls.shop.sales", "columns": columns}
    fresh = client.create_or_update(CreateTableRequest.model_validate(request))
    assert client.import_from_odcs(document, fresh.id, "table") is not None


@call
def contract_validation_and_results() -> None:
    revenue = table("revenue")
    held = client.get_data_contract_by_entity_id(revenue.id, "table")
    assert client.get_latest_data_contract_result(held.id) is None
    result = client.validate_data_contract(held.id)
    assert result.contractExecutionStatus.value == "Success"
    assert client.validate_data_contract_by_entity_id(revenue.id, "table") is not None
    reported = client.put_data_contract_result(
        held.id,
        DataContractResult(
            dataContractFQN="any",
            timestamp=result.timestamp.root - 1_000,
            contractExecutionStatus="Failed",
            result="nightly",
        ),
    )
    assert reported.dataContractFQN.root == held.fullyQualifiedName.root
    assert client.get_latest_data_contract_result(held.id).result == "version 0.1"
    assert client.get_data_contract_result_by_id(held.id, reported.id) == reported
    results = client.get_data_contract_results(held.id, limit=10)
    assert reported in results
    assert client.delete_data_contract_result(held.id, reported.timestamp.root)
    assert client.delete_data_contract_results_before(held.id, int(time.time() * 1_000) + 1_000)
    assert client.get_data_contract_results(held.id) == []


@call
def contract_requests_are_validated() -> None:
    orders = table("orders")
    request = CreateDataContractRequest(
        name="tried", entity=reference(orders), schema=[{"name": "id", "dataType": "BIGINT"}]
    )
    # The client reads the answer as a result, which it is in no version of OpenMetadata.
    answer = client.client.post("/dataContracts/validate", data=request.model_dump_json())
    assert answer.keys() >= {"valid"}
    text = f"name: tried\nentity: {{id: {orders.id.root}, type: table}}\n"
    assert "valid" in client.validate_data_contract_request_yaml(text)


@call
def sdk_search() -> None:
    found = Search.search("orders", index="table_search_index", size=3)
    assert found["hits"]["hits"][0]["_source"]["name"] == "orders"
    filtered = Search.search_advanced({"query": {"term": {"name.keyword": "orders"}}})
    assert filtered["hits"]["total"]["value"] >= 1


@call
def sdk_lineage() -> None:
    orders, revenue = table("orders"), table("revenue")
    Lineage.add_lineage(orders.id.root, "table", revenue.id.root, "table", description="A step.")
    found = Lineage.get_lineage("calls.shop.sales.orders", 1, 1, entity_type="table")
    assert found is not None
    by_id = Lineage.get_entity_lineage("table", orders.id.root, downstream_depth=1)
    assert by_id is not None
    Lineage.delete_lineage(orders.id.root, "table", revenue.id.root, "table")


def main() -> None:
    failed = {}
    for each in CALLS:
        try:
            each()
        except Exception:
            failed[each.__name__] = traceback.format_exc(limit=-3)
    json.dump({"made": len(CALLS), "failed": failed}, sys.stdout)


if __name__ == "__main__":
    main()
