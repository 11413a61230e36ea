"""A given document comes out as it went in, but for what says values that were edited since."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.aggregate.entity import Entity
from domain.contracts.canonical import canonical
from domain.contracts.exporting import digests, document_of
from domain.contracts.importing import find_object, read_document
from domain.contracts.judging import faults
from domain.contracts.proof import document_fault
from domain.contracts.yaml_input import read_yaml
from domain.events import Body, encode
from domain.kinds.bodies.contracts import GIVEN, GivenDocument
from domain.kinds.registry import KINDS
from domain.requests import drafts
from tests.depth import examples
from tests.domain.contracts.documents import FULL, documents
from tests.e2e.conftest import SHARED

DOCUMENTS = SHARED / "odcs"
"""Where `*.odcs.yaml` of public repositories may be, beside the checkout and not in it."""
ENTITY = {"id": "01890000-0000-7000-8000-000000000000", "type": "table", "name": "orders"}


def contract(values: dict[str, Any], given: GivenDocument | None = None) -> Entity:
    """A contract with these values, as it is recorded."""
    kind = KINDS["dataContract"]
    draft = drafts.draft(kind, {"name": "c", "entity": ENTITY, **values})
    body: Body = draft.recorded(kind, "orders.dataContract_c")
    if given is not None:
        given.values = digests(body)
        body[GIVEN] = encode(given)
    return Entity(
        id="01890000-0000-7000-8000-000000000001",
        kind="dataContract",
        name="c",
        fqn="orders.dataContract_c",
        parent_id=ENTITY["id"],
        body=body,
        version=12,
        stream_version=1,
        updated_at=1,
        updated_by="me",
        request_id="r",
    )


def given_contract(document: dict[str, Any]) -> Entity:
    """A contract that was given a document."""
    place = find_object(document, "orders")
    said = read_document(document, place)
    given = GivenDocument(text=canonical(document), values={}, place=place)
    return contract(said.values, given)


def edited(state: Entity, key: str, value: Any) -> Entity:
    return replace(state, body={**state.body, key: encode(value)})


@given(documents)
@settings(deadline=None, max_examples=examples(1_000))
def test_any_document_comes_out_as_it_went_in(document: dict[str, Any]) -> None:
    state = given_contract(document)
    assert canonical(document_of(state)) == canonical(document)
    assert document_fault(state) is None


@pytest.mark.skipif(not DOCUMENTS.exists(), reason="real documents are not beside this checkout")
def test_real_documents_come_out_as_they_went_in() -> None:
    """Documents of repositories of others, each of which has a licence of its own."""
    files = [*DOCUMENTS.rglob("*.odcs.yaml")]
    assert len(files) >= 20
    for file in files:
        document = read_yaml(file.read_bytes())
        state = given_contract(document)
        assert canonical(document_of(state)) == canonical(document), file
        assert document_fault(state) is None, file


def test_document_with_most_sections_comes_out_as_it_went_in() -> None:
    document = read_yaml(FULL.encode())
    state = given_contract(document)
    assert repr(document_of(state)) == repr(document)
    assert document_fault(state) is None


def test_value_that_the_document_never_said_is_no_edit() -> None:
    given = GivenDocument(text=canonical(read_yaml(FULL.encode())), values={}, place=1)
    state = contract({"description": "of another origin", "sla": {"columnName": "x"}}, given)
    assert canonical(document_of(state)) == given.text


def columns_with(change: Callable[[list[dict[str, Any]]], None]) -> Callable[[Any], Any]:
    def changed(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
        change(columns)
        return columns

    return changed


def orders(document: dict[str, Any]) -> Any:
    return document["schema"][1]


def set_at(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of a document: a value at a path; None removes what is there."""

    def change(document: dict[str, Any]) -> None:
        here: Any = document
        for step in path[:-1]:
            here = here[step]
        if value is None:
            del here[path[-1]]
        else:
            here[path[-1]] = value

    return change


PROPERTY = ("schema", 1, "properties")
EDITS: dict[str, tuple[str, Callable[[Any], Any], Callable[[dict[str, Any]], None]]] = {
    "status": ("entityStatus", lambda _: "Active", set_at("status", value="active")),
    "description": (
        "description",
        lambda _: "New",
        set_at("description", "purpose", value="New"),
    ),
    "terms": (
        "termsOfUse",
        lambda _: {"content": "New"},
        set_at("description", "limitations", value="New"),
    ),
    "text of a column": (
        "schema",
        columns_with(lambda columns: columns[1].update(description="Sum")),
        set_at(*PROPERTY, 1, "description", value="Sum"),
    ),
    "type of a column": (
        "schema",
        columns_with(lambda columns: columns[1].update(precision=12, scale=4)),
        set_at(*PROPERTY, 1, "physicalType", value="DECIMAL(12,4)"),
    ),
    "text of an inner column": (
        "schema",
        columns_with(lambda columns: columns[3]["children"][0].update(description="Article")),
        set_at(*PROPERTY, 3, "items", "properties", 0, "description", value="Article"),
    ),
    "column removed": (
        "schema",
        columns_with(lambda columns: columns.pop(2)),
        set_at(*PROPERTY, 2, value=None),
    ),
    "column added": (
        "schema",
        columns_with(
            lambda columns: columns.append(
                {"name": "at", "dataType": "DATE", "constraint": "NOT_NULL", "tags": []}
            )
        ),
        lambda document: orders(document)["properties"].append(
            {"name": "at", "logicalType": "date", "physicalType": "DATE", "required": True}
        ),
    ),
    "constraint of a column": (
        "schema",
        columns_with(lambda columns: columns[0].update(constraint="UNIQUE")),
        lambda document: orders(document)["properties"][0].update(primaryKey=False, unique=True),
    ),
    "rule": (
        "odcsQualityRules",
        lambda rules: [rules[0], {**rules[1], "mustBe": 5.0}, rules[2]],
        set_at(*PROPERTY, 1, "quality", 0, "mustBe", value=5.0),
    ),
    "rule removed": (
        "odcsQualityRules",
        lambda rules: rules[1:],
        set_at("schema", 1, "quality", value=None),
    ),
    "rule added": (
        "odcsQualityRules",
        lambda rules: [*rules, {"metric": "rowCount", "mustBe": 1.0, "column": "status"}],
        set_at(*PROPERTY, 2, "quality", value=[{"metric": "rowCount", "mustBe": 1.0}]),
    ),
    "time of an SLA": (
        "sla",
        lambda sla: {**sla, "maxLatency": {"value": 6, "unit": "hour"}},
        lambda document: document["slaProperties"][1].update(value=6),
    ),
    "unit of an SLA, and a text stays a text": (
        "sla",
        lambda sla: {**sla, "retention": {"period": 4, "unit": "month"}},
        lambda document: document["slaProperties"][2].update(value="4", unit="month"),
    ),
    "time of an SLA removed": (
        "sla",
        lambda sla: {key: value for key, value in sla.items() if key != "retention"},
        set_at("slaProperties", 2, value=None),
    ),
    "policy": (
        "security",
        lambda security: {
            "dataClassification": "PII",
            "policies": [
                {"accessPolicy": "analyst", "identities": ["anna"]},
                {"accessPolicy": "new"},
            ],
        },
        lambda document: document.update(
            roles=[
                {"role": "analyst", "access": "read", "firstLevelApprovers": "anna"},
                {"role": "new"},
            ]
        ),
    ),
    "owners": (
        "owners",
        lambda _: [{"id": "x", "type": "user", "name": "berta"}],
        set_at(
            *("team", "members"),
            value=[{"username": "carl", "role": "steward"}, {"username": "berta", "role": "owner"}],
        ),
    ),
}


@pytest.mark.parametrize("sort", EDITS)
def test_edit_changes_only_the_keys_that_say_it(sort: str) -> None:
    key, edit, expect = EDITS[sort]
    document = read_yaml(FULL.encode())
    state = given_contract(document)
    expected = deepcopy(document)
    # An alias stands for one object twice; an edit is of one place.
    expected = msgspec.json.decode(canonical(expected))
    expect(expected)

    after = document_of(edited(state, key, edit(state.value(key))))

    assert canonical(after) == canonical(expected)
    assert canonical(document_of(state)) == canonical(document)


def test_edit_that_is_taken_back_leaves_the_document_as_it_was() -> None:
    state = given_contract(read_yaml(FULL.encode()))
    again = edited(edited(state, "description", "New"), "description", state.value("description"))
    assert canonical(document_of(again)) == canonical(document_of(state))


names = st.text(st.characters(codec="latin-1", exclude_categories=["C"]), min_size=1, max_size=6)
types = st.sampled_from(["INT", "VARCHAR", "DECIMAL", "ARRAY", "STRUCT", "JSON", "MEASURE HIDDEN"])
columns = st.recursive(
    st.fixed_dictionaries(
        {"name": names, "dataType": types},
        optional={
            "dataLength": st.integers(-1, 9),
            "precision": st.integers(-1, 9),
            "scale": st.integers(-1, 9),
            "dataTypeDisplay": st.text(max_size=5),
            "arrayDataType": types,
            "description": st.text(max_size=5),
            "displayName": st.text(max_size=5),
            "constraint": st.sampled_from(["NULL", "NOT_NULL", "UNIQUE", "PRIMARY_KEY"]),
        },
    ),
    lambda inner: st.builds(
        lambda column, children: {**column, "children": children},
        inner,
        st.lists(inner, max_size=2, unique_by=lambda column: column["name"]),
    ),
    max_leaves=4,
)
rules = st.fixed_dictionaries(
    {},
    optional={
        "id": names,
        "name": names,
        "type": st.sampled_from(["text", "library", "sql", "custom"]),
        "metric": st.sampled_from(["rowCount", "nullValues", "freshness"]),
        "column": names,
        "query": names,
        "engine": names,
        "implementation": names,
        "dimension": st.sampled_from(["accuracy", "ac"]),
        "mustBe": st.integers(0, 9),
        "mustBeLessThan": st.integers(0, 9),
        "mustBeBetween": st.lists(st.integers(0, 3), min_size=2, max_size=2),
        "customProperties": st.just({"a": 1}),
        "tags": st.lists(names, max_size=2),
    },
)
numbers = st.integers(0, 99)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "description": st.text(max_size=9),
        "termsOfUse": st.text(max_size=9),
        "entityStatus": st.sampled_from(["Draft", "Active", "Deprecated"]),
        "schema": st.lists(columns, max_size=3, unique_by=lambda column: column["name"]),
        "odcsQualityRules": st.lists(rules, max_size=3),
        "sla": st.fixed_dictionaries(
            {},
            optional={
                "refreshFrequency": st.fixed_dictionaries(
                    {"interval": numbers, "unit": st.sampled_from(["hour", "day", "year"])}
                ),
                "maxLatency": st.fixed_dictionaries({"value": numbers, "unit": st.just("minute")}),
                "retention": st.fixed_dictionaries({"period": numbers, "unit": st.just("week")}),
                "availabilityTime": names,
                "timezone": st.just("GMT+00:00 (Europe/London)"),
                "columnName": names,
            },
        ),
        "security": st.fixed_dictionaries(
            {},
            optional={
                "dataClassification": names,
                "policies": st.lists(
                    st.fixed_dictionaries(
                        {}, optional={"accessPolicy": names, "identities": st.lists(names)}
                    ),
                    max_size=3,
                ),
            },
        ),
    },
)


@given(bodies)
@settings(deadline=None, max_examples=examples(2_000))
def test_document_that_the_catalog_makes_is_valid(values: dict[str, Any]) -> None:
    document = document_of(contract(values))
    assert [str(fault) for fault in faults(document)] == []
    assert document["version"] == "1.2"
    # And says the same again.
    assert canonical(document_of(given_contract(document))) == canonical(document)
