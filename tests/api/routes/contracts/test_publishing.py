"""Documents that datacontract-cli publishes: which contracts they become."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, body_of, running_under
from tests.api.routes.contracts.giving import put, served
from tests.api.routes.contracts.publishing import (
    PLACE,
    about,
    document,
    new_name,
    publish,
    published,
    servers,
)

ELSEWHERE = "the catalog has no entity that this document is about"


def refused(answer: Any, status: int) -> str:
    body = body_of(answer)
    assert answer.status_code == status, answer.text
    message: str = body["message"]
    return message


def test_document_is_published_to_the_entity_that_it_names(shared: Client) -> None:
    name = new_name()
    shared.table(name)
    given = document(name, customProperties=about(f"{PLACE}.{name}"))

    answer = publish(shared, given)

    assert answer.status_code == 200
    fqn = f'{PLACE}.{name}."dataContract_urn:{name}"'.replace('"', "")
    (contract,) = answer.json()["contracts"]
    assert answer.json() == {
        "id": f"urn:{name}",
        "contracts": [
            {
                "id": contract["id"],
                "fullyQualifiedName": fqn,
                "schemaObject": name,
                "change": "entityCreated",
            }
        ],
        "withoutEntity": [],
        "withoutObject": [],
    }
    assert answer.headers["location-html"] == f"http://testserver.local/entity/dataContract/{fqn}"
    assert served(shared, contract) == given
    head = shared.get("/v1/system/projections")["head"]

    again = publish(shared, given)

    assert (again.status_code, again.json()["contracts"][0]["change"]) == (200, "entityNoChange")
    assert shared.get("/v1/system/projections")["head"] == head


def test_later_document_of_an_id_goes_where_the_id_is(shared: Client) -> None:
    name = new_name()
    table = shared.table(name)
    assert put(shared, table, f"{{apiVersion: v3.1.0, kind: DataContract, id: urn:{name}}}")

    (contract,) = published(shared, document(name, "renamed"))

    assert (contract["change"], contract["schemaObject"]) == ("entityUpdated", "renamed")
    assert shared.get(f"/v1/dataContracts/{contract['id']}")["entity"]["id"] == table["id"]
    named = document(name, "renamed", customProperties=about(PLACE))
    message = refused(publish(shared, named), 409)
    assert message == (
        f"the contract with the id 'urn:{name}' is about {PLACE}.{name}, and catalogEntity names"
        f" {PLACE}: delete the contract to have it there"
    )


def test_contract_that_the_catalog_made_a_document_for_takes_that_document_back(
    shared: Client,
) -> None:
    table = shared.table(new_name())
    entity = {"id": table["id"], "type": "table"}
    contract = shared.create("dataContracts", name="plain", entity=entity)
    given = served(shared, contract)

    (found,) = published(shared, {**given, "version": "2.0.0"})

    assert (found["id"], found["change"]) == (contract["id"], "entityUpdated")


@pytest.mark.parametrize(
    ("database", "schema", "keys"),
    [
        ("shop", "public", {"type": "postgres", "database": "shop", "schema": "public"}),
        ("lake", "raw", {"type": "databricks", "catalog": "lake", "schema": "raw"}),
        ("proj", "set", {"type": "bigquery", "project": "proj", "dataset": "set"}),
        ("default", "mine", {"type": "mysql", "database": "mine"}),
        ("a.b", "c", {"type": "duckdb", "database": "a.b", "schema": "c"}),
    ],
)
def test_table_is_found_at_the_servers(
    shared: Client, database: str, schema: str, keys: dict[str, str]
) -> None:
    at = shared.create("databases", name=database, service="service")["fullyQualifiedName"]
    held = shared.create("databaseSchemas", name=schema, database=at)["fullyQualifiedName"]
    name = new_name()
    column = {"name": "id", "dataType": "INT"}
    table = shared.create("tables", name=name, databaseSchema=held, columns=[column])
    given = document(name, "logical", servers=[{"server": "s", **keys}, {"server": "${X}"}, 1])
    given["schema"][0]["physicalName"] = name

    (contract,) = published(shared, given)

    assert contract["fullyQualifiedName"].startswith(table["fullyQualifiedName"])
    assert contract["schemaObject"] == "logical"


def test_document_of_no_entity_or_of_several_is_told_so(shared: Client) -> None:
    name, advice = new_name(), "as custom property catalogEntity of the document or of its schema"
    message = refused(publish(shared, document(name)), 422)
    assert message == (
        f"{ELSEWHERE} ('{name}'): no server of it names a database or schema. Give the qualified"
        f" name of the entity {advice} object"
    )
    message = refused(publish(shared, document(name, servers=servers())), 422)
    assert "there is no such table in database.schema of any service." in message

    shared.table(name)
    for place in ("services/databaseServices", "databases", "databaseSchemas"):
        body: dict[str, Any] = {
            "services/databaseServices": {"name": f"of-{name}", "serviceType": "Mysql"},
            "databases": {"name": "database", "service": f"of-{name}"},
            "databaseSchemas": {"name": "schema", "database": f"of-{name}.database"},
        }[place]
        shared.create(place, **body)
    other = f"of-{name}.database.schema"
    column = {"name": "id", "dataType": "INT"}
    shared.create("tables", name=name, databaseSchema=other, columns=[column])
    message = refused(publish(shared, document(name, servers=servers())), 422)
    assert message == (
        f"schema object '{name}' may be about {other}.{name} or {PLACE}.{name}: name one of them by"
        " the custom property catalogEntity"
    )
    named = document(name, customProperties=about(f"{other}.{name}"), servers=servers())
    assert published(shared, named)[0]["fullyQualifiedName"].startswith(other)

    for wrong in ("nowhere.at.all", 7, None, "\0", "x" * 5_000):
        given = document(new_name(), customProperties=about("x"))
        given["customProperties"][0]["value"] = wrong
        assert refused(publish(shared, given), 422).startswith("catalogEntity")


def test_several_objects_become_a_contract_each_with_the_whole_document(shared: Client) -> None:
    first, second, third = (new_name() for _ in range(3))
    shared.table(first)
    shared.table(second)
    given = document(first, first, second, "nowhere", servers=servers())

    answer = publish(shared, given).json()

    assert [each["schemaObject"] for each in answer["contracts"]] == [first, second]
    assert answer["withoutEntity"] == ["nowhere"]
    for each, name in zip(answer["contracts"], (first, second), strict=True):
        assert served(shared, each) == given
        contract = shared.get(f"/v1/dataContracts/{each['id']}", fields="schema")
        assert contract["entity"]["name"] == name

    shared.table(third)
    given["schema"] = [
        given["schema"][0],
        {"name": "x", "customProperties": about(f"{PLACE}.{third}")},
    ]
    answer = publish(shared, given).json()
    changes = {each["schemaObject"]: each["change"] for each in answer["contracts"]}
    assert changes == {first: "entityUpdated", "x": "entityCreated"}
    (left,) = answer["withoutObject"]
    assert left.startswith(f"{PLACE}.{second}.")

    given["schema"][0]["customProperties"] = about(f"{PLACE}.{third}")
    assert "is about" in refused(publish(shared, given), 409)
    given = document(new_name(), "a", "b", customProperties=about(f"{PLACE}.{third}"))
    for each in given["schema"]:
        each["customProperties"] = about(f"{PLACE}.{third}")
    assert "schema objects 'a' and 'b' are both about" in refused(publish(shared, given), 422)


@pytest.mark.parametrize(
    "path",
    [
        "/api/datacontracts/urn:a:b",
        "/api/datacontracts/a%20b/c?d",
        "/api/datacontracts/..%2F..%2Fx",
        "/api/x",
        "http://testserver.local//api/datacontracts/x",
        "/api/datacontracts",
        "/api/datacontracts/v1/tables//name/",
        "/api/datacontracts/%FF%00?%FF",
    ],
)
def test_id_in_the_path_is_anything(shared: Client, path: str) -> None:
    name = new_name()
    shared.table(name)
    given = document(name, servers=servers())

    assert publish(shared, given, path).json()["id"] == f"urn:{name}"


def test_what_an_import_refuses_is_refused(shared: Client) -> None:
    name = new_name()
    table = shared.table(name)
    given = document(name, servers=servers(), oddKey=1)
    assert "oddKey" in refused(publish(shared, given, params={"strict": "true"}), 400)
    assert "kind of an ODCS document" in refused(publish(shared, {**given, "kind": "x"}), 400)
    assert "needs an id" in refused(publish(shared, {**given, "id": ""}, "/api/x"), 400)
    for header in ("If-Match", "Idempotency-Key"):
        assert header.lower() in refused(publish(shared, given, headers={header: "x"}), 400)
    yaml = {"Content-Type": "application/yaml"}
    assert refused(publish(shared, given, headers=yaml), 415)
    assert publish(shared, given, role="reader").status_code == 403
    path = f"/api/datacontracts/{given['id']}"
    assert shared.http.put(path, json=given).status_code == 401
    assert shared.http.get(path).status_code == 404
    listed = shared.get("/v1/dataContracts", entity=table["id"])
    assert listed["data"] == []


POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit", "delete", "operate"]

[[rule]]
role = "blind"
kinds = ["dataContract"]
allow = ["create", "edit"]

[[rule]]
role = "half"
allow = ["create", "edit", "view"]

[[rule]]
role = "half"
kinds = ["dataContract"]
withhold = ["sla"]
"""


def test_gate_and_permissions_hold_for_what_is_published(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES, contract_gate="consumer") as client:
        client.schema()
        first, second, third = (client.table(name)["name"] for name in ("a", "b", "c"))
        given = document("gated", first, second, servers=servers())
        assert len(published(client, given)) == 2
        head = client.get("/v1/system/projections")["head"]
        broken = {**given, "schema": [given["schema"][0], {"name": second}]}

        answer = publish(client, broken)

        assert (answer.status_code, answer.json()["errorType"]) == (409, "CONTRACT_BROKEN")
        changes = answer.json()["comparison"]["changes"]
        assert [each["rule"] for each in changes] == ["column.removed"]
        assert client.get("/v1/system/projections")["head"] == head
        assert "comparison" not in publish(client, broken, role="blind").json()
        assert len(published(client, {**broken, "version": "2.0.0"})) == 2

        # Tables are not looked for: the refusal would tell which there are.
        for name in (third, "nowhere"):
            message = refused(publish(client, document(name, servers=servers()), role="blind"), 422)
            assert "you may not see tables" in message
        named = document(third, customProperties=about(f"{PLACE}.{third}"))
        assert publish(client, named, role="blind").status_code == 200
        assert "withheld" in refused(publish(client, named, role="half"), 403)


def test_document_of_many_objects_is_bounded(shared: Client) -> None:
    name = new_name()
    shared.table(name)
    many = document(name, name, *(f"x{number}" for number in range(1_000)), servers=servers())

    answer = publish(shared, many).json()

    assert [each["schemaObject"] for each in answer["contracts"]] == [name]
    assert len(answer["withoutEntity"]) == 1_000
    far = [{"database": f"d{number}", "schema": "s"} for number in range(20_001)]
    message = refused(publish(shared, document(new_name(), servers=far)), 422)
    assert "name the entity of each schema object by the custom property catalogEntity" in message
    tables = [
        {
            "name": f"many{number}",
            "databaseSchema": PLACE,
            "columns": [{"name": "id", "dataType": "INT"}],
        }
        for number in range(101)
    ]
    assert shared.ask("PUT", "/v1/tables/bulk", json=tables)[0] == 200
    wide = document("wide", *(each["name"] for each in tables), servers=servers())
    assert "100 contracts" in refused(publish(shared, wide), 400)
    wide["schema"].pop()
    assert len(published(shared, wide)) == 100
    large = document("wide", *(each["name"] for each in tables[:-1]), tags=["x" * 200_000])
    assert "16000000 bytes" in refused(publish(shared, large), 400)
