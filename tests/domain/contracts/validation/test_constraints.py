"""Promises about the values of columns: what the table declares of them, and what is left."""

from functools import partial
from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.contracts.validation.constraints import undeclared
from domain.event_store.opening import open_event_log
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.documents import DocumentRequest, plan_document

ME = WriteContext(actor="me", request_id="request")


def column(name: str, constraint: str | None = None, **more: Any) -> dict[str, Any]:
    given = {"name": name, "dataType": "STRUCT" if "children" in more else "INT", **more}
    return given if constraint is None else {**given, "constraint": constraint}


@pytest.fixture
def catalog() -> DirectCatalog:
    catalog = DirectCatalog(open_event_log("file:constraints?mode=memory"))
    create = partial(catalog.create, context=ME)
    create(KINDS["databaseService"], {"name": "s", "serviceType": "Mysql"})
    create(KINDS["database"], {"name": "d", "service": "s"})
    create(KINDS["databaseSchema"], {"name": "e", "database": "s.d"})
    return catalog


def left(
    catalog: DirectCatalog, promised: list[Any], there: list[Any], *keys: dict[str, Any]
) -> int:
    """The number of promises of a contract that a table with these columns does not declare."""
    body = {"name": "t", "databaseSchema": "s.d.e", "columns": there, "tableConstraints": [*keys]}
    table = catalog.create(KINDS["table"], body, ME).entity
    about = {"id": table.id, "type": "table"}
    given = {"name": "c", "entity": about, "schema": promised}
    contract = catalog.create(KINDS["dataContract"], given, ME).entity
    return undeclared(contract, table, there)


@pytest.mark.parametrize(
    ("promised", "declared", "missing"),
    [
        ("NOT_NULL", "NOT_NULL", 0),
        ("NOT_NULL", "PRIMARY_KEY", 0),
        ("NOT_NULL", "UNIQUE", 1),
        ("NOT_NULL", "NULL", 1),
        ("NOT_NULL", None, 1),
        ("UNIQUE", "PRIMARY_KEY", 0),
        ("UNIQUE", "NOT_NULL", 1),
        ("PRIMARY_KEY", "PRIMARY_KEY", 0),
        ("PRIMARY_KEY", "UNIQUE", 1),
        ("NULL", None, 0),
        (None, "NOT_NULL", 0),
    ],
)
def test_declared_constraint_keeps_the_promises_that_it_implies(
    catalog: DirectCatalog, promised: str | None, declared: str | None, missing: int
) -> None:
    assert left(catalog, [column("id", promised)], [column("id", declared)]) == missing


def test_constraints_inside_columns_and_of_the_table_count(catalog: DirectCatalog) -> None:
    promised = [
        column("id", "PRIMARY_KEY"),
        column("a", "NOT_NULL", children=[column("b", "NOT_NULL"), column("c", "UNIQUE")]),
    ]
    there = [column("id"), column("a", "NOT_NULL", children=[column("b"), column("c", "UNIQUE")])]
    key = {"constraintType": "PRIMARY_KEY", "columns": ["id"]}
    assert left(catalog, promised, there, key) == 1


def test_bounds_of_values_in_a_document_count(catalog: DirectCatalog) -> None:
    table = catalog.create(
        KINDS["table"], {"name": "t", "databaseSchema": "s.d.e", "columns": [column("id")]}, ME
    ).entity
    options = {"logicalTypeOptions": {"maximum": 3}}
    properties = [
        {"name": "id", "logicalType": "integer", **options},
        {"name": "x", "logicalType": "object", "properties": [{"name": "y", **options}]},
        {"name": "z", "logicalType": "array", "items": {"logicalType": "string", **options}},
        {"name": "none", "logicalTypeOptions": {}},
    ]
    document = {
        "kind": "DataContract",
        "apiVersion": "v3.1.0",
        "id": "a",
        "schema": [
            {"name": "other", "properties": [{"name": "id", **options}]},
            {"name": "t", "properties": properties},
        ],
    }
    about = Reference(type="table", id=table.id)
    request = DocumentRequest(document=document, entity=about)
    plan = partial(plan_document, catalog.planner, request, ME)
    contract = catalog.write(ME, plan).entity
    assert undeclared(contract, table, []) == 3
