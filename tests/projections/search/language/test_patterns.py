"""Patterns over terms, held against Python's own regular expressions."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search.analysis import fold
from projections.search.language.patterns import TERM_END, wildcard
from projections.search.language.regex import regex

letters = st.text(alphabet="abäß_1€", max_size=8)


def fits(pattern, *terms) -> bool:
    """True if the pattern matches the terms that follow each other, and so each of them."""
    text = "".join(term + TERM_END for term in terms).encode()
    return bool(pattern.runs().fullmatch(text))


def test_wildcard_takes_an_escaped_sign_literally():
    assert fits(wildcard(r"a\*b"), "a*b")
    assert not fits(wildcard(r"a\*b"), "axb")


atoms = st.sampled_from(["a", "b", "ä", "_", ".", "[ab]", "[^a]", "[a-c1ß-ä]", r"\d", r"\w", r"\W"])
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
    assert fits(regex(pattern), term) == expected
    bounds = regex(pattern).bounds()
    if expected and bounds is not None:
        assert bounds[0] <= term.encode() <= bounds[1]


@given(regexes, letters, letters)
def test_regex_never_matches_across_terms(pattern, one, other):
    both = fits(regex(pattern), one, other)
    assert both == all(re.fullmatch(pattern, term, re.ASCII) for term in (one, other))


@pytest.mark.parametrize(
    ("pattern", "term"),
    [
        ("ORD.*", "orders"),
        ("[A-F]+", "fade"),
        ("STRA\u00dfE", "stra\u00dfe"),
        ("\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2"),
        ("a\u0308+", "\u00e4\u00e4"),
        ("\\\u00c4\\D", "\u00e4x"),
        ("\u0130.", "i\u0307x"),
    ],
)
def test_regex_matches_letters_as_analysis_folds_them(pattern, term):
    assert fold(term) == term
    assert fits(regex(pattern), term)


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
        ("(.?){255}" * 10, "the pattern is too large"),
        ("a$", "'$' is not supported"),
        (r"(a)\1", "unknown escape"),
        ("a" * 300, "has over 256"),
    ],
)
def test_regex_refuses_what_it_cannot_do(pattern, why):
    with pytest.raises(InvalidInput, match=re.escape(why)):
        regex(pattern)


def test_patterns_take_linear_time_where_backtracking_would_not():
    assert not fits(regex("(a+)+b"), "a" * 100_000)
    assert not fits(wildcard("*a*a*a*a*a*a*b"), "a" * 100_000)
