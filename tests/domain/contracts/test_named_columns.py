"""A contract names a column where it promises it, filters by it or has a rule of it."""

from typing import Any

import pytest

from domain.contracts.named_columns import mentions_of, places_of

CONTRACT: dict[str, Any] = {
    "schema": [
        {"name": "total", "dataType": "INT"},
        {"name": "place", "dataType": "STRUCT", "children": [{"name": "zip"}]},
    ],
    "security": {
        "policies": [
            {"accessPolicy": "eu", "rowFilters": [{"columnName": "country", "values": ["DE"]}]},
            {"rowFilters": [{"columnName": "total"}]},
        ]
    },
    "odcsQualityRules": [
        {"name": "filled", "column": "total"},
        {"name": "sum", "query": "SELECT sum(total) FROM orders"},
        {"name": "other", "query": "SELECT sum(subtotal) FROM orders"},
    ],
    "semantics": [{"name": "owned", "rule": '{"!!": {"var": "total"}}'}],
}


@pytest.mark.parametrize(
    ("column", "places", "mentions"),
    [
        (
            ["total"],
            ["schema", "row filter of a policy", "quality rule filled"],
            ["semantic rule owned", "quality rule sum"],
        ),
        (["place", "zip"], ["schema"], []),
        (["place"], ["schema"], []),
        (["country"], ["row filter of eu"], []),
        (["zip"], [], []),
        (["tot"], [], []),
    ],
)
def test_places_that_name_a_column(
    column: list[str], places: list[str], mentions: list[str]
) -> None:
    assert places_of(CONTRACT, column) == places
    assert mentions_of(CONTRACT, column) == mentions


@pytest.mark.parametrize("body", [{}, {"schema": [{}], "security": {}, "semantics": [{}]}])
def test_contract_that_says_little_names_nothing(body: dict[str, Any]) -> None:
    assert places_of(body, ["x"]) == mentions_of(body, ["x"]) == []
