"""Terms by pattern and nearness, held against the one-term functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.search.index.evaluate import lexicons
from projections.search.index.evaluate.lexicons import Span
from projections.search.index.evaluate.query_values import literals
from projections.search.index.format.arrays import Inverted, lexicon, starts
from projections.search.language import patterns
from projections.search.language.regex import regex

LETTERS = "abäß_1€"
words = st.lists(st.text(LETTERS, min_size=1, max_size=9), max_size=30)


def index(terms) -> Inverted:
    names = sorted({b"p:" + term.encode() for term in terms} | {b"o", b"q:ab"})
    text, offsets = lexicon(names)
    return Inverted(
        lexicon=text,
        offsets=offsets,
        starts=starts(np.ones(len(names), np.int64)),
        ids=np.arange(len(names), dtype=np.int32),
    )


def texts(inverted: Inverted, numbers) -> list[str]:
    return [inverted.term(number)[2:].decode() for number in numbers.tolist()]


def nothing() -> None:
    """Time is never up."""


@settings(max_examples=400, deadline=None)
@given(words, st.text(LETTERS + "*?", min_size=1, max_size=6))
def test_wildcards_match_as_the_automaton_does(terms, pattern):
    automaton = patterns.wildcard(pattern)
    inverted = index(terms)
    expected = [term for term in sorted(set(terms), key=str.encode) if automaton.matches(term)]
    span = Span(inverted, b"p:", automaton.prefix.encode())
    assert texts(inverted, span.matching(automaton, nothing)) == expected
    assert texts(inverted, span.matching(automaton, nothing, literals(pattern))) == expected


EXPRESSIONS = ["a.*b", "(a|b)+_?1*", "[^a]*a", ".*ab.*", "(ab|ba).{2}", "a{2,}", ".+", "(ä|b).*"]


@settings(max_examples=300, deadline=None)
@given(words, st.sampled_from(EXPRESSIONS))
def test_expressions_match_as_the_automaton_does(terms, pattern):
    automaton = regex(pattern)
    inverted = index(terms)
    found = Span(inverted, b"p:", automaton.prefix.encode()).matching(automaton, nothing)
    expected = [term for term in sorted(set(terms), key=str.encode) if automaton.matches(term)]
    assert texts(inverted, found) == expected


@settings(max_examples=400, deadline=None)
@given(words, st.text(LETTERS, min_size=1, max_size=8), st.integers(0, 2), st.integers(0, 2))
def test_near_terms_are_those_within_the_distance(terms, word, limit, prefix):
    inverted = index(terms)
    numbers, slips = Span(inverted, b"p:", word[:prefix].encode()).near(word, limit, nothing)
    expected = {
        term: slip
        for term in terms
        if term.startswith(word[:prefix])
        and (slip := patterns.distance(term, word, limit)) <= limit
    }
    assert dict(zip(texts(inverted, numbers), slips.tolist(), strict=True)) == expected
    assert numbers.tolist() == sorted(numbers.tolist())


@given(words, st.text(LETTERS, min_size=1, max_size=3))
def test_containing_finds_texts_inside_single_terms(terms, text):
    inverted = index(terms)
    found = texts(inverted, Span(inverted, b"p:", b"").containing(text.encode()))
    assert found == [term for term in sorted(set(terms), key=str.encode) if text in term]


def test_span_can_leave_numbers_out():
    inverted = index(["#12", "#9", "true"])
    assert texts(inverted, Span(inverted, b"p:", b"", numbers=False).all()) == ["true"]
    assert texts(inverted, Span(inverted, b"p:", b"t", numbers=False).all()) == ["true"]
    assert texts(inverted, Span(inverted, b"p:", b"#", numbers=False).all()) == []


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        ("stg_.*_v[0-9]", "stg_"),
        (".*customer.*", "customer"),
        ("(abc|abd)x?long", "long"),
        ("(abc)+", "abc"),
        ("(abc)*", ""),
        ("a|b", ""),
        (".*", ""),
        ("ab?cd", "cd"),
    ],
)
def test_required_text_is_in_every_match(pattern, required):
    assert regex(pattern).required == required


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("cust*", ["cust", ""]),
        ("*_id", ["", "_id"]),
        ("a**b", ["a", "b"]),
        ("*", ["", ""]),
        ("a\\**b*", ["a*", "b", ""]),
        ("a?*", None),
        ("*a*", ["", "a", ""]),
        ("abc", ["abc"]),
    ],
)
def test_literals_are_the_texts_around_the_stars(pattern, texts):
    assert literals(pattern) == texts


def test_a_pattern_with_too_many_states_is_refused(monkeypatch):
    monkeypatch.setattr(lexicons, "MAX_MACHINE_STATES", 3)
    inverted = index(["abcde", "ab"])
    with pytest.raises(InvalidInput, match="too complex"):
        Span(inverted, b"p:", b"").matching(regex("[a-z]b?c?d?e?"), nothing)
