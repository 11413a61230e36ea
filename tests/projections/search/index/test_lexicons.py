"""Terms by pattern and nearness, held against Python's expressions and a plain distance."""

import random
import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.search.index.evaluate.joined_terms import terms_matching
from projections.search.index.evaluate.lexicons import Span
from projections.search.index.evaluate.segments import Memory
from projections.search.index.format.arrays import Inverted, lexicon, starts
from projections.search.language.patterns import wildcard
from projections.search.language.regex import regex
from tests.depth import examples
from tests.projections.search.language.test_patterns import regexes

LETTERS = "abäß_1€"
words = st.lists(st.text(LETTERS, max_size=9), max_size=30)


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


def matches(terms, expression) -> list[str]:
    """The distinct terms that Python's expression matches, in the order of the index."""
    fits = re.compile(expression, re.DOTALL | re.ASCII).fullmatch
    return [term for term in sorted(set(terms), key=str.encode) if fits(term)]


def matched(terms, pattern) -> list[str]:
    inverted = index(terms)
    span = Span(inverted, b"p:", b"")
    return texts(inverted, span.matching(pattern, Memory(1_000_000), nothing))


@settings(max_examples=examples(400), deadline=None)
@given(words, st.text(LETTERS + "*?", min_size=1, max_size=6))
def test_wildcards_match_whole_terms(terms, pattern):
    same = pattern.replace("*", ".*").replace("?", ".")
    assert matched(terms, wildcard(pattern)) == matches(terms, same)


@settings(max_examples=examples(400), deadline=None)
@given(words, regexes)
def test_expressions_match_whole_terms(terms, pattern):
    assert matched(terms, regex(pattern)) == matches(terms, pattern)


@given(words, regexes, st.integers(1, 3), st.integers(1, 40))
def test_joined_terms_match_the_same_in_parts(terms, pattern, part, steps):
    inverted, runs = index(terms), regex(pattern).runs()
    low, high = inverted.span(b"p:")
    found = terms_matching(
        inverted, 2, low, high, runs, Memory(1_000_000), nothing, part_bytes=part, steps=steps
    )
    assert texts(inverted, found) == matches(terms, pattern)


@pytest.mark.parametrize("letters", ["ab", "äß"])
def test_expressions_of_many_states_are_answered_whatever_the_terms(letters):
    chance = random.Random(7)
    terms = ["".join(chance.choices(letters, k=60)) for _ in range(2_000)]
    pattern = "[abäß]*[aä].{13}[bß][abäß]*[bß].{17}[aä]"
    expected = matches(terms, pattern)
    assert expected
    assert matched(terms, regex(pattern)) == expected


def test_matching_looks_at_the_clock_by_the_work_it_does():
    """A program of many instructions is run on fewer bytes between two looks."""
    inverted = index(["ab" * 20 + str(number) for number in range(20_000)])
    looks = []
    for pattern in (".*a", "(.*a.{120}){2}"):
        seen = []
        span = Span(inverted, b"p:", b"")
        span.matching(regex(pattern), Memory(10_000_000), lambda seen=seen: seen.append(1))
        looks.append(len(seen))
    assert looks[1] > 20 * looks[0]


@settings(max_examples=examples(400), deadline=None)
@given(words, st.text(LETTERS, min_size=1, max_size=8), st.integers(0, 2), st.integers(0, 2))
def test_near_terms_are_those_within_the_distance(terms, word, limit, prefix):
    inverted = index(terms)
    span = Span(inverted, b"p:", word[:prefix].encode())
    numbers, slips = span.near(word, limit, Memory(1_000_000), nothing)
    expected = {
        term: slip
        for term in terms
        if term.startswith(word[:prefix]) and (slip := distance(term, word)) <= limit
    }
    assert dict(zip(texts(inverted, numbers), slips.tolist(), strict=True)) == expected
    assert numbers.tolist() == sorted(numbers.tolist())


@pytest.mark.parametrize("word", ["b", "ab", "abba", "abbabaab", "aaaaaaaaab"])
def test_terms_near_a_word_among_many_are_all_told(word):
    """Most of many terms are left out by some of their letters alone."""
    chance = random.Random(5)
    terms = {"".join(chance.choices("ab", k=chance.randint(1, 11))) for _ in range(3_000)}
    inverted = index(terms)
    numbers, slips = Span(inverted, b"p:", b"").near(word, 1, Memory(1_000_000), nothing)
    expected = {term: slip for term in terms if (slip := distance(term, word)) <= 1}
    assert dict(zip(texts(inverted, numbers), slips.tolist(), strict=True)) == expected


@pytest.mark.parametrize("size", [0, 1, 1_000, 1_025, 4_000])
@pytest.mark.parametrize("long", [0, 62, 63, 64, 70])
def test_terms_are_told_by_their_places_in_small_and_large_indexes(size, long):
    """Where terms begin alike, their beginnings tell none apart."""
    pairs = [(16 * number).to_bytes(2, "big") for number in range(size)]
    terms = [pair[:1] + b"-" * long + pair[1:] for pair in [*pairs, b"\xff\xff"]]
    text, offsets = lexicon(terms)
    places = starts(np.ones(len(terms), np.int64))
    inverted = Inverted(lexicon=text, offsets=offsets, starts=places, ids=places[:-1])
    for at, term in enumerate(terms):
        assert [inverted.first(each) for each in (term, term + b"\0")] == [at, at + 1]
    for start in {term[:-1] for term in terms}:
        begun = [at for at, each in enumerate(terms) if each.startswith(start)]
        assert inverted.span(start) == (begun[0], begun[-1] + 1)


def distance(left: str, right: str) -> int:
    """Slips between two words, each letter aligned with another at most once (no cascades)."""

    @cache
    def slips(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        choices = [
            slips(i - 1, j) + 1,
            slips(i, j - 1) + 1,
            slips(i - 1, j - 1) + (left[i - 1] != right[j - 1]),
        ]
        if i > 1 and j > 1 and left[i - 2 : i] == right[j - 2 : j][::-1]:
            choices.append(slips(i - 2, j - 2) + 1)
        return min(choices)

    return slips(len(left), len(right))


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
def test_pieces_are_the_texts_around_the_stars(pattern, texts):
    assert wildcard(pattern).pieces == (None if texts is None else tuple(texts))
