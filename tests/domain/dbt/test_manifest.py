"""What is read of manifests."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.contracts.judging import WRITTEN, faults
from domain.dbt.documents import with_model
from domain.dbt.manifest import Model, model_of, read_manifest
from domain.errors import InvalidInput
from tests.domain.dbt.recorded import artifact, damage, packed

NODE: dict[str, Any] = {
    "unique_id": "model.shop.lines",
    "resource_type": "model",
    "package_name": "shop",
    "database": "shop",
    "schema": "main",
    "name": "lines",
    "contract": {"enforced": True},
    "columns": {
        "order": {"name": "order", "data_type": "int"},
        "place": {"name": "place", "data_type": "struct<x int>"},
        "place.x": {"name": "place.x", "data_type": "int"},
    },
}


def models(manifest: Any) -> list[Model]:
    return [*read_manifest(packed(manifest))[1]]


def model(**keys: Any) -> Model:
    return model_of({**NODE, **keys}, [], {})


def check(**keys: Any) -> dict[str, Any]:
    """A test of a column."""
    kwargs = {"column_name": "order", "model": "{{ here }}", **keys.pop("kwargs", {})}
    metadata = {"name": keys.pop("kind", "not_null"), "namespace": keys.pop("package", None)}
    config = {"severity": "ERROR", "error_if": "!= 0", "fail_calc": "count(*)"}
    return {
        "unique_id": "test.shop.checked.1",
        "name": "checked",
        "test_metadata": {**metadata, "kwargs": kwargs},
        "config": {**config, **keys.pop("config", {})},
        **keys,
    }


def rule(**keys: Any) -> dict[str, Any]:
    """The rule of a test, without what all rules have alike."""
    promise = model_of(NODE, [(check(**keys), "customers")], {}).promise
    holders = [promise, *promise["properties"]]
    (found,) = [each for holder in holders for each in holder.get("quality", ())]
    same = {"id": "test-shop-checked-1", "name": "checked"}
    assert {key: found.pop(key) for key in same} == same
    assert found.pop("customProperties") == [{"property": "dbt", "value": "test.shop.checked.1"}]
    return dict(found)


def test_enforced_models_are_read_with_their_tests() -> None:
    found = {each.unique_id: each for each in models(artifact("manifest"))}

    assert [*found] == ["model.shop.customers", "model.shop.orders.v1", "model.shop.orders.v2"]
    orders = found["model.shop.orders.v2"]
    assert (orders.place, orders.version, orders.ends) == (
        ["shop", "main", "orders_v2"],
        "2.0.0",
        None,
    )
    assert orders.owners == ["ann", "ann@example.org"]
    (singular,) = orders.promise["quality"]
    assert json.loads(singular["implementation"]) == {"test": "no_order_is_free"}


@pytest.mark.parametrize("version", [9, 10, 11, 12, 13])
def test_versions_from_nine_on_are_read(version: int) -> None:
    manifest = artifact("manifest")
    address = f"https://schemas.getdbt.com/dbt/manifest/v{version}.json"
    manifest["metadata"]["dbt_schema_version"] = address
    for node in manifest["nodes"].values():
        # Version 9 does not say at which model a test stands.
        node.pop("attached_node", None)

    found = models(manifest)

    assert len(found) == 3
    assert found[0].promise["properties"][1]["quality"][0]["metric"] == "duplicateValues"


def test_older_version_is_refused() -> None:
    address = "https://schemas.getdbt.com/dbt/manifest/v8.json"

    with pytest.raises(InvalidInput, match="must be of version 9 or later"):
        models({"metadata": {"dbt_schema_version": address}, "nodes": {}})


def test_field_of_a_struct_stands_inside_it() -> None:
    assert model().promise["properties"] == [
        {"name": "order", "physicalType": "int"},
        {
            "name": "place",
            "physicalType": "struct<x int>",
            "properties": [{"name": "x", "physicalType": "int"}],
        },
    ]


def test_constraints_of_a_model_are_promises_of_its_columns() -> None:
    keys = [
        {"type": "primary_key", "columns": ["place", "order"]},
        {"type": "not_null", "columns": ["order"]},
        {"type": "unique", "columns": ["order"]},
        {"type": "unique", "columns": ["order", "place"]},
        {
            "type": "foreign_key",
            "columns": ["order"],
            "to": '"a"."b"."orders"',
            "to_columns": ["id"],
        },
        {
            "type": "foreign_key",
            "columns": ["order", "place"],
            "to": "`b`.`spots`",
            "to_columns": ["nr", "spot"],
        },
        {"type": "foreign_key", "columns": ["order"], "to": "orders", "to_columns": []},
    ]
    mark = [{"property": "dbt", "value": "constraint"}]

    promise = model(constraints=keys).promise

    order, place = promise["properties"]
    assert order == {
        "name": "order",
        "physicalType": "int",
        "primaryKey": True,
        "primaryKeyPosition": 2,
        "required": True,
        "unique": True,
        "relationships": [{"type": "foreignKey", "to": "orders.id", "customProperties": mark}],
    }
    assert (place["primaryKey"], place["primaryKeyPosition"]) == (True, 1)
    assert promise["relationships"] == [
        {
            "type": "foreignKey",
            "from": ["lines.order", "lines.place"],
            "to": ["spots.nr", "spots.spot"],
            "customProperties": mark,
        }
    ]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ({}, {"type": "library", "metric": "nullValues", "mustBe": 0}),
        (
            {"kind": "unique", "config": {"severity": "Warn"}},
            {"type": "library", "metric": "duplicateValues", "mustBe": 0, "severity": "warning"},
        ),
        (
            {"kind": "accepted_values", "kwargs": {"values": ["a", 1, True]}},
            {
                "type": "library",
                "metric": "invalidValues",
                "mustBe": 0,
                "arguments": {"validValues": ["a", "1", "true"]},
            },
        ),
        (
            {"config": {"where": "x > 1"}},
            {
                "type": "custom",
                "engine": "dbt",
                "implementation": '{"test": "not_null", "where": "x > 1"}',
            },
        ),
        (
            {"config": {"error_if": "> 5"}},
            {
                "type": "custom",
                "engine": "dbt",
                "implementation": '{"error_if": "> 5", "test": "not_null"}',
            },
        ),
        (
            {"kind": "unique", "package": "other"},
            {"type": "custom", "engine": "dbt", "implementation": '{"test": "other.unique"}'},
        ),
        (
            {"kind": "in_range", "package": "dbt_utils", "kwargs": {"max": 3}},
            {
                "type": "custom",
                "engine": "dbt",
                "implementation": '{"arguments": {"max": 3}, "test": "dbt_utils.in_range"}',
            },
        ),
    ],
)
def test_test_is_a_rule(test: dict[str, Any], expected: dict[str, Any]) -> None:
    assert rule(**test) == expected


@pytest.mark.parametrize(
    ("config", "promised"), [({}, True), ({"severity": "warn"}, False), ({"where": "x"}, False)]
)
def test_relationship_is_promised_where_all_rows_keep_it(
    config: dict[str, Any], promised: bool
) -> None:
    test = check(kind="relationships", kwargs={"field": "id"}, config=config)

    order = model_of(NODE, [(test, "customers")], {}).promise["properties"][0]

    assert [each["to"] for each in order.get("relationships", ())] == ["customers.id"] * promised


@pytest.mark.parametrize(
    ("keys", "version"),
    [
        ({}, None),
        ({"version": 3}, "3.0.0"),
        ({"version": "v4"}, "4.0.0"),
        ({"version": "spring"}, None),
        ({"version": 3, "meta": {"contract_version": "3.1.0"}}, "3.1.0"),
        ({"config": {"meta": {"contract_version": 2}}}, "2"),
    ],
)
def test_version_is_that_of_meta_or_of_the_model(keys: dict[str, Any], version: str | None) -> None:
    assert model(**keys).version == version


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ("2027-06-30T02:00:00+02:00", "2027-06-30T00:00:00Z"),
        ("2027-06-30", "2027-06-30T00:00:00Z"),
        ("soon", None),
        (3, None),
    ],
)
def test_deprecation_date_is_a_moment(given: Any, ends: str | None) -> None:
    assert model(deprecation_date=given).ends == ends


def test_owners_of_meta_come_before_those_of_the_group() -> None:
    node = {**NODE, "meta": {"owner": [{"name": "ann", "email": "ann@x.org"}, "bea"]}}

    found = model_of(node, [], {"owner": {"name": "ann", "email": "sales@x.org"}})

    assert found.owners == ["ann", "ann@x.org", "bea", "sales@x.org"]


@given(st.data())
def test_anything_in_a_node_is_read_or_passed_over(data: st.DataObject) -> None:
    manifest = artifact("manifest")
    key = data.draw(st.sampled_from(sorted(manifest["nodes"])))
    damage(data.draw, manifest["nodes"][key])

    for each in models(manifest):
        document = with_model(None, each, "shop", declared=False)
        assert document["apiVersion"] == WRITTEN
        again = with_model(json.loads(json.dumps(document)), each, "shop", declared=True)
        assert json.dumps(again) == json.dumps(document)


def test_documents_are_valid() -> None:
    for each in models(artifact("manifest")):
        assert faults(with_model(None, each, "shop", declared=False)) == []
