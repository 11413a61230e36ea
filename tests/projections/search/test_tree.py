"""How many optional clauses must match."""

import pytest

from domain.errors import InvalidInput
from projections.search.tree import Bool, MatchAll, escape_wildcards, required_matches


@pytest.mark.parametrize(
    ("rule", "clauses", "required"),
    [
        ("2", 3, 2),
        ("-1", 3, 2),
        ("75%", 4, 3),
        ("75%", 3, 2),
        ("-25%", 4, 3),
        ("2<70%", 2, 2),
        ("2<70%", 10, 7),
        ("-9", 3, 0),
        ("150%", 2, 3),
        ("-150%", 2, 0),
        (" 3 ", 5, 3),
        ("2<-25% 9<-3", 2, 2),
        ("2<-25% 9<-3", 8, 6),
        ("2<-25% 9<-3", 10, 7),
        ("1 < 50%", 4, 2),
    ],
)
def test_required_matches_of_a_rule(rule, clauses, required):
    assert required_matches(rule, clauses) == required


@pytest.mark.parametrize("rule", ["", "x", "1.5", "%", "1<2<3", "9" * 30, "<"])
def test_required_matches_refuses_other_rules(rule):
    with pytest.raises(InvalidInput, match="minimum_should_match must be"):
        required_matches(rule, 3)


def test_bool_needs_an_optional_clause_only_where_nothing_else_is_wanted():
    one = (MatchAll(),)
    assert Bool(should=one).required == 1
    assert Bool(must=one, should=one).required == 0
    assert Bool(filter=one, should=one).required == 0


def test_escape_wildcards_leaves_no_pattern():
    assert escape_wildcards(r"a*b?c\d") == r"a\*b\?c\\d"
