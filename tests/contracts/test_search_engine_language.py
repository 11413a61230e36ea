"""Documents that each node of the query tree finds, in every search engine."""

import pytest

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.engine import EngineQuery, SearchEngine
from projections.search.tree import (
    Bool,
    Boosted,
    Constant,
    DisMax,
    Exact,
    Exists,
    Fuzzy,
    Ids,
    IfFound,
    MatchAll,
    MatchNone,
    Nested,
    Node,
    Phrase,
    PhrasePrefix,
    Range,
    Regex,
    Term,
    Wildcard,
)
from tests.contracts.search_engines import (
    apply,
    ids,
    in_order,
    lasting_engine,
    made,
)
from tests.query_texts import parse

__all__ = ["lasting_engine"]

NAME_AND_TYPE = (Term("columns.name", "id"), Term("columns.dataType", "INT"))
COLUMNS = {
    "customers": [("id", "INT"), ("mail", "STRING")],
    "dim_orders": [("id", "STRING"), ("total", "INT")],
}


@pytest.fixture(scope="module")
def shop(lasting_engine: SearchEngine) -> SearchEngine:
    """Tables and a topic, committed one after the other, with something to tell apart."""
    for position, document in enumerate(
        (
            made("customers", description="One row for each of our customers", version=0.1,
                 updatedAt=1_704_067_200_000, owners__name="Ann", columns__name=("id", "mail"),
                 columns__dataType=("INT", "STRING"),
                 columns__fullyQualifiedName=("shop.db.sales.customers.id",
                                              "shop.db.sales.customers.mail"),
                 owners__fullyQualifiedName="Ann", domains__name="EU",
                 domains__fullyQualifiedName="Sales.EU", service__name="shop",
                 service__fullyQualifiedName="shop", database__name="db",
                 database__fullyQualifiedName="shop.db", databaseSchema__name="sales",
                 databaseSchema__fullyQualifiedName="shop.db.sales"),
            made("dim_orders", description="Orders of the customers, by day", version=0.2,
                 updatedAt=1_717_200_000_000, columns__name=("id", "total"),
                 columns__dataType=("STRING", "INT"), extension__hot=True,
                 tags__tagFQN=("Tier.Tier1", "Care.Tier2"), dataModel__columns__name="margin",
                 databaseSchema__name="sales_archive",
                 databaseSchema__fullyQualifiedName="shop.db.sales_archive"),
            made("customerOrders", description="A view", version=1.0),
            made("raw.orders_v2", "topic", tags__tagFQN="PII.Sensitive", version=-3),
            made("gone", deleted=True, description="customers"),
        ),
        1,
    ):  # fmt: skip
        apply(lasting_engine, position, document)
    return lasting_engine


ALL = {"customers", "dim_orders", "customerOrders", "raw.orders_v2"}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (MatchAll(), ALL),
        (MatchNone(), set()),
        (Term("name", "customers"), {"customers", "customerOrders"}),
        (Term("name", "CUSTOMERS"), {"customers", "customerOrders"}),
        (Exact("name", "customers"), {"customers"}),
        (Term("name", "dim"), {"dim_orders"}),
        (Term("name", "order"), {"dim_orders", "customerOrders", "raw.orders_v2"}),
        (Term("description", "customer"), {"customers", "dim_orders"}),
        (Term("owners.name", "ann"), {"customers"}),
        (Term("tags.tagFQN", "PII.Sensitive"), {"raw.orders_v2"}),
        (Term("version", "0.20"), {"dim_orders"}),
        (Term("extension.hot", "true"), {"dim_orders"}),
        (Term("nothing.like.it", "x"), set()),
        (Term(None, "customer"), {"customers", "dim_orders", "customerOrders"}),
        (Exact("name.keyword", "customerorders"), {"customerOrders"}),
        (Exact("name.keyword", "customer"), set()),
        (Exact("name.keyword", "x" * 20_000), set()),
        (Phrase("description", "each of our customers"), {"customers"}),
        (Phrase("description", "customers our"), set()),
        (Phrase("description", "one our", 4), {"customers"}),
        (Phrase("description", "one our", 1), set()),
        (PhrasePrefix("name", "cust"), {"customers", "customerOrders"}),
        (PhrasePrefix("name", "c"), {"customers", "customerOrders"}),
        (PhrasePrefix("name", "dim_or"), {"dim_orders"}),
        (PhrasePrefix("name", "customer_o"), {"customerOrders"}),
        (PhrasePrefix("name", "im_or"), set()),
        (PhrasePrefix("name", "..."), set()),
        (PhrasePrefix("name", ""), set()),
        (PhrasePrefix("description", "each of our cust"), {"customers"}),
        (PhrasePrefix("description", "each our cust"), set()),
        (PhrasePrefix("description", "each our cust", 1), {"customers"}),
        (PhrasePrefix(None, "ord"), {"dim_orders", "customerOrders", "raw.orders_v2"}),
        (PhrasePrefix(None, "pii sens"), {"raw.orders_v2"}),
        (IfFound(Term(None, "view"), Term(None, "mail"), MatchAll()), {"customers"}),
        (IfFound(Term(None, "gone"), MatchAll(), Term(None, "mail")), {"customers"}),
        (
            Bool(must_not=(IfFound(MatchNone(), MatchAll(), Term(None, "mail")),)),
            ALL - {"customers"},
        ),
        (IfFound(IfFound(MatchNone(), MatchAll(), MatchNone()), MatchAll(), MatchNone()), set()),
        (Wildcard("name", "cust*"), {"customers", "customerOrders"}),
        (Wildcard("name", "*orders*"), {"dim_orders", "customerOrders", "raw.orders_v2"}),
        (Wildcard("name.keyword", "?im_orders"), {"dim_orders"}),
        (Wildcard("name.keyword", "dim\\*"), set()),
        (Fuzzy("name", "custmers", 1), {"customers"}),
        (Fuzzy("name", "xustomers", 2, 1), set()),
        (Fuzzy("name", "xustomers", 1, 0), {"customers"}),
        (Regex("name.keyword", "cust.*s"), {"customers", "customerOrders"}),
        (Regex("name.keyword", "cust"), set()),
        (Range("version", gte="0.1", lt="0.2"), {"customers"}),
        (Range("version", gt="0.1", lte="1"), {"dim_orders", "customerOrders"}),
        (Range("version", lt="0"), {"raw.orders_v2"}),
        (Range("updatedAt", gte="2024-01-01", lt="2024-02-01"), {"customers"}),
        (Exists("owners"), {"customers"}),
        (Exists("columns.name"), {"customers", "dim_orders"}),
        (Exists("nothing"), set()),
        (Ids(("customers", "raw.orders_v2", "unknown", "gone")), {"customers", "raw.orders_v2"}),
        (Boosted(Term("name", "dim"), 3.0), {"dim_orders"}),
        (Constant(Term("name", "dim")), {"dim_orders"}),
        (DisMax((Term("name", "dim"), Exact("name", "customers"))), {"dim_orders", "customers"}),
        (Nested("columns", Term("columns.name", "mail")), {"customers"}),
    ],
)
def test_node_finds(shop: SearchEngine, node: Node, expected: set[str]) -> None:
    assert ids(shop, node) == expected


DESCRIBED, ORDERS, DIM = Exists("description"), Term("name", "order"), Term("name", "dim")


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (Bool(), ALL),
        (Bool(must=(DESCRIBED, ORDERS)), {"dim_orders", "customerOrders"}),
        (Bool(filter=(DESCRIBED,), must_not=(DIM,)), {"customers", "customerOrders"}),
        (Bool(must_not=(ORDERS,)), {"customers"}),
        (Bool(should=(DIM, Exact("name", "customers"))), {"dim_orders", "customers"}),
        (Bool(must=(ORDERS,), should=(DIM,)), {"dim_orders", "customerOrders", "raw.orders_v2"}),
        (Bool(should=(DIM, ORDERS, DESCRIBED), minimum_should_match="2"),
         {"dim_orders", "customerOrders"}),
        (Bool(must=(ORDERS,), should=(DIM, DESCRIBED), minimum_should_match="1"),
         {"dim_orders", "customerOrders"}),
        (Bool(should=(DIM, ORDERS), minimum_should_match="3"), set()),
        (Bool(must=(ORDERS,), must_not=(MatchAll(),)), set()),
    ],
)  # fmt: skip
def test_bool_combines(shop: SearchEngine, node: Node, expected: set[str]) -> None:
    assert ids(shop, node) == expected


def test_soft_deleted_are_found_only_when_asked_for(shop: SearchEngine) -> None:
    assert ids(shop, Term("name", "gone")) == set()
    assert ids(shop, Term("name", "gone"), deleted=True) == {"gone"}


def test_kinds_and_filters_restrict_and_do_not_score(shop: SearchEngine) -> None:
    node = Term("name", "order")
    query = EngineQuery(tree=node, kinds=frozenset({"topic"}))
    assert [hit.id for hit in shop.search(query).hits] == ["raw.orders_v2"]
    assert shop.search(EngineQuery(tree=node, kinds=frozenset())).total == 0
    scores = {hit.id: hit.score for hit in shop.search(EngineQuery(tree=node)).hits}
    for part in ("filter", "post_filter"):
        found = shop.search(EngineQuery(tree=node, **{part: Term("name", "dim")}))
        assert {hit.id: hit.score for hit in found.hits} == {"dim_orders": scores["dim_orders"]}


def test_scores_are_as_the_nodes_say(shop: SearchEngine) -> None:
    def score(node: Node) -> float:
        (hit,) = shop.search(EngineQuery(tree=node)).hits
        assert hit.score is not None
        return hit.score

    one, two = score(Term("name", "dim")), score(Term("description", "day"))
    clauses = Term("name", "dim"), Term("description", "day")
    assert score(Constant(clauses[0], 7.0)) == 7.0
    assert score(Boosted(clauses[0], 3.0)) == pytest.approx(3 * one)
    assert score(DisMax(clauses)) == pytest.approx(max(one, two))
    assert score(DisMax(clauses, 0.5)) == pytest.approx(max(one, two) + min(one, two) / 2)
    assert score(Bool(must=clauses)) == pytest.approx(one + two)
    assert score(Bool(must=clauses[:1], should=clauses[1:])) == pytest.approx(one + two)
    assert score(Bool(must=clauses[:1], filter=clauses[1:])) == pytest.approx(one)


def test_rare_words_and_whole_names_come_first(shop: SearchEngine) -> None:
    words = Bool(should=(Term(None, "customers"), Term(None, "day")))
    assert in_order(shop, words)[0] == "dim_orders"
    assert in_order(shop, Term(None, "customers"))[0] == "customers"


def _columns(entity_id: str, path: str) -> list[dict[str, tuple[str]]]:
    assert path == "columns"
    return [
        {"columns.name": (name,), "columns.dataType": (kind,)}
        for name, kind in COLUMNS.get(entity_id, [])
    ]


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (Bool(must=NAME_AND_TYPE), {"customers"}),
        (Bool(must=NAME_AND_TYPE[:1], must_not=NAME_AND_TYPE[1:]), {"dim_orders"}),
        (Bool(must=(*NAME_AND_TYPE, Term("columns.name", "mail"))), set()),
    ],
)
def test_nested_is_satisfied_by_one_object(
    shop: SearchEngine, inner: Node, expected: set[str]
) -> None:
    query = EngineQuery(tree=Nested("columns", inner))
    found = shop.search(query, lambda entity_id, path: iter(_columns(entity_id, path)))
    assert {hit.id for hit in found.hits} == expected
    without = EngineQuery(tree=Bool(must_not=(query.tree,)))
    found = shop.search(without, lambda entity_id, path: iter(_columns(entity_id, path)))
    assert {hit.id for hit in found.hits} == ALL - expected


def test_nested_of_several_conditions_needs_the_objects(shop: SearchEngine) -> None:
    with pytest.raises(InvalidInput, match="can only have one condition"):
        shop.search(EngineQuery(tree=tree.Nested("columns", Bool(must=NAME_AND_TYPE))))


def test_decisions_look_at_visible_kinds_alone_and_at_all_of_them(shop):
    """Decisions must not tell if a word is there in kinds that the caller may not see."""
    node = IfFound(Term(None, "sensitive"), Term(None, "mail"), Term(None, "orders"))

    def found(**options):
        return ids(shop, node, **options)

    topics, tables = frozenset({"topic"}), frozenset({"table"})
    assert found() == found(kinds=tables) == {"customers"}
    assert found(kinds=tables, visible=tables) == {"dim_orders", "customerOrders"}
    assert found(filter=Exists("columns")) == {"customers"}
    assert found(kinds=tables, visible=topics | tables) == {"customers"}


def test_decisions_look_at_the_deleted_only_where_they_are_searched(shop):
    node = IfFound(Exact("name.keyword", "gone"), Term(None, "mail"), MatchNone())
    assert ids(shop, node) == set()
    assert ids(shop, node, deleted=True) == {"customers"}
    assert ids(shop, MatchAll(), filter=node) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("owner:ann", {"customers"}),
        ("owner:an", set()),
        ("owner:A* AND column:mail", {"customers"}),
        ("NOT owner:*", ALL - {"customers"}),
        ("domain:EU", {"customers"}),
        ("domain:Sales.EU", {"customers"}),
        ("domain:Sales", set()),
        ("service:shop", {"customers"}),
        ("database:db", {"customers"}),
        ("database:SHOP.DB", {"customers"}),
        # A word of the qualified name is no name of what stands there.
        ("database:shop", set()),
        ("schema:sales", {"customers", "dim_orders"}),
        ("schema:shop.db.sales", {"customers"}),
        ("schema:shop.db.*", {"customers", "dim_orders"}),
        ("column:id", {"customers", "dim_orders"}),
        ("column:margin", {"dim_orders"}),
        ("column:shop.db.sales.customers.mail", {"customers"}),
        ("tag:PII", {"raw.orders_v2"}),
        ("tags:Sensitive", {"raw.orders_v2"}),
        ("tag:PII.*", {"raw.orders_v2"}),
        ("tag:*", {"raw.orders_v2", "dim_orders"}),
        ("tier:Tier1", {"dim_orders"}),
        ("tier:tier.tier1", {"dim_orders"}),
        ("tier:Tier", set()),
        ("tier:Tier2", set()),
        ("tier:Tier?", {"dim_orders"}),
        ("tier:Tire1~2", {"dim_orders"}),
        ("tier:/tier[12]/", {"dim_orders"}),
        ("tier:*", {"dim_orders"}),
        ("tag:Tier2 -tier:Tier2", {"dim_orders"}),
    ],
)
def test_short_names_find_what_is_named(shop: SearchEngine, text: str, expected: set[str]) -> None:
    assert ids(shop, parse(text)) == expected
