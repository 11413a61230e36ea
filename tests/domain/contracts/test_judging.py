"""Documents are judged by the official schema of their version."""

from typing import Any

import pytest
from hypothesis import given, settings

from domain.contracts.judging import MOST_FAULTS, MOST_JUDGED, check_shape, faults, refuse_faults
from domain.contracts.yaml_input import read_yaml
from domain.errors import InvalidInput
from tests.domain.contracts.documents import FULL, MINIMAL, documents

VALID: dict[str, Any] = {**MINIMAL, "version": "1.0.0", "status": "active"}


def paths(document: Any) -> list[str]:
    return [fault.path for fault in faults(document)]


@pytest.mark.parametrize("version", ["v3.0.0", "v3.0.1", "v3.0.2", "v3.1.0", "v3.2.0"])
def test_valid_document_has_no_faults(version: str) -> None:
    assert faults({**VALID, "apiVersion": version}) == []


def test_document_is_judged_by_the_schema_of_its_version() -> None:
    vector = {"name": "a", "properties": [{"name": "b", "logicalType": "map"}]}
    document = {**VALID, "schema": [vector]}
    assert "$.schema[0].properties[0].logicalType" in paths(document)
    del document["status"]
    assert paths(document | {"apiVersion": "v3.2.0"}) == ["$.schema[0].properties[0]"]
    vector["properties"] = [{"name": "b", "deprecated": True}]
    assert paths(document | {"apiVersion": "v3.2.0"}) == []


def test_unknown_version_is_a_fault_and_the_newest_schema_judges_the_rest() -> None:
    found = faults({**VALID, "apiVersion": "v3.9.0", "unknown": 1})
    assert str(found[0]) == "$.apiVersion: 'v3.9.0' is not known, which are v3.0.x, v3.1.x, v3.2.x"
    assert "'unknown' was unexpected" in "".join(map(str, found[1:]))


def test_fault_has_a_path_and_repeats_no_value() -> None:
    (fault,) = faults({**VALID, "tenant": {"secret": "x"}})
    assert str(fault) == '$.tenant: the value is not of type "string"'


def test_faults_are_bounded() -> None:
    many = [{"name": number} for number in range(10 * MOST_FAULTS)]
    assert len(faults({**VALID, "schema": many})) == MOST_FAULTS
    with pytest.raises(InvalidInput) as caught:
        refuse_faults({**VALID, "schema": many})
    assert caught.value.message.count("$.schema[") == 5


def test_large_document_is_judged_in_pieces_with_the_same_faults() -> None:
    column = {"name": "a", "logicalType": "integer", "tags": ["x"]}
    rule = {"type": "library", "metric": "rowCount", "mustBe": 1}
    inner = {"name": "b", "logicalType": "object", "properties": [column, {"name": 1}]}
    found = {}
    for count in (3, 3_000):
        parts = [column] * count + [{"name": "c", "unknown": 1}, inner]
        table = {"name": "t", "properties": parts, "quality": [rule, {"type": "x"}]}
        document = {**VALID, "schema": [{"name": "s"}, table], "status": 1}
        last = str(count + 1)
        found[count] = {str(fault).replace(last, "last") for fault in faults(document)}
        found[count] = {each.replace(f"properties[{count}]", "other") for each in found[count]}

    assert {"$.schema[1].other", "$.status"} < {each.partition(":")[0] for each in found[3]}
    assert found[3_000] == found[3]


def test_part_that_is_too_large_is_not_judged() -> None:
    tags = ["x"] * (MOST_JUDGED + 1)
    document = {**VALID, "schema": [{"name": "a", "properties": [{"name": "b", "tags": tags}]}]}
    (fault,) = faults(document)
    assert str(fault) == "$.schema[0].properties[0]: more than 5000 values cannot be judged"


@given(documents)
@settings(deadline=None)
def test_any_document_is_judged(document: dict[str, Any]) -> None:
    assert len(faults(document)) <= MOST_FAULTS


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "an ODCS document is a mapping at its top"),
        (None, "an ODCS document is a mapping at its top"),
        ({}, "kind of an ODCS document is DataContract, got None"),
        ({**MINIMAL, "kind": "DataProduct"}, "kind of an ODCS document is DataContract, got"),
        ({**MINIMAL, "apiVersion": "v2.2.2"}, "apiVersion of an ODCS document is v3.x.y, got"),
        ({**MINIMAL, "apiVersion": 3}, "apiVersion of an ODCS document is v3.x.y, got 3"),
        ({**MINIMAL, "id": None}, "an ODCS document needs an id"),
        ({**MINIMAL, "id": ""}, "an ODCS document needs an id"),
        ({**MINIMAL, "id": ["a"]}, "an ODCS document needs an id"),
        ({**MINIMAL, "id": True}, "an ODCS document needs an id"),
    ],
)
def test_what_is_no_document_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_shape(value)


def test_lenient_shape_takes_an_invalid_document() -> None:
    document = read_yaml(FULL.encode())
    assert check_shape(document) is document
    assert paths(document) != []
