"""Nested queries: one object of an array has to satisfy all of the query, by its own fields."""

import json

import pytest

from projections.search import tree
from projections.search.documents.sources import object_reader
from projections.search.engine import EngineQuery
from projections.search.tree import Bool, Term
from tests.projections.search.conftest import make_entity
from tests.projections.search.oracle import Oracle
from tests.projections.search.test_tree import Around, Weighted

CUSTOMER = make_entity(
    "customer",
    description="outside",
    owners=[{"type": "user", "name": "ann"}],
    columns=[
        {"name": "id", "dataType": "INT", "tags": [{"tagFQN": "Key.Primary"}]},
        {"name": "mail", "dataType": "STRING", "description": "inside"},
    ],
)
ORDERS = make_entity("orders", columns=[{"name": "id", "dataType": "STRING"}])
BARE = make_entity("bare", description="outside")
A_COLUMN, NO_COLUMN = Term("columns.name", "id"), Term("columns.name", "nothing")
OUTSIDE = [
    Term("name", "customer"),
    tree.Exact("name.keyword", "customer"),
    tree.Phrase("description", "outside"),
    tree.Wildcard("name", "cust*"),
    tree.Fuzzy("name", "customre", 2),
    tree.Regex("name", "cust.*"),
    tree.Range("name", gte="a"),
    tree.Exists("name"),
    tree.Exists("description"),
    Term("owners.name", "ann"),
    Term("tags.tagFQN", "Key.Primary"),
    tree.Nested("owners", Term("owners.name", "ann")),
]


@pytest.fixture
def asked(catalog):
    """Asks the engine and the oracle for a nested query, and gives the names of what both find."""
    catalog.add(CUSTOMER, ORDERS, BARE)
    oracle = Oracle()
    for entity in (CUSTOMER, ORDERS, BARE):
        oracle.add(entity)

    def ask(node, path="columns"):
        query = EngineQuery(tree=tree.Nested(path, node))
        hits = catalog.engine.search(query, object_reader(catalog.read_sources)).hits
        matches = {hit.id for hit in hits}
        assert matches == oracle.found(query.tree)
        return {catalog.entities[entity_id].name for entity_id in matches}

    return ask


@pytest.mark.parametrize("outside", OUTSIDE)
def test_condition_outside_the_path_is_never_satisfied(asked, outside):
    assert asked(outside) == set()
    assert asked(Bool(must=(outside, A_COLUMN))) == set()
    assert asked(Bool(must=(A_COLUMN,), filter=(outside,))) == set()
    assert asked(Bool(should=(outside, NO_COLUMN))) == set()
    assert asked(Bool(should=(outside, A_COLUMN))) == {"customer", "orders"}
    assert asked(tree.DisMax((outside, NO_COLUMN))) == set()
    assert asked(tree.Boosted(tree.Constant(outside), 2.0)) == set()
    assert asked(Bool(must=(A_COLUMN,), must_not=(outside,))) == {"customer", "orders"}
    assert asked(Bool(must_not=(outside,))) == {"customer", "orders"}


def test_words_without_a_field_are_those_of_the_object(asked):
    assert asked(Term(None, "customer")) == set()
    assert asked(Term(None, "outside")) == set()
    assert asked(Term(None, "inside")) == {"customer"}
    assert asked(Bool(must=(Term(None, "mail"), Term(None, "inside")))) == {"customer"}
    assert asked(Bool(must=(Term(None, "id"), Term(None, "inside")))) == set()
    assert asked(tree.Wildcard(None, "insid*")) == {"customer"}


def test_ids_are_those_of_the_document_that_has_the_objects(asked):
    ids = tree.Ids((CUSTOMER.id, BARE.id))
    assert asked(ids) == {"customer"}
    assert asked(Bool(must=(ids, A_COLUMN))) == {"customer"}
    assert asked(Bool(must=(A_COLUMN,), must_not=(ids,))) == {"orders"}


def test_tags_of_an_object_are_found_below_its_own_path(asked):
    tagged = Term("columns.tags.tagFQN", "Key.Primary")
    assert asked(tagged) == {"customer"}
    assert asked(Bool(must=(tagged, A_COLUMN))) == {"customer"}
    assert asked(Term("tags.tagFQN", "Key.Primary"), "tags") == {"customer"}


@pytest.mark.parametrize("around", [Around, lambda node: Weighted(((node, 1.0),))])
def test_made_up_composite_is_no_single_condition(catalog, around):
    """The engine cannot evaluate it, but must not take it for one condition, or leave it out."""
    catalog.add(CUSTOMER)
    query = EngineQuery(tree=tree.Nested("columns", around(Bool(must=(A_COLUMN, NO_COLUMN)))))
    with pytest.raises(AssertionError, match="unreachable"):
        catalog.engine.search(query, object_reader(catalog.read_sources))


def test_filter_with_a_condition_outside_the_path_finds_nothing(catalog):
    catalog.add(CUSTOMER)

    def found(*conditions):
        query = {"bool": {"must": [{"match": {field: text}} for field, text in conditions]}}
        clause = {"nested": {"path": "columns", "query": query}}
        return catalog.names(query_filter=json.dumps(clause).encode())

    assert found(("columns.name", "id")) == ["customer"]
    assert found(("name", "customer")) == []
    assert found(("name", "customer"), ("columns.name", "id")) == []
