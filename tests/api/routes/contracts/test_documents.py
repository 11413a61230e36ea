"""Contracts as documents of the Open Data Contract Standard: what goes in comes out."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from domain.contracts.canonical import canonical
from domain.contracts.yaml_input import read_yaml
from tests.api.conftest import Client, running, token
from tests.api.routes.contracts.giving import ODCS, YAML, made, new_table, of, put, served
from tests.depth import examples
from tests.domain.contracts.documents import FULL, documents


def test_document_comes_out_as_it_went_in(shared: Client) -> None:
    expected = read_yaml(FULL.encode())
    contract = made(shared)
    assert repr(served(shared, contract)) == repr(expected)
    assert contract["name"] == "Orders"
    assert (contract["entityStatus"], contract["sla"]["columnName"]) == ("Deprecated", "id")

    table = new_table(shared)
    posted = shared.request("POST", ODCS, content=canonical(expected), params=of(table))
    assert posted.status_code == 201
    assert posted.headers["Location"] == f"/v1/dataContracts/{posted.json()['id']}"
    assert repr(served(shared, posted.json())) == repr(expected)


@given(documents)
@settings(deadline=None, max_examples=examples(200))
def test_any_mapping_that_is_taken_comes_out_as_it_went_in(
    shared: Client, document: dict[str, Any]
) -> None:
    document = {**document, "status": "draft"}
    table = new_table(shared)
    answer = shared.request("PUT", ODCS, content=canonical(document), params=of(table))
    assert answer.status_code == 201, answer.text
    assert repr(served(shared, answer.json())) == repr(document)


def test_same_document_again_stores_nothing(shared: Client) -> None:
    contract = made(shared)
    again = put(shared, contract["entity"], FULL)
    assert (again.status_code, again.json()["version"]) == (200, 0.1)
    assert again.headers["X-OpenMetadata-Change"] == "entityNoChange"
    headers = {"Content-Type": "application/json"}
    text = canonical(read_yaml(FULL.encode()))
    params = of(contract["entity"])
    by_json = shared.request("PUT", ODCS, content=text, headers=headers, params=params)
    assert by_json.headers["X-OpenMetadata-Change"] == "entityNoChange"


def test_document_that_differs_in_a_number_or_an_order_is_another(shared: Client) -> None:
    contract = made(shared, "{apiVersion: v3.1.0, kind: DataContract, id: a, x: 1, y: 2}")
    for version, text in enumerate(("x: 1.0, y: 2", "y: 2, x: 1.0", "y: 2, x: 1.0, z: ~"), 2):
        whole = f"{{apiVersion: v3.1.0, kind: DataContract, id: a, {text}}}"
        answer = put(shared, contract["entity"], whole)
        assert answer.json()["version"] == version / 10
        assert repr(served(shared, contract)) == repr(read_yaml(whole.encode()))


def test_edit_changes_the_keys_that_say_it_and_another_document_says_all_anew(
    shared: Client,
) -> None:
    contract = made(shared)
    patch = [{"op": "add", "path": "/description", "value": "New"}]
    path = f"/v1/dataContracts/{contract['id']}"
    assert shared.ask("PATCH", path, json=patch)[0] == 200
    expected = read_yaml(FULL.encode())
    expected["description"]["purpose"] = "New"
    assert served(shared, contract) == expected

    assert put(shared, contract["entity"], FULL).json()["version"] == 0.3
    assert served(shared, contract) == read_yaml(FULL.encode())
    shown = shared.get(path)
    assert shown["description"] == "What was ordered,\nline by line.\n"


def test_put_keeps_name_and_what_no_document_says(shared: Client) -> None:
    table = new_table(shared, columns=[{"name": "id", "dataType": "BIGINT"}])
    body = {
        "name": "mine",
        "entity": {"id": table["id"], "type": "table"},
        "description": "Kept",
        "sla": {"retention": {"period": 1, "unit": "year"}},
        "security": {"dataClassification": "PII"},
        "schema": [{"name": "id", "dataType": "BIGINT", "extension": {"a": 1}}],
    }
    created = shared.create("dataContracts", **body)
    text = """
apiVersion: v3.1.0
kind: DataContract
id: orders
name: another
schema: [{name: orders, properties: [{name: id, physicalType: INT, description: The key}]}]
slaProperties: [{property: latency, value: 1, unit: h}]
roles: [{role: reader}]
"""
    answer = put(shared, table, text)

    contract = answer.json()
    assert (answer.status_code, contract["id"], contract["name"]) == (200, created["id"], "mine")
    assert contract["description"] == "Kept"
    assert contract["sla"] == {**body["sla"], "maxLatency": {"value": 1, "unit": "hour"}}
    policies = [{"accessPolicy": "reader"}]
    assert contract["security"] == {"dataClassification": "PII", "policies": policies}
    column = {"name": "id", "dataType": "INT", "description": "The key", "extension": {"a": 1}}
    assert contract["schema"] == [column]
    assert served(shared, contract) == read_yaml(text.encode())

    replaced = put(shared, table, text, mode="replace").json()
    assert "description" not in replaced
    assert replaced["sla"] == {"maxLatency": {"value": 1, "unit": "hour"}}
    assert replaced["security"] == contract["security"]
    assert served(shared, contract) == read_yaml(text.encode())


def test_contract_may_promise_columns_that_its_entity_does_not_have(shared: Client) -> None:
    params = of(new_table(shared), objectName="orders")
    answer = shared.request(
        "POST", f"{ODCS}/yaml", content=FULL.encode(), headers=YAML, params=params
    )
    columns = [each["name"] for each in answer.json()["schema"]]
    assert (answer.status_code, columns) == (201, ["id", "total", "status", "lines"])
    request: dict[str, Any] = {"content": FULL.encode(), "headers": YAML, "params": params}
    unknown = "Unevaluated properties are not allowed"
    assert shared.ask("POST", f"{ODCS}/validate/yaml", **request) == (
        200,
        {
            "valid": False,
            "schemaValidation": {
                "passed": 1,
                "failed": 5,
                "total": 6,
                "failedFields": ["total", "status", "lines", "lines.sku", "lines.position"],
                "duplicateFields": [],
                "typeMismatchFields": [],
            },
            "entityErrors": [
                '$.version: the value is not of type "string"',
                '$.description.usage: the value is not of type "string"',
                f"$.servers[0]: {unknown} ('password' was unexpected)",
                f"$.schema[1].properties[1].quality[0]: {unknown} ('extra' was unexpected)",
                "$: Additional properties are not allowed ('unknownKey' was unexpected)",
            ],
        },
    )


def test_valid_document_is_called_valid(shared: Client) -> None:
    text = """
{apiVersion: v3.1.0, kind: DataContract, id: a, version: "1", status: draft,
schema: [{name: a, properties: [{name: id}]}, {name: b, properties: [{name: id}, {name: id}]}]}
"""
    table = new_table(shared)
    request: dict[str, Any] = {"content": text.encode(), "headers": YAML}
    none = {"failedFields": [], "duplicateFields": [], "typeMismatchFields": []}
    compared = {"passed": 1, "failed": 0, "total": 1, **none}
    first = shared.ask("POST", f"{ODCS}/validate/yaml", params=of(table), **request)
    assert first == (200, {"valid": True, "schemaValidation": compared})
    params = of(table, objectName="b")
    status, second = shared.ask("POST", f"{ODCS}/validate/yaml", params=params, **request)
    assert (status, second["valid"]) == (200, False)
    assert second["schemaValidation"]["duplicateFields"] == ["id"]
    assert shared.get("/v1/dataContracts", entity=table["id"])["data"] == []


def test_names_in_a_document_are_told(shared: Client) -> None:
    answer = shared.ask("POST", f"{ODCS}/parse/yaml", content=FULL.encode(), headers=YAML)
    assert answer == (
        200,
        {
            "name": "Orders",
            "version": None,
            "status": "retired",
            "schemaObjects": ["customers", "orders"],
            "hasMultipleObjects": True,
        },
    )


def test_strict_refuses_what_the_schema_refuses_and_names_five_faults(shared: Client) -> None:
    table = new_table(shared)
    many = FULL + "a: 1\n" + "\n".join(f"k{n}: {{}}" for n in range(9))
    refused = put(shared, table, many, strict="true")
    assert refused.status_code == 400
    message = refused.json()["message"]
    assert message.startswith("the document is not valid by the schema of its apiVersion: $")
    assert shared.get("/v1/dataContracts", entity=table["id"])["data"] == []
    valid = "{apiVersion: v3.1.0, kind: DataContract, id: a, version: '1', status: draft}"
    assert put(shared, table, valid, strict="true").status_code == 201


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "an ODCS document is a mapping at its top"),
        ("{kind: DataProduct}", "kind of an ODCS document is DataContract, got 'DataProduct'"),
        ("{kind: DataContract, apiVersion: v2.2.2}", "apiVersion of an ODCS document is v3.x.y"),
        ("{kind: DataContract, apiVersion: v3.1.0}", "an ODCS document needs an id"),
        ("a: 1\na: 2", "the key 'a' comes twice in line 2"),
        ("a: [&x [b], *x, *y]", "the alias *y in line 1 has no anchor before it"),
    ],
)
def test_what_is_no_document_is_refused(shared: Client, text: str, message: str) -> None:
    refused = put(shared, new_table(shared), text)
    assert (refused.status_code, refused.json()["errorType"]) == (400, "BAD_REQUEST")
    assert refused.json()["message"].startswith(message)


def test_second_contract_is_refused(shared: Client) -> None:
    contract = made(shared)
    request: dict[str, Any] = {"params": of(contract["entity"]), "headers": YAML}
    text = FULL.replace("name: Orders", "name: Other").encode()
    status, error = shared.ask("POST", f"{ODCS}/yaml", content=text, **request)
    assert (status, error["errorType"]) == (400, "BAD_REQUEST")
    assert error["message"].startswith("A data contract already exists for entity 'table'")


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"entityId": "01890000-0000-7000-8000-000000000000", "entityType": "table"}, 404),
        ({"entityId": "x", "entityType": "table"}, 400),
        ({"entityId": "01890000-0000-7000-8000-000000000000", "entityType": "x"}, 400),
        ({}, 400),
    ],
)
def test_entity_must_be_there(shared: Client, params: dict[str, str], status: int) -> None:
    request: dict[str, Any] = {"params": params, "headers": YAML, "content": FULL.encode()}
    assert shared.ask("PUT", f"{ODCS}/yaml", **request)[0] == status
    assert shared.ask("POST", f"{ODCS}/validate/yaml", **request)[0] == status


def test_media_types_are_held_to(shared: Client) -> None:
    table = new_table(shared)
    for media_type in ("application/x-yaml", "text/yaml", "text/x-yaml; charset=utf-8"):
        headers = {"Content-Type": media_type}
        assert put(shared, table, FULL, headers=headers).status_code in (200, 201)
    for path, media_type in ((f"{ODCS}/yaml", "application/json"), (ODCS, "application/yaml")):
        headers = {"Content-Type": media_type}
        request: dict[str, Any] = {"params": of(table), "headers": headers, "content": b"{}"}
        assert shared.ask("PUT", path, **request)[0] == 415


def test_contract_may_be_written_in_yaml(shared: Client) -> None:
    table = new_table(shared)
    text = f"name: c\nentity: {{id: {table['id']}, type: table}}\ndescription: |\n  a\n  b\n"
    created = shared.request("POST", "/v1/dataContracts", content=text.encode(), headers=YAML)
    assert (created.status_code, created.json()["description"]) == (201, "a\nb\n")
    changed = text.replace("  b", "  c").encode()
    answer = shared.request("PUT", "/v1/dataContracts", content=changed, headers=YAML)
    assert (answer.status_code, answer.json()["description"]) == (200, "a\nc\n")
    status, error = shared.ask("POST", "/v1/dataContracts", content=b"[]", headers=YAML)
    assert (status, error["message"]) == (400, "the body must be a mapping at its top")
    status, _ = shared.ask("PUT", "/v1/domains", content=b"name: a", headers=YAML)
    assert status == 415


def test_contract_without_a_document_is_given_one_that_is_made(shared: Client) -> None:
    table = new_table(shared)
    body = {
        "name": "c",
        "entity": {"id": table["id"], "type": "table"},
        "schema": [{"name": "id", "dataType": "INT", "constraint": "PRIMARY_KEY"}],
        "sla": {"retention": {"period": 1, "unit": "year"}},
    }
    contract = shared.create("dataContracts", **body)
    column = {
        "name": "id",
        "logicalType": "integer",
        "physicalType": "INT",
        "primaryKey": True,
    }
    document = served(shared, contract)
    assert document == {
        "version": "0.1",
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": contract["id"],
        "name": "c",
        "status": "draft",
        "schema": [{"name": table["name"], "logicalType": "object", "properties": [column]}],
        "slaProperties": [{"property": "retention", "value": 1, "unit": "year"}],
    }
    answer = put(shared, table, canonical(document), strict="true")
    changed = {key: answer.json()[key] for key in ("schema", "sla", "entityStatus")}
    assert changed == {key: contract[key] for key in changed}


def test_bot_gives_a_document_and_leaves_what_people_wrote(shared: Client) -> None:
    contract = made(shared)
    path = f"/v1/dataContracts/{contract['id']}"
    patch = [{"op": "add", "path": "/description", "value": "Of a person"}]
    assert shared.ask("PATCH", path, json=patch)[0] == 200
    text = FULL.replace("Not for credit scoring.", "None.")
    answer = put(shared, contract["entity"], text, role="bot")
    assert answer.json()["description"] == "Of a person"
    assert answer.json()["termsOfUse"] == {"content": "None."}
    # What was given is given back; the text of the person is no edit of this document.
    assert served(shared, contract) == read_yaml(text.encode())


def test_history_and_audit_tell_of_a_document(shared: Client) -> None:
    contract = made(shared)
    text = FULL.replace("priceAmount: 9.95", "priceAmount: 10")
    assert put(shared, contract["entity"], text).json()["version"] == 0.2
    versions = shared.get(f"/v1/dataContracts/{contract['id']}/versions")["versions"]
    assert [json.loads(each)["version"] for each in versions] == [0.2, 0.1]
    events = shared.get("/v1/audit/events", entity=contract["id"])["data"]
    assert [each["eventType"] for each in events] == ["entity.created", "entity.changed"]
    given_text = canonical(read_yaml(text.encode()))
    assert events[1]["patch"] == [{"op": "replace", "path": "/odcs/text", "value": given_text}]


def test_document_is_there_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        client.schema()
        contract = made(client)
    with running(tmp_path) as client:
        assert repr(served(client, contract)) == repr(read_yaml(FULL.encode()))


def test_client_of_openmetadata_gives_json_without_nulls(shared: Client) -> None:
    """The body and headers of `create_or_update_from_odcs` of openmetadata-ingestion 1.12."""
    table = new_table(shared)
    body = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "8d9d2dcd-7e9e-4e5a-8d8a-5d1f3a3f5b10",
        "name": "orders_contract",
        "version": "1.0.0",
        "status": "active",
        "description": {"purpose": "Orders"},
        "schema": [
            {
                "name": "orders",
                "logicalType": "object",
                "properties": [{"name": "id", "logicalType": "integer", "primaryKey": True}],
            }
        ],
        "slaProperties": [{"property": "latency", "value": "4", "unit": "h"}],
    }
    headers = {"Authorization": f"Bearer {token('admin')}", "Content-type": "application/json"}
    created = shared.http.put(
        f"/api{ODCS}", content=json.dumps(body), headers=headers, params=of(table, mode="merge")
    )
    assert (created.status_code, created.json()["entityStatus"]) == (201, "Approved")
    read = shared.http.get(f"/api/v1/dataContracts/{created.json()['id']}/odcs", headers=headers)
    assert read.json() == body
    name = created.json()["fullyQualifiedName"]
    text = shared.http.get(f"/api/v1/dataContracts/name/{name}/odcs/yaml", headers=headers)
    assert read_yaml(text.content) == body
