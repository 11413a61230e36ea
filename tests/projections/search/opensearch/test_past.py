"""The past in an index of a cluster: what it is to the present, and to commits that were
interrupted. What it finds is held by `tests/contracts/test_search_engine_past.py`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import count
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.opensearch_server import OpenSearchServer
from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from projections.feeding.projector import Projector
from projections.search.aggregations import Terms
from projections.search.documents.documents import SearchDocument
from projections.search.engine import (
    DocumentChanges,
    EngineHits,
    EngineQuery,
    Facet,
    SearchEngine,
    Sort,
)
from projections.search.index.evaluate.object_search import ObjectSearch
from projections.search.language import text
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster, VersionConflict
from projections.search.opensearch.engine import OpenSearchEngine
from projections.search.projection import SearchProjection
from projections.search.tree import MatchAll
from tests.brief_engines import brief_engine
from tests.commits import commit
from tests.contracts.search_engines import ids, made
from tests.depth import examples
from tests.opensearch_indexes import SharedIndex
from tests.projections.search.random_histories import RandomHistory, index
from tests.projections.search.test_past import opened_log

pytestmark = pytest.mark.xdist_group("opensearch")
LARGE = replace(made("a", sort={"displayName": "x" * 4_000_000}), since=1)
"""A document that is sent in a request of its own."""


@pytest.fixture
def cluster(opensearch: OpenSearchServer) -> Iterator[Cluster]:
    with closing(Cluster(read_search_address(opensearch.url))) as cluster:
        yield cluster


@pytest.fixture
def name() -> str:
    return f"past-{uuid4().hex}"


@pytest.fixture
def shared(opensearch: OpenSearchServer, name: str) -> SharedIndex:
    return SharedIndex(opensearch, name)


@pytest.fixture
def engine(shared: SharedIndex) -> Iterator[OpenSearchEngine]:
    with closing(shared.open()) as engine:
        yield engine


def interrupted(engine: SearchEngine, document: SearchDocument, until: int) -> None:
    """Begin a commit that replaces a state, and fail once its document was sent."""

    def replaced() -> Iterator[SearchDocument]:
        yield replace(document, until=until)
        raise StoreUnavailable("the log cannot be read")

    documents = {document.id: replace(made(document.id), since=until)}
    with pytest.raises(StoreUnavailable, match="the log cannot be read"):
        commit(engine, documents, until, replaced=replaced())


def test_part_of_a_commit_that_is_seen_is_told(
    engine: OpenSearchEngine, cluster: Cluster, name: str
) -> None:
    """As it may be seen after a node was killed in the middle of a commit."""
    commit(engine, {"a": LARGE}, 1)
    interrupted(engine, LARGE, 3)
    assert ids(engine, at=1) == {"a"}
    cluster.request("POST", f"/{name}/_refresh")
    with pytest.raises(StoreUnavailable, match="a part of the commit after position 1 is seen"):
        ids(engine, at=1)
    assert ids(engine) == {"a"}
    second = replace(made("a"), since=3)
    commit(engine, {"a": second}, 3, replaced=[replace(LARGE, until=3)])
    assert [ids(engine, at=at) for at in range(4)] == [set(), {"a"}, {"a"}, {"a"}]


class Interrupting(Cluster):
    """A connection by which something happens right after a search is answered."""

    def __init__(self, server: OpenSearchServer) -> None:
        super().__init__(read_search_address(server.url))
        self.happens: Callable[[], None] | None = None

    def request(self, method: str, path: str, *values: Any, **options: Any) -> Any:
        answer = super().request(method, path, *values, **options)
        if self.happens is not None and path.endswith("/_search") and answer["hits"]["hits"]:
            is_page = "row" in answer["hits"]["hits"][0].get("fields", {})
            if is_page:
                happens, self.happens = self.happens, None
                happens()
        return answer


def test_part_of_a_commit_that_is_whole_by_the_end_of_a_search_is_not_answered(
    engine: OpenSearchEngine, opensearch: OpenSearchServer, name: str
) -> None:
    commit(engine, {"a": LARGE}, 1)
    interrupted(engine, LARGE, 3)
    cluster = Interrupting(opensearch)
    cluster.request("POST", f"/{name}/_refresh")
    second = replace(made("a"), since=3)

    def be_whole() -> None:
        commit(engine, {"a": second}, 3, replaced=[replace(LARGE, until=3)])

    reader = OpenSearchEngine(
        cluster, name, search_objects=ObjectSearch, writable=False, deadline=60.0
    )
    with closing(reader):
        cluster.happens = be_whole
        assert reader.search(EngineQuery(tree=MatchAll(), at=1)).total == 1
    assert cluster.happens is None


def test_search_of_the_past_that_runs_out_of_time_says_so(shared: SharedIndex) -> None:
    with closing(shared.open()) as engine:
        commit(engine, {"a": replace(made("a"), since=1)}, 1)
    ticks = count()
    with closing(shared.open(deadline=1.0, clock=lambda: float(next(ticks)))) as engine:
        hits = engine.search(EngineQuery(tree=MatchAll(), at=1))
    assert (hits.timed_out, hits.total, hits.relation) == (True, 0, "gte")


def test_purge_removes_what_an_interrupted_commit_has_left(
    engine: OpenSearchEngine, shared: SharedIndex
) -> None:
    commit(engine, {"a": LARGE, "b": replace(made("b"), since=2)}, 2)
    interrupted(engine, LARGE, 3)
    with closing(shared.open()) as other:
        commit(other, {"a": None}, 4)
        with other.snapshot() as snapshot:
            assert [state.id for state in snapshot.states()] == ["b"]
        assert [ids(other, at=at) for at in range(5)] == [set(), set(), {"b"}, {"b"}, {"b"}]


class Dying(Cluster):
    """A connection of a host that dies before, or after, one of its writes."""

    def __init__(self, server: OpenSearchServer, writes: int, *, answered: bool) -> None:
        super().__init__(read_search_address(server.url))
        self._writes = writes
        self._answered = answered

    def request(self, method: str, path: str, *values: Any, **options: Any) -> Any:
        if not path.endswith(("/_bulk", "/_delete_by_query", "/_refresh")):
            return super().request(method, path, *values, **options)
        self._writes -= 1
        if self._writes < 0 and not self._answered:
            raise StoreUnavailable("the host has died")
        answer = super().request(method, path, *values, **options)
        if self._writes < 0:
            raise StoreUnavailable("the host has died")
        return answer


def goes_on(projector: Projector) -> bool:
    """Step; True too where the host that died has come further than that, which is seen then."""
    try:
        return projector.step()
    except VersionConflict:
        return True


def check_past(engine: SearchEngine, history: RandomHistory, random: Random) -> int:
    """Compare what is found as of some positions with the log; returns how many were refused."""
    refused = 0
    for position in random.sample(range(engine.checkpoint() + 1), 3):
        expected = {state.entity.id for state in history.states_at(position)}
        try:
            hits = engine.search(
                EngineQuery(tree=MatchAll(), include_deleted=True, size=100, at=position)
            )
        except StoreUnavailable as error:
            if "a part of the commit" not in error.message:
                raise
            refused += 1
            continue
        # What is purged by a commit under way may be gone from a part of the past.
        lasting = [hit.id for hit in hits.hits if hit.id not in history.purged]
        assert (sorted(lasting), hits.total) == (sorted(expected), len(hits.hits))
    return refused


@settings(
    max_examples=examples(6, quick=3),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_death_of_a_host_or_node_in_a_commit_shows_a_state_twice_or_none(
    engine: OpenSearchEngine,
    opensearch: OpenSearchServer,
    cluster: Cluster,
    name: str,
    seed: int,
) -> None:
    random = Random(seed)
    engine.reset()
    with opened_log() as log:
        history = RandomHistory(log, random, entities=6)
        history.grow(60)
        Projector(SearchProjection(engine), log, batch_size=20).step()
        dying = Dying(opensearch, random.randint(0, 6), answered=random.random() < 0.5)
        first = OpenSearchEngine(dying, name, search_objects=ObjectSearch, writable=True)
        with closing(first), suppress(StoreUnavailable):
            Projector(SearchProjection(first), log, batch_size=20).step()
        if is_node_killed := random.random() < 0.5:
            cluster.request("POST", f"/{name}/_refresh")
        refused = check_past(engine, history, random)
        assert is_node_killed or not refused, f"seed {seed}"
        following = Projector(SearchProjection(engine), log, batch_size=random.choice((7, 25)))
        steps = 0
        while goes_on(following):
            check_past(engine, history, random)
            steps += 1
            assert steps < 20, f"seed {seed}"
        assert check_past(engine, history, random) == 0
        whole = brief_engine()
        index(whole, log, 500)
        with engine.snapshot() as one, whole.snapshot() as other:
            assert sorted(one.states()) == sorted(other.states()), f"seed {seed}"


class WithoutPast(OpenSearchEngine):
    """An engine that is given no states that were replaced."""

    def apply(self, changes: DocumentChanges) -> None:
        super().apply(replace(changes, replaced=()))


def asked(random: Random) -> Iterator[EngineQuery]:
    """Searches of the present."""
    for words in ("order*", "customer id", "description:order", "columns.name:fact", "dim~ -box"):
        facet = Facet(Terms(name="f", field="columns.name.keyword", size=50))
        sort = random.choice((None, Sort("updatedAt")))
        yield EngineQuery(tree=text.parsed(words).node, size=50, facets=(facet,), sort=sort)


def fill(engine: SearchEngine, log: EventStore, cluster: Cluster, name: str) -> None:
    index(engine, log, 50)
    # Without what was replaced or deleted, which counts until it is merged away.
    cluster.request("POST", f"/{name}/_forcemerge", max_num_segments="1", seconds=60.0)
    cluster.request("POST", f"/{name}/_refresh")


def test_present_is_found_and_scored_as_without_a_past(
    opensearch: OpenSearchServer, cluster: Cluster
) -> None:
    answers: list[list[EngineHits]] = []
    with opened_log() as log, ExitStack() as opened:
        RandomHistory(log, Random(5)).grow(200)
        for kind in (OpenSearchEngine, WithoutPast):
            name = f"past-{uuid4().hex}"
            engine = opened.enter_context(closing(SharedIndex(opensearch, name).open(kind)))
            fill(engine, log, cluster, name)
            answers.append([engine.search(query) for query in asked(Random(5))])
            with engine.snapshot() as snapshot:
                states = sum(1 for _ in snapshot.states())
            assert (states > engine.count()) == (kind is OpenSearchEngine)
    assert answers[0] == answers[1]
    assert all(hits.total for hits in answers[0])
