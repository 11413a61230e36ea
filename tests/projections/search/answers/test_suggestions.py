"""Suggestions for what is being typed."""

import json

import pytest

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.search.answers.suggestions import FIELDS, SuggestRequest, suggest
from projections.search.language.field_values import known_type
from projections.search.restriction import Visibility
from projections.visibility.withholding import FieldWithheld, Withheld
from tests.projections.search.conftest import make_entity

HIDDEN = {"table": Withheld("table", frozenset({"displayName", "columns"}))}


def asked(catalog, q, /, kinds=None, withheld=None, **parameters):
    request = SuggestRequest(q=q, **{"index": "all", **parameters})
    visibility = Visibility(frozenset(kinds or KINDS), withheld or {})
    found = suggest(request, catalog.engine, catalog.read_sources, visibility)
    assert found.complete
    return json.loads(found.body)["suggest"]["metadata-suggest"][0]


def texts(catalog, q, /, **parameters):
    return [option["text"] for option in asked(catalog, q, **parameters)["options"]]


@pytest.mark.parametrize("path", sorted({path for paths in FIELDS.values() for path in paths}))
def test_suggestions_are_taken_from_fields_that_there_are(path):
    assert known_type(path) == "text"


def test_suggestion_answers_as_openmetadata_does(shop):
    (found,) = (entity for entity in shop.entities.values() if entity.name == "fact_orders")
    assert asked(shop, "Fact", include_source_fields=("name",)) == {
        "text": "Fact",
        "offset": 0,
        "length": 4,
        "options": [
            {
                "text": "fact_orders",
                "_index": "table_search_index",
                "_id": found.id,
                "_score": 10.0,
                "_source": {"name": "fact_orders"},
            }
        ],
    }
    (option,) = asked(shop, "fact")["options"]
    assert option["_source"]["description"] == "Fact order lines"
    (option,) = asked(shop, "fact", fetch_source=False)["options"]
    assert "_source" not in option


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("d", ["dim_customer"]),
        ("DIM_", ["dim_customer"]),
        ("ord", ["Orders of a customer", "orders", "fact_orders"]),
        ("orders of", ["Orders of a customer"]),
        ("  orders   of ", ["Orders of a customer"]),
        ("shop.db.public.f", ["shop.db.public.fact_orders"]),
        ("ordr", ["customerOrders", "fact_orders", "orders"]),
        ("xx", []),
        ("", []),
        ("  ", []),
        ("*", []),
    ],
)
def test_suggestions_begin_so_or_have_a_word_that_does_or_slips(shop, q, expected):
    found = texts(shop, q)
    assert found == expected


def test_suggestions_are_of_the_index_and_of_the_deleted_where_they_are_meant(shop):
    assert texts(shop, "o", index="topic") == ["orders"]
    assert texts(shop, "o", index="table") == ["Orders of a customer", "fact_orders"]
    assert texts(shop, "old") == []
    assert texts(shop, "old", deleted=True) == ["old_customer"]
    assert texts(shop, "fact", deleted=True) == []


def test_same_suggestion_is_told_once(catalog):
    catalog.add(*(make_entity("Orders", fqn=f"a.b.s{n}.Orders") for n in range(9)))
    catalog.add(make_entity("orders_v2"), make_entity("orders_v3"))
    assert texts(catalog, "ord", size=2) == ["Orders", "orders_v2"]
    assert texts(catalog, "ord", size=0) == []


def test_suggestions_of_columns_and_other_parts(shop):
    assert texts(shop, "cust", field="column_suggest") == ["customer_id"]
    assert texts(shop, "zip", field="column_suggest") == ["zipCode"]
    assert texts(shop, "code", field="column_suggest") == ["zipCode"]
    assert texts(shop, "xip", field="column_suggest") == []


def test_what_is_withheld_is_not_suggested(shop):
    assert texts(shop, "orders of", withheld=HIDDEN) == []
    assert texts(shop, "dim", withheld=HIDDEN) == ["dim_customer"]
    assert "columns" not in asked(shop, "dim", withheld=HIDDEN)["options"][0]["_source"]
    assert texts(shop, "orders", kinds={"topic"}) == ["orders"]
    assert texts(shop, "dim", kinds={"topic"}) == []
    with pytest.raises(FieldWithheld):
        texts(shop, "cust", field="column_suggest", withheld=HIDDEN)
    with pytest.raises(FieldWithheld):
        texts(shop, "cust", include_source_fields=("columns.name",), withheld=HIDDEN)


def test_names_withheld_in_other_kinds_decide_no_suggestion(catalog):
    """Whoever may not see the display name of a table must not learn how it begins."""
    catalog.add(make_entity("orders", "topic", fqn="bus.orders"), make_entity("b"))
    assert texts(catalog, "ordesr", index="topic", withheld=HIDDEN) == ["orders"]
    catalog.add(make_entity("b", displayName="Ordesr"))
    assert texts(catalog, "ordesr", index="topic", withheld=HIDDEN) == ["orders"]
    assert texts(catalog, "ordesr", index="topic") == []


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"q": "a" * 257}, "q may have 256 characters, got 257"),
        ({"size": 101}, "size must be from 0 to 100, got 101"),
        ({"size": -1}, "size must be from 0 to 100, got -1"),
        ({"field": "x"}, "field must be one of suggest, column_suggest"),
        ({"include_source_fields": ("nmae",)}, "includeSourceFields: no kind has a field 'nmae'"),
    ],
)
def test_parameter_that_cannot_be_is_named(shop, parameters, said):
    with pytest.raises(InvalidInput) as raised:
        texts(shop, parameters.pop("q", "a"), **parameters)
    assert said in raised.value.message
