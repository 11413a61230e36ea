"""Searches of many clauses or long words: steps between two looks at the clock, and memory."""

import string
import tracemalloc
from itertools import product

import pytest

from projections.search import tree
from projections.search.engine import EngineHits, EngineQuery
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.search_commit import search
from projections.search.matching.deadline import Deadline
from projections.search.tree import Bool, DisMax, Node
from tests.depth import first_alone
from tests.projections.search.index.test_evaluate import found_document, stepped, view_of

WORDS = ["".join(letters) for letters in product(string.ascii_lowercase, repeat=2)]


class Ticking:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return float(self.looks)


def searched(view: SegmentView, node: Node, seconds: float = 1e9) -> tuple[EngineHits, int]:
    """The hits of a search that may look at its clock so often, and how often it did."""
    clock = Ticking()
    query = EngineQuery(tree=node, include_deleted=True, size=1_000)
    return search(Snapshot([view]), query, Deadline(seconds, clock)), clock.looks


def peak_of(view: SegmentView, node: Node) -> int:
    """Bytes that a search takes at most."""
    tracemalloc.start()
    try:
        searched(view, node)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def wordy() -> SegmentView:
    """Documents that have every second word, each another half of them than the next one."""
    halves = (WORDS[::2], WORDS[1::2])
    return view_of("wordy", [found_document(n, halves[n % 2]) for n in range(40)])


def terms(count: int) -> tuple[Node, ...]:
    return tuple(tree.Term("description", word) for word in WORDS[:count])


COMBINATIONS = [
    lambda nodes: Bool(must=nodes),
    lambda nodes: Bool(filter=nodes),
    lambda nodes: Bool(should=nodes),
    lambda nodes: Bool(should=nodes, minimum_should_match="2"),
    lambda nodes: Bool(must_not=nodes),
    lambda nodes: Bool(filter=(tree.Exists("description"),), should=nodes),
    lambda nodes: DisMax(nodes, 0.5),
]


@pytest.mark.parametrize("combine", COMBINATIONS)
def test_node_of_many_clauses_looks_at_the_clock_for_each_of_them(wordy, combine):
    found, few = searched(wordy, combine(terms(50)))
    assert not found.timed_out
    _, many = searched(wordy, combine(terms(450)))
    assert many - few > 700
    found, looks = searched(wordy, combine(terms(450)), seconds=200)
    assert (found.timed_out, found.total, found.relation) == (True, 0, "gte")
    assert looks <= 202


def test_ids_look_at_the_clock_for_each_of_them(wordy):
    _, looks = searched(wordy, tree.Ids(tuple(f"id{n}" for n in range(1_000))))
    assert looks >= 1_000


MANY = tuple(tree.Wildcard(None, f"*{a}{b}*") for a, b in product("abcdefghij", repeat=2))


@pytest.mark.parametrize(
    "node",
    [
        Bool(must=MANY[:2] * 3),
        Bool(must=MANY[::2]),
        Bool(filter=MANY[::2], should=MANY[:5]),
        Bool(should=MANY),
        Bool(should=MANY, minimum_should_match="3"),
        Bool(should=MANY, minimum_should_match="30", must_not=MANY[:1]),
        Bool(should=terms(40), minimum_should_match="20"),
        Bool(should=terms(40), must_not=MANY[:3], minimum_should_match="3"),
        Bool(should=terms(40), must=(tree.MatchAll(),), minimum_should_match="0"),
        Bool(must_not=MANY),
        Bool(must=(tree.MatchAll(),), must_not=MANY[3:]),
        DisMax(terms(40), 0.3),
        DisMax((*terms(20), *MANY), 0.0),
    ],
)
def test_clauses_that_are_joined_early_find_and_score_the_same(node):
    texts = [["alpha", word, *WORDS[at % 7 :: 9]] for at, word in enumerate(WORDS[:60])]
    view = view_of("one", [found_document(n, text) for n, text in enumerate(texts)])
    expected = searched(view, node)[0]
    for held in (0, 200, 500):
        assert searched(stepped(view, held_bytes=held), node)[0] == expected


@pytest.fixture(scope="module")
def large() -> SegmentView:
    """Many documents of the same words."""
    return view_of("large", [found_document(n, [*WORDS[:26], str(n)]) for n in range(20_000)])


@pytest.mark.parametrize("combine", first_alone(*COMBINATIONS))
def test_node_of_many_clauses_holds_few_of_them(large, combine):
    # Each clause is another node that matches everything, with a score of its own.
    nodes = tuple(
        tree.Boosted(tree.DisMax((tree.Term(None, word), tree.Exists("name"))), 1 + at / 100)
        for at, word in enumerate(WORDS[:26] * 8)
    )
    view = stepped(large, held_bytes=1_000_000)
    searched(view, combine(nodes))
    assert peak_of(view, combine(nodes)) < 4_000_000


def test_fuzzy_of_a_long_word_is_bounded_by_its_length_and_looks_at_the_clock():
    names = ["".join(WORDS[at % 600 :] + WORDS)[:900] for at in range(600)]
    texts = [[name] for name in names]
    view = view_of("one", [found_document(number, text) for number, text in enumerate(texts)])
    word = texts[7][0].replace("k", "x", 1)
    node = tree.Fuzzy("description", word, 1, 0)
    found, looks = searched(view, node)
    assert [hit.id for hit in found.hits] == ["id7"]
    assert looks > len(word)
    assert searched(view, node, seconds=500)[0] == found  # is remembered
    other = tree.Fuzzy("description", texts[8][0].replace("k", "x", 1), 2, 0)
    assert peak_of(view, other) < 6_000_000
    found, looks = searched(view, tree.Fuzzy("description", "x" * 901, 2, 0), seconds=500)
    assert (found.timed_out, found.total) == (True, 0)
    assert looks <= 502


def test_fuzzy_of_many_postings_takes_memory_for_some_of_them():
    near = [f"data{letter}" for letter in string.ascii_lowercase]
    view = view_of("one", [found_document(n, near) for n in range(20_000)])
    assert peak_of(view, tree.Fuzzy("description", "data", 1)) < 12_000_000


@pytest.mark.parametrize("pattern", first_alone("*a*", "*ab*", "*a", "q*z"))
def test_wildcards_look_at_the_clock_by_the_bytes_of_the_terms(pattern):
    texts = [["q" + word * 120 + str(n)] for n, word in enumerate(WORDS * 15)]
    view = view_of("one", [found_document(n, text) for n, text in enumerate(texts)])
    looks = searched(view, tree.Wildcard("description", pattern))[1]
    few = view_of("few", [found_document(n, text) for n, text in enumerate(texts[:9])])
    assert looks - searched(few, tree.Wildcard("description", pattern))[1] >= 1
