"""Commits, checkpoints, snapshots and digests, in every search engine."""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from domain.errors import BeforeHorizon, InvalidInput, StoreUnavailable
from domain.reading.horizon import Horizon
from projections.search.aggregations import Terms
from projections.search.documents.documents import SearchDocument
from projections.search.engine import (
    DocumentChanges,
    EngineQuery,
    Facet,
    SearchedPaths,
    SearchEngine,
)
from projections.search.tree import Bool, Exists, MatchAll, Term
from tests.commits import commit
from tests.contracts.search_engines import (
    OpenEngine,
    apply,
    engine,
    ids,
    made,
    open_engine,
)

__all__ = ["engine", "open_engine"]


def entries(engine: SearchEngine) -> list[tuple[str, str, int]]:
    with engine.snapshot() as snapshot:
        return sorted(snapshot.entries())


def test_engine_begins_empty(engine: SearchEngine) -> None:
    assert (engine.checkpoint(), engine.count()) == (0, 0)
    assert engine.checkpoint_and_fingerprint() == (0, "")
    assert ids(engine) == set()
    with engine.snapshot() as snapshot:
        assert snapshot.checkpoint == (0, "")
        assert (dict(snapshot.digests()), list(snapshot.entries())) == ({}, [])


def test_commit_has_documents_position_and_fingerprint(
    engine: SearchEngine, open_engine: OpenEngine
) -> None:
    commit(engine, {"a": made("a"), "b": made("b", deleted=True)}, 7, "of seven")
    for each in (engine, open_engine()):
        assert (each.checkpoint(), each.count()) == (7, 2)
        assert each.checkpoint_and_fingerprint() == (7, "of seven")
        assert ids(each, deleted=True) == {"a", "b"}
    commit(engine, {}, 9, "of nine")
    assert (engine.checkpoint_and_fingerprint(), engine.count()) == ((9, "of nine"), 2)
    commit(engine, {}, 10)
    assert engine.checkpoint_and_fingerprint() == (10, "")


def test_documents_are_replaced_and_removed_by_id(engine: SearchEngine) -> None:
    apply(engine, 1, made("a", description="first"), made("b"))
    apply(engine, 2, made("a", description="second"))
    apply(engine, 3, made("a", description="second"))
    assert ids(engine, Term("description", "first")) == set()
    assert ids(engine, Term("description", "second")) == {"a"}
    assert engine.count() == 2
    commit(engine, {"b": None, "unknown": None}, 4)
    commit(engine, {"b": None}, 5)
    assert (ids(engine), engine.count()) == ({"a"}, 1)
    apply(engine, 6, made("b"))
    assert (ids(engine), engine.count()) == ({"a", "b"}, 2)


def test_one_commit_adds_replaces_and_removes(engine: SearchEngine) -> None:
    apply(engine, 1, made("a"), made("b"), made("c"))
    commit(engine, {"a": None, "b": made("b", description="new"), "d": made("d")}, 2)
    assert ids(engine) == {"b", "c", "d"}
    assert ids(engine, Term("description", "new")) == {"b"}


def test_commit_goes_on_from_where_it_was_begun_or_changes_nothing(
    engine: SearchEngine, open_engine: OpenEngine
) -> None:
    begun = engine.checkpoint_and_fingerprint()
    apply(engine, 1, made("a"), made("b"))
    other = open_engine()
    apply(other, 3, made("a", description="newer"))
    older = {"a": made("a", description="older"), "b": None, "c": made("c")}

    for after in (begun, (1, "1"), (3, "of another log"), (4, "3")):
        with pytest.raises(StoreUnavailable, match="another process feeds the search index"):
            engine.apply(DocumentChanges(older, 2, after, "older"))

    for each in (engine, other):
        assert (each.checkpoint_and_fingerprint(), ids(each)) == ((3, "3"), {"a", "b"})
        assert ids(each, Term("description", "newer")) == {"a"}
    engine.apply(DocumentChanges({"b": None}, 4, (3, "3"), "4"))
    assert (engine.checkpoint(), ids(engine)) == (4, {"a"})


def test_states_of_the_past_are_searched(engine: SearchEngine, open_engine: OpenEngine) -> None:
    first = replace(made("a", description="first"), since=1)
    apply(engine, 1, first)
    second = replace(made("a", description="second"), since=4)
    replaced = [replace(first, until=4)]
    commit(engine, {"a": second, "b": replace(made("b"), since=5)}, 5, replaced=replaced)
    for each in (engine, open_engine()):
        assert [ids(each, at=at) for at in range(6)] == [set(), *[{"a"}] * 4, {"a", "b"}]
        for text, positions in (("first", {1, 2, 3}), ("second", {4, 5})):
            found = {at for at in range(6) if ids(each, Term("description", text), at=at)}
            assert found == positions
        with pytest.raises(StoreUnavailable, match="up to position 5, not 6: try again"):
            ids(each, at=6)
    commit(engine, {"a": None}, 6)
    assert [ids(engine, at=at) for at in range(7)] == [*[set()] * 5, {"b"}, {"b"}]


def test_past_is_forgotten_up_to_a_horizon(engine: SearchEngine, open_engine: OpenEngine) -> None:
    spans = ((1, 3), (3, 4), (4, 6))
    replaced = [replace(made("a"), since=since, until=until) for since, until in spans]
    commit(engine, {"a": replace(made("a"), since=6)}, 7, "of seven", replaced=replaced)
    moved = [engine.forget(Horizon(position, 9)) for position in (4, 4, 2)]
    assert moved == [True, False, False]
    for each in (engine, open_engine()):
        assert (each.checkpoint_and_fingerprint(), ids(each)) == ((7, "of seven"), {"a"})
        with each.snapshot() as snapshot:
            assert snapshot.horizon == Horizon(4, 9)
            assert sorted(state.since for state in snapshot.states()) == [4, 6]
        assert [ids(each, at=at) for at in (4, 5, 6, 7)] == [{"a"}] * 4
        for at in (0, 3):
            with pytest.raises(BeforeHorizon, match="from position 4 on"):
                ids(each, at=at)
    apply(engine, 8, made("b"))
    with engine.snapshot() as snapshot:
        assert snapshot.horizon == Horizon(4, 9)
    engine.reset()
    with engine.snapshot() as snapshot:
        assert snapshot.horizon == Horizon()


def test_many_small_commits_hold_what_one_would(engine: SearchEngine) -> None:
    for number in range(60):
        apply(engine, number + 1, made(f"n{number % 25}", digest=number))
    assert (engine.count(), engine.checkpoint()) == (25, 60)
    assert entries(engine) == sorted(
        (f"n{number % 25}", "table", number) for number in range(35, 60)
    )


def test_reset_forgets_all(engine: SearchEngine, open_engine: OpenEngine) -> None:
    apply(engine, 3, made("a"))
    engine.reset()
    for each in (engine, open_engine()):
        assert (each.checkpoint_and_fingerprint(), each.count(), ids(each)) == ((0, ""), 0, set())
    apply(engine, 1, made("b"))
    assert ids(engine) == {"b"}


def test_searched_paths_are_of_the_commit(engine: SearchEngine, open_engine: OpenEngine) -> None:
    assert engine.searched() == SearchedPaths()
    paths = SearchedPaths(("extension.b", "extension.a"), full=True)
    document = made("a", extension__a=1, extension__b="x")
    engine.apply(DocumentChanges({"a": document}, 7, (0, ""), searched=paths))
    commit(engine, {}, 9)
    for each in (engine, open_engine()):
        assert each.searched() == paths
        with each.snapshot() as snapshot:
            assert snapshot.searched == paths
    engine.reset()
    assert engine.searched() == SearchedPaths()


@pytest.mark.parametrize(
    "asked",
    [
        {"tree": Term("extension.c", "x")},
        {"tree": Bool(must=(MatchAll(), Term("extension.c.keyword", "x")))},
        {"tree": MatchAll(), "filter": Exists("extension.c")},
        {"tree": MatchAll(), "post_filter": Bool(must_not=(Exists("extension.c"),))},
        {"tree": MatchAll(), "facets": (Facet(Terms(name="f", field="extension.c")),)},
    ],
)
def test_query_on_a_path_that_is_not_searched_is_refused(
    engine: SearchEngine, asked: dict[str, Any]
) -> None:
    documents = {"a": made("a", extension__a="x")}
    some = SearchedPaths(("extension.a.b",))
    engine.apply(DocumentChanges(documents, 1, (0, ""), searched=some))
    engine.search(EngineQuery(**asked))
    full = SearchedPaths(("extension.a.b",), full=True)
    engine.apply(DocumentChanges(documents, 2, (1, ""), searched=full))
    with pytest.raises(InvalidInput, match=r"'extension\.c' is not searched: .* 1 paths"):
        engine.search(EngineQuery(**asked))
    for field in ("extension.a", "extension.a.b", "extension", "name"):
        engine.search(EngineQuery(tree=Exists(field)))


class Watched(Mapping[str, SearchDocument | None]):
    """Documents that are made when they are asked for, and noted."""

    def __init__(self, count: int) -> None:
        self.asked: list[str] = []
        self._ids = [f"n{number:03}" for number in range(count)]

    def __getitem__(self, entity_id: str) -> SearchDocument:
        self.asked.append(entity_id)
        return made(entity_id)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def test_each_document_of_a_commit_is_asked_for_once(engine: SearchEngine) -> None:
    watched = Watched(300)
    commit(engine, watched, 1)
    assert watched.asked == list(watched)
    assert engine.count() == 300


def test_commit_that_cannot_be_made_changes_nothing(engine: SearchEngine) -> None:
    class Broken(Watched):
        def __getitem__(self, entity_id: str) -> SearchDocument:
            if entity_id == "n150":
                raise ValueError("no document")
            return super().__getitem__(entity_id)

    apply(engine, 1, made("a"))
    with pytest.raises(ValueError, match="no document"):
        commit(engine, Broken(300), 2, "two")
    assert (engine.checkpoint_and_fingerprint(), ids(engine)) == ((1, "1"), {"a"})
    apply(engine, 2, made("b"))
    assert (engine.checkpoint_and_fingerprint(), ids(engine)) == ((2, "2"), {"a", "b"})


def test_digests_are_exact_sums_by_kind(engine: SearchEngine) -> None:
    large = 2**64 - 1
    apply(engine, 1, made("a", digest=5), made("b", digest=6), made("x", "topic", digest=large))
    apply(engine, 2, made("a", digest=50), made("y", "topic", digest=3, deleted=True))
    commit(engine, {"b": None}, 3)
    with engine.snapshot() as snapshot:
        assert dict(snapshot.digests()) == {"table": (1, 50), "topic": (2, 2)}
        assert sorted(snapshot.entries()) == [
            ("a", "table", 50),
            ("x", "topic", large),
            ("y", "topic", 3),
        ]
    commit(engine, {"x": None, "y": None}, 4)
    with engine.snapshot() as snapshot:
        assert dict(snapshot.digests()) == {"table": (1, 50)}


def test_snapshot_stays_as_it_is(engine: SearchEngine) -> None:
    apply(engine, 1, made("a", digest=1), made("b", digest=2))
    with engine.snapshot() as snapshot:
        for position in range(2, 30):
            commit(engine, {"a": made("a", digest=position), "b": None}, position, "later")
        engine.reset()
        assert snapshot.checkpoint == (1, "1")
        assert dict(snapshot.digests()) == {"table": (2, 3)}
        assert sorted(snapshot.entries()) == [("a", "table", 1), ("b", "table", 2)]


def test_other_processes_follow(engine: SearchEngine, open_engine: OpenEngine) -> None:
    other = open_engine()
    for position in range(1, 5):
        apply(engine, position, made(f"n{position}"))
        assert other.checkpoint() == position
        assert ids(other) == {f"n{number}" for number in range(1, position + 1)}
    apply(other, 5, made("n5"))
    apply(engine, 6, made("n6"))
    assert (engine.count(), other.count()) == (6, 6)


def test_searches_beside_commits_see_whole_ones(
    engine: SearchEngine, open_engine: OpenEngine
) -> None:
    query = EngineQuery(tree=MatchAll(), size=100)
    rounds = 15

    def commit(number: int) -> None:
        apply(engine, number + 1, *(made(f"n{n}", entityStatus=f"r{number}") for n in range(20)))

    commit(0)
    wrong: list[int] = []
    stop = threading.Event()

    def read(each: SearchEngine) -> None:
        while not stop.is_set():
            total = each.search(query).total
            if total != 20:
                wrong.append(total)

    threads = [threading.Thread(target=read, args=(e,)) for e in (engine, open_engine())]
    for thread in threads:
        thread.start()
    for number in range(1, rounds):
        commit(number)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert engine.checkpoint() == rounds


def test_closed_engine_refuses(engine: SearchEngine) -> None:
    apply(engine, 1, made("a"))
    engine.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        engine.search(EngineQuery(tree=MatchAll()))
    with pytest.raises(StoreUnavailable, match="closed"):
        engine.checkpoint()
    with pytest.raises(StoreUnavailable, match="closed"):
        apply(engine, 2, made("b"))
