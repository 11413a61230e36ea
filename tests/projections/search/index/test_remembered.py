"""Memory of a segment for searches is bounded in bytes, however long and many the terms are."""

import gc
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from projections.search import tree
from projections.search.documents.documents import SearchDocument
from projections.search.engine import EngineQuery
from projections.search.index.engine import WhooshEngine
from projections.search.index.evaluate.results import Dense, Sparse
from projections.search.index.evaluate.segments import Memory, Snapshot
from projections.search.tree import Node
from tests.brief_engines import brief_engine
from tests.commits import commit
from tests.projections.search.index.test_evaluate import found_document, view_of


@pytest.fixture
def engine():
    """An engine with one small document."""
    opened = brief_engine()
    fields = {"name": ("orders",), "description": ("All orders",)}
    commit(opened, {"a": SearchDocument("a", "table", False, fields, {"name": "orders"})}, 1)
    return opened


def held_after(engine: WhooshEngine, make: Callable[[int], Node], searches: int) -> int:
    """Bytes that so many searches, each for another node, leave behind."""
    engine.search(EngineQuery(tree=make(-1)))
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(searches):
            engine.search(EngineQuery(tree=make(number)))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_long_terms_that_are_not_found_are_not_remembered(engine):
    def make(number):
        return tree.Exact("name", f"{number}" + "x" * 15_000)

    assert held_after(engine, make, 300) < 100_000


@pytest.mark.deep
def test_many_terms_that_are_not_found_take_few_bytes(engine):
    def make(number):
        return tree.Exact("name", f"{number}" + "x" * 100)

    assert held_after(engine, make, 12_000) < 12_000_000


def test_long_bounds_count_with_what_they_come_to(engine):
    def make(number):
        return tree.Range("name", gte=f"{number}" + "x" * 15_000)

    assert held_after(engine, make, 300) < 2_500_000


@pytest.mark.deep
def test_what_depends_on_all_segments_takes_as_little_as_they_are_small(engine):
    def make(number):
        return tree.Fuzzy(None, f"{number}" + "x" * 100, 1)

    assert held_after(engine, make, 6_000) < 4_000_000


def test_what_depends_on_all_segments_may_take_as_much_as_a_segment():
    view = view_of("one", [found_document(number, ["the", "row"]) for number in range(3_000)])
    snapshot = Snapshot([view])
    made: list[str] = []

    def array(key: str) -> None:
        for memory in (view.memory, snapshot.memory):
            memory.array(key, lambda: made.append(key) or np.zeros(600_000, np.bool_))

    for key in "abcd" * 2:
        array(key)
    assert "".join(made) == "aabbccdd"


def test_memory_counts_its_keys():
    memory = Memory(10_000)
    made: list[str] = []

    def array(key: str) -> None:
        memory.array(key, lambda: made.append(key) or np.zeros(1, np.bool_))

    for key in ("a" * 4_000, "b" * 4_000, "a" * 4_000, "c" * 4_000, "b" * 4_000):
        array(key)
    assert [key[0] for key in made] == ["a", "b", "c", "b"]


def test_results_count_their_scores():
    ids, scores = np.arange(10, dtype=np.int32), np.ones(10, np.float32)
    assert Sparse(100, ids, scores).nbytes == 80
    assert Sparse(100, ids, 1.0).nbytes == 40
    mask, every = np.ones(100, np.bool_), np.ones(100, np.float32)
    assert Dense(mask, every).nbytes == 500
    assert Dense(mask, 1.0).nbytes == 100
