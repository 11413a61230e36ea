"""Nested queries: bounded in time and memory, and true in what they give when time is short."""

import tracemalloc
from collections.abc import Iterator

import pytest

from projections.search import tree
from projections.search.documents.documents import SearchDocument
from projections.search.documents.sources import Fields, object_reader
from projections.search.engine import EngineHits, EngineQuery
from projections.search.tree import Bool, Nested, Node
from tests.brief_engines import brief_engine
from tests.commits import commit
from tests.depth import first_alone

BOTH = Bool(must=(tree.Term("columns.name", "x"), tree.Term("columns.dataType", "int")))


class Tables:
    """Tables in one segment; it takes a second of the clock to make one of their columns."""

    def __init__(self, columns: dict[str, list[tuple[str, str]]], seconds: float = 20) -> None:
        """A search may take so many seconds."""
        self.now = 0.0
        self.made = 0
        """Columns that were made."""
        self._columns = columns
        self._engine = brief_engine(deadline=seconds, clock=lambda: self.now)
        commit(self._engine, {name: self._document(name) for name in columns}, 1)

    def _document(self, name: str) -> SearchDocument:
        fields = {
            "name": (name,),
            "columns.name": tuple(name for name, _ in self._columns[name]),
            "columns.dataType": tuple(kind for _, kind in self._columns[name]),
        }
        return SearchDocument(name, "table", False, fields, {"name": name})

    def read(self, entity_id: str, path: str) -> Iterator[Fields]:
        """The columns of a table."""
        assert path == "columns"
        for name, kind in self._columns[entity_id]:
            self.now += 1.0
            self.made += 1
            yield {"columns.name": (name,), "columns.dataType": (kind,)}

    def search(self, node: Node) -> EngineHits:
        """Up to a hundred hits, by name."""
        return self._engine.search(EngineQuery(tree=node, size=100), self.read)


def names(hits: EngineHits) -> list[str]:
    return sorted(hit.id for hit in hits.hits)


def test_nested_stops_within_an_entity_when_time_is_short() -> None:
    tables = Tables({"wide": [("x", "text"), ("y", "int")] * 1_000})
    found = tables.search(Nested("columns", BOTH))
    assert tables.made == 16
    assert (found.timed_out, found.total, found.relation) == (True, 0, "gte")


def test_nested_gives_what_it_found_when_time_is_short() -> None:
    tables = Tables({f"t{n:02}": [("x", "int"), ("y", "text")] for n in range(50)})
    found = tables.search(Nested("columns", BOTH))
    assert names(found) == [f"t{n:02}" for n in range(8)]
    assert (found.timed_out, found.total, found.relation) == (True, 8, "gte")


def test_nested_gives_nothing_false_when_time_is_short() -> None:
    tables = Tables(
        {f"t{n:02}": [("x", "int" if n % 2 else "text"), ("y", "int")] for n in range(50)}
        | {"other": [("z", "int")]}
    )
    without = tables.search(Bool(must_not=(Nested("columns", BOTH),)))
    # Eight tables were looked at; `other` is no candidate.
    assert names(without) == ["other", "t00", "t02", "t04", "t06"]
    assert (without.timed_out, without.relation) == (True, "gte")


def test_nested_answers_whole_in_time() -> None:
    tables = Tables({f"t{n}": [("x", "int" if n % 2 else "text"), ("y", "int")] for n in range(7)})
    found = tables.search(Nested("columns", BOTH))
    assert names(found) == ["t1", "t3", "t5"]
    assert (found.timed_out, found.total, found.relation) == (False, 3, "eq")


def test_objects_are_read_one_entity_at_a_time() -> None:
    asked: list[list[str]] = []

    def read_sources(ids):
        asked.append(list(ids))
        return {i: b'{"columns":[{"name":"x"},{"name":"y"}]}' for i in ids}

    objects = object_reader(read_sources)("a", "columns")
    assert asked == []
    assert next(objects) == {"columns.name": ("x",)}
    assert asked == [["a"]]


@pytest.mark.parametrize("columns", first_alone(4_000, 12_000))
def test_nested_holds_few_objects_however_many_there_are(columns: int) -> None:
    tables = Tables({"wide": [("x", "text"), ("y", "int")] * (columns // 2)}, seconds=100_000)
    tracemalloc.start()
    try:
        found = tables.search(Nested("columns", BOTH))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (tables.made, found.total) == (columns, 0)
    assert peak < 6_000_000
