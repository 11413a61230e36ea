"""What documents say of contracts, whatever shape they have."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from domain.contracts.importing import find_object, read_document
from domain.contracts.yaml_input import read_yaml
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from domain.requests import drafts
from tests.depth import examples
from tests.domain.contracts.documents import FULL, MINIMAL, documents

ENTITY = {"id": "01890000-0000-7000-8000-000000000000", "type": "table"}


def values(**sections: Any) -> dict[str, Any]:
    document = {**MINIMAL, **sections}
    return read_document(document, find_object(document, "orders")).values


def column(**keys: Any) -> dict[str, Any]:
    """The column of a property with these keys."""
    (read,) = values(schema=[{"name": "orders", "properties": [{"name": "a", **keys}]}])["schema"]
    assert read.pop("name") == "a"
    found: dict[str, Any] = read
    return found


def test_full_document_says_what_a_contract_holds() -> None:
    document = read_yaml(FULL.encode())
    place = find_object(document, "Orders")
    said = read_document(document, place)
    assert (said.name, place) == ("Orders", 1)
    key = {"displayName": "Order id", "constraint": "PRIMARY_KEY"}
    assert said.values == {
        "entityStatus": "Deprecated",
        "description": "What was ordered,\nline by line.\n",
        "termsOfUse": "Not for credit scoring.",
        "schema": [
            {"name": "id", "dataType": "BIGINT", "dataTypeDisplay": "bigint", **key},
            {
                "name": "total",
                "dataType": "DECIMAL",
                "dataTypeDisplay": "decimal(10,2)",
                "precision": 10,
                "scale": 2,
            },
            {"name": "status", "dataType": "STRING", "dataLength": 20},
            {
                "name": "lines",
                "dataType": "ARRAY",
                "arrayDataType": "STRUCT",
                "children": [
                    {"name": "sku", "dataType": "STRING"},
                    {"name": "position", "dataType": "BIGINT", "dataTypeDisplay": "bigint", **key},
                ],
            },
        ],
        "odcsQualityRules": [
            {"type": "sql", "query": "select count(*) from orders", "mustBeGreaterThan": 100.0},
            {
                "type": "library",
                "name": "no nulls",
                "metric": "nullValues",
                "unit": "rows",
                "mustBe": 0.0,
                "column": "total",
            },
            {"type": "custom", "engine": "soda", "column": "total"},
        ],
        "sla": {
            "refreshFrequency": {"interval": 1, "unit": "day"},
            "maxLatency": {"value": 4, "unit": "hour"},
            "retention": {"period": 3, "unit": "year"},
            "availabilityTime": "09:00",
            "columnName": "id",
        },
        "security": {
            "policies": [
                {"accessPolicy": "analyst", "identities": ["anna", "bert"]},
                {"accessPolicy": "auditor"},
            ]
        },
    }


@given(documents)
@settings(deadline=None, max_examples=examples(1_000))
def test_what_any_document_says_can_be_recorded(document: dict[str, Any]) -> None:
    said = read_document(document, find_object(document, "orders"))
    body = {"name": said.name, "entity": ENTITY, **said.values}
    kind = KINDS["dataContract"]
    draft = drafts.draft(kind, body)
    recorded = draft.recorded(kind, "table.dataContract_x")
    # What is recorded is what was said: only so is it known later what was edited.
    for key in ("schema", "odcsQualityRules", "sla", "security"):
        if key in said.values:
            assert msgspec.json.decode(recorded[key]) == said.values[key]


@pytest.mark.parametrize(
    ("name", "object_name", "place"),
    [("orders", None, 2), ("Lines", None, 3), ("other", None, 1), ("orders", "customers", 1)],
)
def test_schema_object_that_fits_is_found(name: str, object_name: str | None, place: int) -> None:
    lines = {"name": "x", "physicalName": "lines"}
    schema = [None, {"name": "customers"}, {"name": "ORDERS"}, lines]
    assert find_object({**MINIMAL, "schema": schema}, name, object_name) == place


def test_schema_object_that_is_not_there_is_refused() -> None:
    schema = [{"name": "customers"}, {"name": "orders"}]
    with pytest.raises(InvalidInput, match="no schema object is named 'x'; there are customers,"):
        find_object({**MINIMAL, "schema": schema}, "orders", "x")


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({"name": "Orders"}, "Orders"),
        ({"name": ""}, "minimal"),
        ({"name": 7}, "minimal"),
        ({"name": "x" * 257}, "minimal"),
        ({"name": "a\n"}, "minimal"),
        ({"id": 7}, "7"),
    ],
)
def test_name_is_that_of_the_document_or_its_id(keys: dict[str, Any], name: str) -> None:
    assert read_document({**MINIMAL, **keys}, None).name == name


def test_id_that_is_no_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="id of the document must have 1 to 256 characters"):
        read_document({**MINIMAL, "id": "x" * 257}, None)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, {"dataType": "UNKNOWN"}),
        ({"logicalType": "integer"}, {"dataType": "INT"}),
        ({"physicalType": "INT"}, {"dataType": "INT"}),
        ({"physicalType": "INT64"}, {"dataType": "BIGINT", "dataTypeDisplay": "INT64"}),
        ({"physicalType": "VARCHAR(20)"}, {"dataType": "VARCHAR", "dataLength": 20}),
        ({"physicalType": "NUMERIC(9)"}, {"dataType": "NUMERIC", "precision": 9}),
        (
            {"physicalType": "decimal(9, 2)"},
            {"dataType": "DECIMAL", "precision": 9, "scale": 2, "dataTypeDisplay": "decimal(9, 2)"},
        ),
        (
            {"physicalType": "ref(x)", "logicalType": "string"},
            {"dataType": "STRING", "dataTypeDisplay": "ref(x)"},
        ),
        (
            {"logicalType": "string", "logicalTypeOptions": {"maxLength": 5}},
            {"dataType": "STRING", "dataLength": 5},
        ),
        ({"required": True}, {"dataType": "UNKNOWN", "constraint": "NOT_NULL"}),
        (
            {"required": True, "unique": True, "primaryKey": "yes"},
            {"dataType": "UNKNOWN", "constraint": "UNIQUE"},
        ),
        (
            {"logicalType": "array", "items": {"logicalType": "string"}},
            {"dataType": "ARRAY", "arrayDataType": "STRING"},
        ),
    ],
)
def test_property_becomes_a_column(keys: dict[str, Any], expected: dict[str, Any]) -> None:
    assert column(**keys) == expected


def test_properties_that_are_no_columns_are_passed_over() -> None:
    unfit = [{"name": "a"}, {"name": "a"}, {"name": ""}, {"name": "x\n"}, {"name": 1}, "b", None]
    assert values(schema=[{"properties": unfit}]) == {
        "schema": [{"name": "a", "dataType": "UNKNOWN"}]
    }
    assert values(schema=[{"properties": {"name": "a"}}]) == {}


@pytest.mark.parametrize(
    ("given_property", "sla"),
    [
        ({"property": "latency", "value": "30", "unit": "minutes"}, ("maxLatency", "minute", 30)),
        ({"property": "freshness", "value": 2, "unit": "h"}, ("refreshFrequency", "hour", 2)),
        ({"property": "retention", "value": 1.0, "unit": "Y"}, ("retention", "year", 1)),
        ({"property": "retention", "value": 1.5, "unit": "y"}, None),
        ({"property": "retention", "value": True, "unit": "y"}, None),
        ({"property": "latency", "value": 1, "unit": "year"}, None),
        ({"property": "latency", "value": 10**30, "unit": "d"}, None),
        ({"property": "throughput", "value": 1, "unit": "d"}, None),
    ],
)
def test_sla_property_becomes_a_time(
    given_property: dict[str, Any], sla: tuple[str, str, int] | None
) -> None:
    read = values(slaProperties=[given_property]).get("sla")
    if sla is None:
        assert read is None
    else:
        key, unit, number = sla
        assert read is not None
        assert set(read[key].values()) == {unit, number}
