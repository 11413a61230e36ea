"""The nodes of the query tree: what is inside them, and how many optional clauses must match."""

from typing import get_args

import msgspec
import pytest

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.search import tree
from projections.search.index.evaluate.evaluator import remembered_values
from projections.search.minimum_should_match import required_matches
from projections.search.restriction import Hidden
from projections.search.tree import Bool, MatchAll, Term, escape_wildcards
from projections.visibility.withholding import FieldWithheld, Withheld
from tests.projections.search.oracle import required as required_by_the_oracle

NODES = get_args(tree.Node)


class Around(tree.Base, frozen=True):
    """A made-up composite that holds one node, under a name that no other node uses."""

    held: tree.Node


class Weighted(tree.Base, frozen=True):
    """A made-up composite whose nodes stand in pairs with other values."""

    pairs: tuple[tuple[tree.Node, float], ...]


class Below(tree.Base, frozen=True):
    """A made-up composite that names a field of its own."""

    path: str
    held: tree.Node = MatchAll()


class Unheard(tree.Base, frozen=True):
    """A made-up leaf that names its fields in a way of its own."""

    fields: tuple[str, ...]


MADE_UP = [
    Around(Term("owners.name", "ann")),
    Weighted(((MatchAll(), 1.0), (Term("owners.name", "ann"), 2.0))),
    Around(Weighted(((Around(Term("owners.name", "ann")), 2.0),))),
    Bool(must=(Around(tree.Exists("owners")),)),
    Below("owners"),
    Below("columns", Term("owners.name", "ann")),
]


@pytest.mark.parametrize("node", MADE_UP)
def test_made_up_composite_cannot_slip_past_the_withholding(node):
    hidden = Hidden((Withheld("table", frozenset({"owners"})),), frozenset({"table"}))
    with pytest.raises(FieldWithheld, match="is withheld from your roles"):
        hidden.restrict(node, "queryFilter")


def test_words_without_a_field_inside_a_made_up_composite_avoid_what_is_withheld():
    hidden = Hidden((Withheld("table", frozenset({"owners"})),), frozenset({"table"}))
    plain = hidden.restrict(Term(None, "ann"), "q")
    assert isinstance(plain, tree.DisMax)
    assert hidden.restrict(Around(Term(None, "ann")), "q") == Around(plain)
    assert hidden.restrict(Weighted(((Term(None, "ann"), 2.0),)), "q") == Weighted(((plain, 2.0),))


def test_word_that_comes_again_is_looked_for_in_each_field_once():
    hidden = Hidden((Withheld("table", frozenset({"owners"})),), frozenset({"table"}))
    once, again, other = hidden.restrict(
        tree.DisMax((Term(None, "ann"), Term(None, "ann"), Term(None, "bob"))), "q"
    ).nodes
    assert once is again
    assert (once, other) == tuple(hidden.restrict(Term(None, text), "q") for text in ("ann", "bob"))


def test_words_without_a_field_are_bounded_where_each_field_is_looked_at_by_itself():
    hidden = Hidden((Withheld("table", frozenset({"owners"})),), frozenset(KINDS))
    words = tuple(Term(None, f"w{number}") for number in range(1_025))
    assert tree.leaf_count(hidden.restrict(tree.DisMax((*words[1:], *words[1:])), "q")) > 20_000
    with pytest.raises(InvalidInput) as raised:
        hidden.restrict(tree.DisMax(words), "queryFilter")
    assert raised.value.message == (
        "queryFilter: more than 1,024 different words without a field, of which each is looked for"
        " in every field that is not withheld from your roles: name the fields"
    )
    plain = Hidden((), frozenset(KINDS))
    assert plain.restrict(tree.DisMax(words), "queryFilter") == tree.DisMax(words)


def test_leaf_that_the_withholding_does_not_know_is_no_search():
    hidden = Hidden((Withheld("table", frozenset({"owners"})),), frozenset({"table"}))
    with pytest.raises(TypeError, match="Unheard"):
        hidden.restrict(Bool(must=(Unheard(("owners.name",)),)), "queryFilter")


def test_values_inside_a_made_up_composite_are_counted():
    some = tree.Ids(tuple(map(str, range(50))))
    both = Weighted(((some, 1.0), (Around(some), 1.0)))
    assert remembered_values(both) > 100
    assert remembered_values(Around(tree.Nested("columns", MatchAll()))) > 64


def test_children_are_the_nodes_of_every_composite_in_order():
    a, b, c, d = (Term("name", text) for text in "abcd")
    assert tree.children(Bool((a,), (b,), (c,), (d,))) == (a, b, c, d)
    assert tree.children(tree.DisMax((a, b))) == (a, b)
    for node in (tree.Boosted(a, 2.0), tree.Constant(a), tree.Nested("columns", a), Around(a)):
        assert tree.children(node) == (a,)
    assert tree.children(Weighted(((a, 1.0), (b, 2.0)))) == (a, b)
    assert tree.children(a) == tree.children(Bool()) == ()


@pytest.mark.parametrize(
    ("node", "leaves"),
    [
        (MatchAll(), 1),
        (tree.DisMax((MatchAll(), MatchAll())), 2),
        (Bool((MatchAll(),), (Around(tree.Boosted(MatchAll(), 2.0)),)), 2),
        (Weighted(((MatchAll(), 1.0), (Around(MatchAll()), 2.0))), 2),
    ],
)
def test_leaves_are_counted_at_any_depth(node, leaves):
    assert tree.leaf_count(node) == leaves


def test_map_children_changes_every_node_inside_and_nothing_else():
    a, b = Term("name", "a"), Term("name", "b")

    def change(node):
        return b if node == a else node

    node = Bool((a,), (b,), (a, b), minimum_should_match="1")
    assert tree.map_children(node, change) == Bool((b,), (b,), (b, b), minimum_should_match="1")
    assert tree.map_children(tree.Boosted(a, 2.0), change) == tree.Boosted(b, 2.0)
    assert tree.map_children(Weighted(((a, 1.0),)), change) == Weighted(((b, 1.0),))
    unchanged = tree.DisMax((b, b))
    assert tree.map_children(unchanged, change) is unchanged
    assert tree.map_children(a, change) is a


def test_fields_are_named_by_field_and_path_alone():
    """Whoever gives a node another attribute decides here whether it names a field."""
    names = {name for node in NODES for name in node.__struct_fields__}
    assert names == {
        *("field", "path"),
        *("node", "nodes", "must", "should", "must_not", "filter"),
        *("sought", "then", "otherwise"),
        *("text", "value", "values", "pattern", "gt", "gte", "lt", "lte"),
        *(
            "slop",
            "distance",
            "prefix",
            "others",
            "boost",
            "score",
            "tie_breaker",
            "minimum_should_match",
        ),
    }


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_node_can_be_remembered_by_its_value(node):
    given = {"field": "name", "path": "columns", "node": MatchAll(), "nodes": (), "values": ()}
    given |= dict.fromkeys(("sought", "then", "otherwise"), MatchAll())
    required = {f.name for f in msgspec.structs.fields(node) if f.required}
    texts = {"text": "a", "value": "a", "pattern": "a", "distance": 1, "boost": 2.0}
    made = [node(**{name: {**given, **texts}[name] for name in required}) for _ in range(2)]
    assert len(set(made)) == 1


DOCUMENTED = [
    # Non-negative integer: so many.
    ("2", {2: 2, 3: 2, 5: 2}),
    (" 3 ", {3: 3, 5: 3}),
    # Negative integer: all of them but so many.
    ("-1", {1: 1, 2: 1, 3: 2, 10: 9}),
    ("-2", {3: 1, 5: 3}),
    # Percentage: so many of them, rounded down.
    ("70%", {3: 2, 4: 2, 10: 7}),
    ("75%", {1: 1, 2: 1, 3: 2, 4: 3, 5: 3}),
    # Negative percentage: so many may be missing, rounded down.
    ("-30%", {3: 3, 4: 3, 10: 7}),
    ("-25%", {1: 1, 3: 3, 4: 3, 5: 4, 8: 6}),
    # One condition: all of up to so many, then the rule after it.
    ("2<75%", {1: 1, 2: 2, 3: 2, 4: 3, 8: 6}),
    ("3<90%", {1: 1, 3: 3, 4: 3, 10: 9, 20: 18}),
    ("1 < 50%", {1: 1, 4: 2}),
    # Several conditions, each for more clauses than it says.
    ("2<-25% 9<-3", {1: 1, 2: 2, 3: 3, 4: 3, 8: 6, 9: 7, 10: 7, 12: 9}),
    ("3<-1 5<50%", {1: 1, 3: 3, 4: 3, 5: 4, 6: 3, 7: 3, 10: 5}),
    # What comes to none: without another required clause, still one.
    ("0", {1: 1, 3: 1}),
    ("25%", {1: 1, 2: 1, 3: 1, 4: 1, 8: 2}),
    ("1%", {3: 1, 99: 1}),
    ("-3", {2: 1, 3: 1, 4: 1}),
    ("-100%", {2: 1, 5: 1}),
    ("-150%", {2: 1}),
    ("2<0%", {3: 1}),
    # More than there are: never satisfied.
    ("5", {3: 5}),
    ("150%", {2: 3}),
]
"""`minimum_should_match` -> number of optional clauses -> how many must match when nothing else is
required, as OpenSearch's documentation has it (Query DSL, Minimum should match)."""
CASES = [(rule, clauses, least) for rule, by in DOCUMENTED for clauses, least in by.items()]


@pytest.mark.parametrize(("rule", "clauses", "least"), CASES)
def test_required_is_what_the_documentation_says(rule, clauses, least):
    node = Bool(should=(MatchAll(),) * clauses, minimum_should_match=rule)
    assert node.required == least
    assert required_by_the_oracle(node) == least


@pytest.mark.parametrize("rule", ["0", "25%", "-3", "-100%", "2<0%"])
@pytest.mark.parametrize("part", ["must", "filter"])
def test_required_may_be_none_beside_another_required_clause(rule, part):
    node = Bool(should=(MatchAll(),) * 3, minimum_should_match=rule, **{part: (MatchAll(),)})
    assert node.required == required_by_the_oracle(node) == 0


@pytest.mark.parametrize("rule", ["0", "25%"])
def test_required_is_one_beside_an_exclusion_alone(rule):
    node = Bool(should=(MatchAll(),) * 3, must_not=(MatchAll(),), minimum_should_match=rule)
    assert node.required == required_by_the_oracle(node) == 1


@pytest.mark.parametrize("rule", ["", "x", "1.5", "%", "1<2<3", "9" * 30, "<"])
def test_required_matches_refuses_other_rules(rule):
    with pytest.raises(InvalidInput, match="minimum_should_match must be"):
        required_matches(rule, 3)


def test_bool_needs_an_optional_clause_only_where_nothing_else_is_wanted():
    one = (MatchAll(),)
    for node, least in (
        (Bool(should=one), 1),
        (Bool(must=one, should=one), 0),
        (Bool(filter=one, should=one), 0),
        (Bool(must_not=one, should=one), 1),
        (Bool(must_not=one), 0),
        (Bool(minimum_should_match="1"), 1),
        (Bool(minimum_should_match="50%"), 0),
    ):
        assert node.required == required_by_the_oracle(node) == least


def test_escape_wildcards_leaves_no_pattern():
    assert escape_wildcards(r"a*b?c\d") == r"a\*b\?c\\d"
