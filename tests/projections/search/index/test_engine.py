"""The languages and the engine together; the port alone is held in `tests/contracts`."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.documents.documents import SearchDocument
from projections.search.engine import EngineQuery
from projections.search.language.filter_json import parse as parse_filter
from projections.search.tree import Bool, Exact
from tests.brief_engines import brief_engine
from tests.commits import commit
from tests.depth import examples
from tests.projections.search.oracle import required
from tests.query_texts import parse


@pytest.mark.parametrize(
    ("q", "names"),
    [
        ("name:customer", {"dim_customer", "customerOrders"}),
        ("name:dim_customer", {"dim_customer"}),
        ("name:customerorders", {"customerOrders"}),
        ("name.keyword:CUSTOMERORDERS", {"customerOrders"}),
        ("name.keyword:customer", set()),
        ("columns.name:customer_id", {"dim_customer"}),
        ("columns.name:zip", {"dim_customer"}),
        ("columns.name:*_id", {"dim_customer"}),
        ("columnNames:address", {"dim_customer"}),
        ("tags.tagFQN:PII.Sensitive", {"dim_customer"}),
        ('tags.tagFQN:"Tier.Tier1"', {"stg.raw_v2"}),
        ("tags.tagFQN:Sensitive", {"dim_customer"}),
        ("owners.name:ann", {"dim_customer"}),
        ("service.name:shop", {"dim_customer"}),
        ("serviceType:bigquery", {"dim_customer"}),
        ("entityType:topic", {"orders"}),
        ("extension.unheard:x", set()),
        ("description:customer", {"dim_customer"}),
        ("description:order", {"fact_orders", "orders"}),
        ('"fact order"', {"fact_orders"}),
        ('"order fact"', set()),
        ('"order fact"~2', {"fact_orders"}),
        ('description:"one our"~4', {"dim_customer"}),
        ("cust*", {"dim_customer", "customerOrders"}),
        ("c?stomer", {"dim_customer", "customerOrders"}),
        ("name:*raw*", {"stg.raw_v2"}),
        ("custmoer~1", {"dim_customer", "customerOrders"}),
        ("xustomer~", set()),
        ("version:[0.2 TO 1.2}", {"fact_orders"}),
        ("version:[0.2 TO 1.2]", {"fact_orders", "customerOrders"}),
        ("version:0.10", {"dim_customer", "orders", "stg.raw_v2"}),
        ("updatedAt:[2024-01-01 TO *]", {"dim_customer"}),
        ("updatedAt:>1704067200000", set()),
        ("updatedAt:>=2024-01-01T00:00:00Z", {"dim_customer"}),
        ("totalVotes:>0", {"fact_orders"}),
        ("extension.cost:<13", {"stg.raw_v2"}),
        ("name:[a TO d]", {"customerOrders"}),
        ("_exists_:owners", {"dim_customer"}),
        ("_exists_:columns", {"dim_customer"}),
        ("NOT _exists_:description", {"customerOrders", "stg.raw_v2"}),
        ("/stg\\..*_v[0-9]/", {"stg.raw_v2"}),
        ("name.keyword:/.*orders/", {"fact_orders", "customerOrders", "orders"}),
        ("customer NOT dim", {"customerOrders"}),
        ("+orders -kind -kafka", {"fact_orders", "customerOrders"}),
        ("deleted:true", set()),
        ("stg.raw_v2", {"stg.raw_v2"}),
        ("raw_v2", {"stg.raw_v2"}),
        ("shop.db.public.fact_orders", None),
    ],
)
def test_search_by_query_text(shop, q, names):
    if names is None:
        assert shop.names(q)[0] == "fact_orders"
    else:
        assert shop.found(q) == names


def test_soft_deleted_are_found_by_that(shop):
    assert shop.found("deleted:true", deleted=True) == {"old_customer"}


def test_search_of_plain_text_ranks_exact_names_then_all_words(shop):
    assert shop.names("fact_orders")[0] == "fact_orders"
    assert shop.names("orders")[0] == "orders"
    assert shop.names("customer orders")[0] == "customerOrders"
    assert shop.names("custmer order")[0] == "customerOrders"
    assert shop.names("stg.raw_v2")[0] == "stg.raw_v2"


def test_search_weighs_boosts(shop):
    best = shop.names("name:fact^10 OR name:dim")[0]
    assert best == "fact_orders"
    assert shop.names("name:fact OR name:dim^10")[0] == "dim_customer"


@pytest.mark.parametrize("boost", ["1e-40", "1e-300", "4.9e-324"])
@pytest.mark.parametrize("clause", ["name:fact", "customer order", "name:fac*", "name:fcat~1"])
def test_boost_next_to_nothing_loses_no_hit(shop, clause, boost):
    assert {*shop.names(f"({clause})^{boost}")} == {*shop.names(clause)} != set()


@pytest.mark.parametrize(
    ("clause", "names"),
    [
        (b'{"term": {"tags.tagFQN": "PII.Sensitive"}}', {"dim_customer"}),
        (b'{"term": {"owners.name.keyword": "ANN"}}', {"dim_customer"}),
        (b'{"term": {"version": 0.3}}', {"fact_orders"}),
        (b'{"terms": {"entityType": ["topic", "user"]}}', {"orders"}),
        (b'{"match_phrase": {"description": "order lines"}}', {"fact_orders"}),
        (b'{"prefix": {"name": "cust"}}', {"dim_customer", "customerOrders"}),
        (b'{"range": {"updatedAt": {"gte": 1704067200000}}}', {"dim_customer"}),
        (b'{"nested": {"path": "columns", "query": {"match": {"columns.name": "zip"}}}}',
         {"dim_customer"}),
        (b'{"bool": {"should": [{"match": {"name": "fact"}}, {"match": {"name": "dim"}},'
         b' {"match": {"name": "customer"}}], "minimum_should_match": 2}}', {"dim_customer"}),
    ],
)  # fmt: skip
def test_search_by_filter(shop, clause, names):
    assert shop.found(query_filter=clause) == names
    assert shop.found(post_filter=clause) == names


words = st.sampled_from(["alpha", "beta", "gamma", "delta"])
documents = st.lists(st.frozensets(words), min_size=1, max_size=12)
leaves = words.map(lambda word: Exact("tag", word))


def _bools(inner):
    some = st.lists(inner, max_size=3).map(tuple)
    minimum = st.none() | st.sampled_from(["1", "2", "-1", "50%", "100%"])
    return st.builds(Bool, some, some, some, some, minimum)


trees = st.recursive(leaves | st.just(tree.MatchAll()), _bools, max_leaves=8)


def _matches(node, held):
    match node:
        case tree.MatchAll():
            return True
        case Exact(value=value):
            return value in held
    assert isinstance(node, Bool)
    optional = sum(_matches(inner, held) for inner in node.should)
    return (
        all(_matches(inner, held) for inner in (*node.must, *node.filter))
        and not any(_matches(inner, held) for inner in node.must_not)
        and optional >= required(node)
    )


@settings(max_examples=examples(150), deadline=None)
@given(documents, trees, st.integers(1, 4))
def test_search_of_booleans_finds_what_plain_python_finds(held, node, batch):
    made = {
        f"id{n}": SearchDocument(f"id{n}", "table", False, {"tag": tuple(tags)}, {"name": f"n{n}"})
        for n, tags in enumerate(held)
    }
    engine = brief_engine()
    ids = list(made)
    for start in range(0, len(ids), batch):
        commit(engine, {i: made[i] for i in ids[start : start + batch]}, start + 1)
    found = engine.search(EngineQuery(tree=node, size=100))
    expected = {f"id{n}" for n, tags in enumerate(held) if _matches(node, tags)}
    assert {hit.id for hit in found.hits} == expected
    assert found.total == len(expected)


@settings(max_examples=examples(300), deadline=None)
@given(text=st.text(max_size=30) | st.text(alphabet='or* ?"()[:/~^+-!{}<=.01TO_\\|ds', max_size=20))
def test_search_of_any_text_answers_or_refuses(text):
    engine = _ENGINE
    try:
        node = parse(text)
        found = engine.search(EngineQuery(tree=node))
    except InvalidInput:
        return
    assert found.total == len(found.hits)


def _filled():
    engine = brief_engine()
    values = {"name": ("orders",), "description": ("Fact orders 10",), "version": (0.1,)}
    commit(engine, {"x": SearchDocument("x", "table", False, values, {"name": "orders"})}, 1)
    return engine


_ENGINE = _filled()


_CLAUSES = st.recursive(
    st.builds(
        lambda name, value: {name: {"name": value}},
        st.sampled_from(["term", "match", "match_phrase", "prefix", "wildcard", "regexp", "fuzzy"]),
        st.text(max_size=8) | st.integers() | st.booleans(),
    )
    | st.builds(
        lambda side, value: {"range": {"version": {side: value}}},
        st.sampled_from(["gt", "gte", "lt", "lte"]),
        st.text(max_size=8) | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    )
    | st.builds(lambda ids: {"ids": {"values": ids}}, st.lists(st.text(max_size=3), max_size=2)),
    lambda inner: (
        st.builds(
            lambda part, clauses: {"bool": {part: clauses}},
            st.sampled_from(["must", "should", "must_not", "filter"]),
            st.lists(inner, max_size=3),
        )
        | st.builds(lambda clauses: {"dis_max": {"queries": clauses}}, st.lists(inner, max_size=3))
    ),
    max_leaves=6,
)


@settings(max_examples=examples(300), deadline=None)
@given(_CLAUSES)
def test_search_of_any_filter_answers_or_refuses(clause):
    try:
        node = parse_filter(json.dumps(clause).encode())
        found = _ENGINE.search(EngineQuery(tree=node, filter=node))
    except InvalidInput:
        return
    assert found.total == len(found.hits)
