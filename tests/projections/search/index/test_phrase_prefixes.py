"""Phrases that end in the beginning of a word, against plain Python, and what they take."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.search import tree
from projections.search.engine import EngineQuery
from tests.depth import examples, first_alone
from tests.projections.search.index.test_evaluate import found_document, run, stepped, view_of
from tests.projections.search.index.test_search_bounds import peak_of, searched

words = st.sampled_from(("the", "them", "thy", "of", "off", "row", "rowed", "key"))
texts = st.lists(st.lists(words, max_size=20), min_size=1, max_size=10)


def holds(text, phrase, slop):
    *whole, last = phrase
    fits = [*(word.__eq__ for word in whole), lambda held: held.startswith(last)]
    moves = [
        {place - at for place, held in enumerate(text) if fit(held)} for at, fit in enumerate(fits)
    ]
    return any(
        all(any(low <= move <= low + slop for move in options) for options in moves)
        for low in set().union(*moves)
    )


@settings(max_examples=examples(150), deadline=None)
@given(
    texts,
    st.lists(words, max_size=3),
    st.sampled_from(("t", "th", "the", "o", "r", "row", "x")),
    st.integers(0, 2),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_begun_phrase_finds_what_plain_python_does(held, whole, last, slop, size, step):
    documents = [found_document(number, text) for number, text in enumerate(held)]
    dead = [found_document(number, [*whole, f"{last}x"]) for number in range(1_000, 1_002)]
    views = [
        view_of(str(at), [*documents[at : at + size], *dead], [document.id for document in dead])
        for at in range(0, len(documents), size)
    ]
    node = tree.PhrasePrefix(None, " ".join([*whole, last]), slop)
    query = EngineQuery(tree=node, size=1_000, include_deleted=True)
    steps = {"documents": 2 * step, "places": step, "positions": step, "postings": step}
    found = run([stepped(view, **steps) for view in views], query)
    expected = {at for at, text in enumerate(held) if holds(text, [*whole, last], slop)}
    assert {int(hit.id.removeprefix("id")) for hit in found.hits} == expected
    assert found.total == len(expected)


def test_begun_words_score_by_the_rarity_of_all_that_begin_so_and_by_their_best_posting():
    rare, common = ["zeta"], ["alpha"]
    documents = [found_document(n, common if n else rare) for n in range(9)]
    in_one = view_of("one", documents)
    split = [view_of("a", documents[:4]), view_of("b", documents[4:])]

    def scores(views, text):
        query = EngineQuery(tree=tree.PhrasePrefix("description", text), include_deleted=True)
        return [(hit.id, hit.score) for hit in run(views, query).hits]

    assert scores([in_one], "ze")[0][1] > scores([in_one], "al")[0][1]
    for text in ("ze", "al"):
        assert scores(split, text) == scores([in_one], text)


MANY = [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase]


@pytest.fixture(scope="module")
def large():
    """Many documents, each with hundreds of words that begin alike."""
    return view_of(
        "large", [found_document(n, ["of", *(f"q{w}" for w in MANY)]) for n in range(4_000)]
    )


@pytest.mark.parametrize("text", first_alone("of q", "q"))
def test_one_letter_takes_memory_for_some_of_its_postings(large, text):
    postings = 4_000 * len(MANY)
    view = stepped(large, postings=1 << 12, positions=1 << 14)
    assert peak_of(view, tree.PhrasePrefix(None, text)) < postings


@pytest.mark.parametrize("text", ["q", "of q"])
def test_one_letter_looks_at_the_clock_by_its_postings(large, text):
    view = stepped(large, postings=1 << 14)
    node = tree.PhrasePrefix("description", text)
    found, looks = searched(view, node, seconds=20)
    assert (found.timed_out, found.total, found.relation) == (True, 0, "gte")
    assert looks <= 22
    found, looks = searched(view, node)
    assert (found.timed_out, found.total) == (False, 4_000)
    assert looks > 100


def test_groups_of_documents_go_through_their_own_postings_alone(large):
    view = stepped(large, postings=1 << 12, positions=1 << 14)
    pieces = 4_000 * len(MANY) >> 12
    found, looks = searched(view, tree.PhrasePrefix("description", "of q"))
    assert (found.timed_out, found.total) == (False, 4_000)
    assert looks < 10 * pieces
