"""Phrases against plain Python: what follows what, in many documents at once."""

import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.search import tree
from projections.search.engine import EngineHits, EngineQuery
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.search_commit import search
from projections.search.matching.deadline import Deadline
from tests.depth import examples
from tests.projections.search.index.test_evaluate import found_document, run, stepped, view_of

COMMON, RARE = ("the", "of"), ("row", "column", "key")
words = st.sampled_from(COMMON * 4 + RARE)
texts = st.lists(st.lists(words, max_size=25), min_size=1, max_size=12)
sought = st.lists(words, min_size=2, max_size=4)


def _found(
    held: Sequence[Sequence[str]],
    phrase: str,
    slop: int = 0,
    size: int = 99,
    **steps: int,
) -> set[int]:
    """The numbers of the texts found in segments of this size, each with dead documents."""
    documents = [found_document(number, text) for number, text in enumerate(held)]
    dead = [found_document(number, phrase.split()) for number in range(1_000, 1_003)]
    views = [
        view_of(str(at), [*documents[at : at + size], *dead], [document.id for document in dead])
        for at in range(0, len(documents), size)
    ]
    query = EngineQuery(tree=tree.Phrase(None, phrase, slop), size=1_000, include_deleted=True)
    views = [stepped(view, **steps) for view in views]
    return {int(hit.id.removeprefix("id")) for hit in run(views, query).hits}


def _holds(text: Sequence[str], phrase: Sequence[str], slop: int) -> bool:
    """True if the words can be moved to their places by steps that differ by the slop at most."""
    moves = [
        {place - at for place, held in enumerate(text) if held == word}
        for at, word in enumerate(phrase)
    ]
    return any(
        all(any(low <= move <= low + slop for move in options) for options in moves)
        for low in set().union(*moves)
    )


@settings(max_examples=examples(200), deadline=None)
@given(texts, sought, st.integers(0, 3), st.integers(1, 12), st.integers(1, 4), st.integers(1, 5))
def test_phrase_finds_what_plain_python_does(held, phrase, slop, size, chunk, intervals):
    found = _found(held, " ".join(phrase), slop, size, documents=chunk, places=intervals)
    assert found == {at for at, text in enumerate(held) if _holds(text, phrase, slop)}


LONG = "the " * 40


@pytest.mark.parametrize(
    ("phrase", "slop", "found"),
    [
        ("the row", 0, {0, 2}),
        ("row the", 0, {1, 2}),
        ("the the", 0, {0, 1, 2, 4}),
        ("row row", 0, {3}),
        ("the the row", 0, {0, 2}),
        ("the of the", 0, {4}),
        ("of the of", 0, set()),
        ("row of", 0, set()),
        ("row of", 1, {5}),
        ("of row", 1, set()),
        ("of row", 3, {5}),
        ("the absent", 0, set()),
    ],
)
def test_phrase_of_words_that_come_often(phrase, slop, found):
    texts = [
        f"{LONG} row",  # at the end only, long after the first
        f"row {LONG}",  # at the beginning only
        f"{LONG} row {LONG}",
        "row row",
        "the the of the",
        "row key of",
    ]
    assert _found([text.split() for text in texts], phrase, slop) == found


def test_phrase_does_not_span_documents():
    held = [["the"], ["row"], ["the"], ["row", "the"]]
    assert _found(held, "the row") == set()


class Ticking:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return float(self.looks)


def _timed(view: SegmentView, node: tree.Phrase, seconds: float) -> tuple[EngineHits, int]:
    """The hits of a search that may look at its clock so often, and how often it did."""
    clock = Ticking()
    query = EngineQuery(tree=node, include_deleted=True)
    return search(Snapshot([view]), query, Deadline(seconds, clock)), clock.looks


OF_THE = " ".join(["the", "of"] * 1_000)


@pytest.mark.parametrize(("repeated", "slop"), [("the of", 0), ("the of", 50), ("the", 50)])
def test_phrase_of_many_words_looks_at_the_clock_for_each(repeated, slop):
    view = view_of("one", [found_document(number, OF_THE.split()) for number in range(3)])
    looks = {}
    for count in (20, 120):
        words = " ".join((repeated.split() * count)[:count])
        found, looks[count] = _timed(view, tree.Phrase(None, words, slop), 1_000)
        assert (found.total, found.timed_out) == (3, False)
    assert looks[120] - looks[20] >= 100


def test_phrase_that_takes_too_long_says_so():
    view = view_of("one", [found_document(number, OF_THE.split()) for number in range(3)])
    found, looks = _timed(view, tree.Phrase(None, "the of " * 100, 50), 20)
    assert (found.timed_out, found.total, found.relation) == (True, 0, "gte")
    assert looks <= 22


WIDER = [(0, 100), (50, 20), (50, 100)]


@pytest.mark.parametrize(
    ("slop", "words"),
    [(3, 20), *(pytest.param(*each, marks=pytest.mark.deep) for each in WIDER)],
)
def test_phrase_takes_memory_that_its_words_do_not_multiply(slop, words):
    documents = [found_document(number, OF_THE.split()) for number in range(100)]
    view = view_of("one", documents)
    peaks = []
    for count in (2, words):
        tracemalloc.start()
        try:
            found, _ = _timed(view, tree.Phrase(None, "the of " * (count // 2), slop), 1e9)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert (found.total, found.timed_out) == (100, False)
    assert peaks[1] < peaks[0] + 2_000_000


def test_phrase_takes_memory_that_documents_do_not_multiply():
    peaks = []
    for count in (30, 300):
        view = view_of(str(count), [found_document(n, OF_THE.split()) for n in range(count)])
        for slop in (0, 5):
            tracemalloc.start()
            try:
                found, _ = _timed(view, tree.Phrase(None, "the of the", slop), 1e9)
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
            assert (found.total, found.timed_out) == (count, False)
    assert max(peaks) < 15_000_000
