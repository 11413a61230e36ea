"""Writes that OpenMetadata's connectors make on tables: a data model, a flag of lineage."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running_under

MODEL = {
    "modelType": "DBT",
    "resourceType": "model",
    "dbtSourceProject": None,
    "description": None,
    "path": "models/orders.sql",
    "rawSql": "select 1",
    "sql": "select 1",
    "upstream": ["service.database.schema.other"],
    "owners": None,
    "tags": None,
    "columns": [{"name": "id", "dataType": "INT", "description": "the key", "children": None}],
    "generatedAt": None,
}


def put(client: Client, table: Any, model: Any, **options: Any) -> Any:
    response = client.request("PUT", f"/v1/tables/{table['id']}/dataModel", json=model, **options)
    assert response.status_code == 200, response.text
    return response.json()


def test_data_model_is_put_by_itself(client: Client) -> None:
    client.schema()
    table = client.table(description="of people")
    shown = put(client, table, MODEL)
    fqn = "service.database.schema.orders.id"
    assert shown["dataModel"] == {
        "modelType": "DBT",
        "resourceType": "model",
        "path": "models/orders.sql",
        "rawSql": "select 1",
        "sql": "select 1",
        "upstream": ["service.database.schema.other"],
        "columns": [
            {
                "name": "id",
                "dataType": "INT",
                "description": "the key",
                "fullyQualifiedName": fqn,
                "tags": [],
            }
        ],
    }
    assert (shown["version"], shown["description"]) == (0.2, "of people")
    read = client.get(f"/v1/tables/{table['id']}", fields="changeDescription")
    assert read == shown
    again = client.request("PUT", f"/v1/tables/{table['id']}/dataModel", json=MODEL)
    assert again.headers["X-OpenMetadata-Change"] == "entityNoChange"


def test_sql_stays_where_none_is_given(client: Client) -> None:
    client.schema()
    table = client.table()
    put(client, table, MODEL)
    shown = put(client, table, {"modelType": "DBT", "rawSql": "", "sql": "select 2"})["dataModel"]
    assert shown == {"modelType": "DBT", "rawSql": "select 1", "sql": "select 2"}


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ({"modelType": "XML"}, "modelType"),
        ({}, "modelType"),
        ({"modelType": "DBT", "bogus": 1}, "bogus"),
        ([], "object"),
    ],
)
def test_wrong_data_model_is_refused(client: Client, model: Any, problem: str) -> None:
    client.schema()
    table = client.table()
    path = f"/v1/tables/{table['id']}/dataModel"
    status, body = client.ask("PUT", path, json=model)
    assert (status, problem in body["message"]) == (400, True), body


def test_data_model_is_only_put_on_a_table_that_is_there(client: Client) -> None:
    client.schema()
    table = client.table()
    path = f"/v1/tables/{table['id']}/dataModel"
    headers = {"If-Match": 'W/"0.7"'}
    assert client.ask("PUT", path, json=MODEL, headers=headers)[0] == 412
    client.request("DELETE", f"/v1/tables/{table['id']}")
    assert client.ask("PUT", path, json=MODEL)[0] == 404
    assert client.ask("PUT", "/v1/tables/x/dataModel", json=MODEL)[0] == 400
    assert client.ask("PUT", f"/v1/topics/{table['id']}/dataModel", json=MODEL)[0] in (404, 405)


def test_data_model_that_is_withheld_may_not_be_put(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["view", "create", "edit"]\n'
        '[[rule]]\nrole = "half"\nallow = ["edit"]\nwithhold = ["dataModel.sql"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view"]\n',
    ) as client:
        client.schema()
        table = client.table()
        path = f"/v1/tables/{table['id']}/dataModel"
        for role in ("half", "reader"):
            assert client.ask("PUT", path, json=MODEL, role=role)[0] == 403
        assert client.ask("PUT", path, json=MODEL)[0] == 200


def test_flag_of_processed_lineage_is_patched_by_name(client: Client) -> None:
    client.schema()
    table = client.table()
    path = f"/v1/tables/name/{table['fullyQualifiedName']}"
    operation = {"op": "add", "path": "/processedLineage", "value": True}
    status, shown = client.ask("PATCH", path, json=[operation])
    assert (status, shown["processedLineage"]) == (200, True)
    assert client.get("/v1/tables")["data"][0]["processedLineage"] is True
    found = client.search_until(
        lambda answer: answer["hits"]["total"]["value"] == 1,
        index="table_search_index",
        queryFilter='{"query": {"term": {"processedLineage": true}}}',
    )
    assert found["hits"]["hits"][0]["_source"]["processedLineage"] is True
