"""Patterns over terms, held against Python's own regular expressions and a plain distance."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search.language.patterns import distance, wildcard
from projections.search.language.regex import regex

letters = st.text(alphabet="ab_1", max_size=8)


@given(st.text(alphabet="ab*?", max_size=8), letters)
def test_wildcard_matches_as_the_same_regular_expression(pattern, term):
    same = pattern.replace("*", ".*").replace("?", ".")
    assert wildcard(pattern).matches(term) == bool(re.fullmatch(same, term))


@given(st.text(alphabet="ab*?", max_size=8), letters)
def test_wildcard_prefix_begins_every_match(pattern, term):
    automaton = wildcard(pattern)
    assert not automaton.matches(term) or term.startswith(automaton.prefix)


def test_wildcard_takes_an_escaped_sign_literally():
    assert wildcard(r"a\*b").matches("a*b")
    assert not wildcard(r"a\*b").matches("axb")


atoms = st.sampled_from(["a", "b", "_", ".", "[ab]", "[^a]", "[a-c1]", r"\d", r"\w"])
regexes = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({})".format, inner),
        st.builds("({}){}".format, inner, st.sampled_from("*+?")),
        st.builds("({}){{1,3}}".format, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
    ),
    max_leaves=6,
)


@given(regexes, letters)
def test_regex_matches_as_pythons(pattern, term):
    expected = bool(re.fullmatch(pattern, term, re.ASCII))
    assert regex(pattern).matches(term) == expected
    if expected:
        assert term.startswith(regex(pattern).prefix)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a(", "unbalanced '('"),
        ("a)", "unbalanced ')'"),
        ("[a", "unbalanced '['"),
        ("*a", "nothing to repeat before '*'"),
        ("a**", "a second quantifier"),
        ("a{2,1}", "a quantifier's bounds are the wrong way round"),
        ("a{999}", "a quantifier above 255"),
        ("(a{200}){200}", "the pattern is too large"),
        ("a$", "'$' is not supported"),
        (r"(a)\1", "unknown escape"),
        ("a" * 300, "has over 256"),
    ],
)
def test_regex_refuses_what_it_cannot_do(pattern, why):
    with pytest.raises(InvalidInput, match=re.escape(why)):
        regex(pattern)


def test_regex_takes_linear_time_where_backtracking_would_not():
    started = time.perf_counter()
    assert not regex("(a+)+b").matches("a" * 200)
    assert not wildcard("*a*a*a*a*a*a*b").matches("a" * 200)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("left", "right", "slips"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "xbc", 1), ("abc", "cab", 2)],
)
def test_distance_counts_slips(left, right, slips):
    assert distance(left, right, 2) == slips
    assert distance(right, left, 2) == slips


def test_distance_stops_above_the_limit():
    assert distance("abcdef", "uvwxyz", 2) == 3
