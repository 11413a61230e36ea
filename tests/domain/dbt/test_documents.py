"""Documents of contracts with what dbt says of them."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.contracts.canonical import canonical, read_canonical
from domain.contracts.yaml_input import read_yaml
from domain.dbt.documents import origin_of, with_model, without_model
from domain.dbt.manifest import Model, read_manifest
from tests.domain.contracts.documents import FULL
from tests.domain.dbt.recorded import artifact, damage, packed

CUSTOMERS, _, ORDERS = read_manifest(packed(artifact("manifest")))[1]
PEOPLE = """
apiVersion: v3.1.0
kind: DataContract
id: ours
name: ours
version: 3.4.5
status: proposed
servers: [{server: prod, type: duckdb}]
schema:
  - name: other
    properties: [{name: id, required: true}]
  - name: customers
    businessName: Customers
    properties:
      - {name: gone, physicalType: text}
      - name: name
        logicalType: string
        physicalType: varchar
        classification: internal
        quality: [{type: text, description: Spelled as people do.}]
      - {name: id, physicalType: text, logicalType: string, unique: true}
"""


def given_by_people() -> dict[str, Any]:
    document: dict[str, Any] = read_yaml(PEOPLE.encode())
    return document


def again(document: dict[str, Any], model: Model) -> dict[str, Any]:
    """The document of the next import."""
    return with_model(read_canonical(canonical(document)), model, "shop", declared=True)


def test_document_of_people_keeps_what_dbt_does_not_say() -> None:
    document = with_model(given_by_people(), CUSTOMERS, "shop", declared=True)

    before = given_by_people()
    for key in ("id", "name", "version", "servers"):
        assert document[key] == before[key]
    assert document["status"] == "active"
    assert document["description"] == {"purpose": "Who buys."}
    other, customers = document["schema"]
    assert other == before["schema"][0]
    assert customers["businessName"] == "Customers"
    number, name = customers["properties"]
    assert number == {
        "name": "id",
        "physicalType": "integer",
        "description": "The number of the customer.",
        "primaryKey": True,
        "primaryKeyPosition": 1,
    }
    assert [*name][:4] == ["name", "logicalType", "physicalType", "classification"]
    assert name["required"] is True
    assert [each.get("metric") for each in name["quality"]] == [None, "duplicateValues"]


def test_model_marks_the_object_of_its_table() -> None:
    document = with_model(given_by_people(), CUSTOMERS, "shop", declared=True)

    origin = origin_of(document, 1)

    assert origin is not None
    assert (origin.model, origin.project) == ("model.shop.customers", "shop")
    assert origin.tests == {"test.shop.unique_customers_name.a5db38dd74"}
    assert origin_of(document, 0) is None


def test_rules_of_tests_that_are_gone_go() -> None:
    document = with_model(None, CUSTOMERS, "shop", declared=False)
    promise = msgspec.json.decode(msgspec.json.encode(CUSTOMERS.promise))
    del promise["properties"][1]["quality"]

    after = again(document, replace(CUSTOMERS, promise=promise))

    assert "quality" not in after["schema"][0]["properties"][1]


def test_withdrawn_contract_is_reinstated_and_one_that_people_ended_is_not() -> None:
    made = with_model(None, CUSTOMERS, "shop", declared=False)
    withdrawn = without_model(read_canonical(canonical(made)), 0)
    assert withdrawn["status"] == "deprecated"

    assert canonical(again(withdrawn, CUSTOMERS)) == canonical(made)
    made["status"] = "deprecated"
    assert again(made, CUSTOMERS)["status"] == "deprecated"


def test_version_that_somebody_chose_stays_unless_the_project_says_one() -> None:
    document = given_by_people()

    assert with_model(document, CUSTOMERS, "shop", declared=True)["version"] == "3.4.5"
    assert with_model(document, CUSTOMERS, "shop", declared=False)["version"] == "1.0.0"
    assert with_model(document, ORDERS, "shop", declared=True)["version"] == "2.0.0"


@given(st.data())
def test_any_document_takes_a_model_and_the_same_one_changes_nothing(data: st.DataObject) -> None:
    held = read_yaml(data.draw(st.sampled_from([FULL, PEOPLE])).encode())
    damage(data.draw, held)

    document = with_model(held, CUSTOMERS, "shop", declared=True)

    assert json.dumps(again(document, CUSTOMERS)) == json.dumps(document)
