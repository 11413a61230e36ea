"""A cluster that takes connections and never answers: how long each kind of question waits for it.

What is held is the bound that the refusal names: the client takes exactly that long to give up.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from projections.generations.folder import build_lock
from projections.search.engine import EngineQuery
from projections.search.index.evaluate.object_search import ObjectSearch
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster
from projections.search.opensearch.engine import OpenSearchEngine
from projections.search.tree import MatchAll
from projections.wiring.cluster_generations import ClusterGenerations

LOOK, GLANCE, SEARCH = 0.1, 0.2, 0.3


@pytest.fixture
def hung() -> Iterator[Cluster]:
    """Behind a listener whose connections the system takes, and nobody reads."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = read_search_address(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with closing(Cluster(address)) as cluster:
            cluster.look_seconds, cluster.glance_seconds = LOOK, GLANCE
            yield cluster


@pytest.mark.parametrize(
    ("ask", "seconds"),
    [
        (ClusterGenerations.numbers, LOOK),
        (ClusterGenerations.pointer, LOOK),
        (ClusterGenerations.proposal, LOOK),
        (lambda generations: generations.revision("pointer"), GLANCE),
        (lambda generations: generations.revision("proposal"), GLANCE),
    ],
)
def test_shelf_gives_up_soon(
    hung: Cluster,
    tmp_path: Path,
    ask: Callable[[ClusterGenerations], object],
    seconds: float,
) -> None:
    generations = ClusterGenerations(hung, "search", "log", partial(build_lock, tmp_path, "search"))
    with pytest.raises(StoreUnavailable, match=f"did not answer within {seconds} s"):
        ask(generations)


@pytest.mark.parametrize(
    ("ask", "seconds"),
    [
        (OpenSearchEngine.checkpoint, LOOK),
        (OpenSearchEngine.count, LOOK),
        (lambda engine: engine.check(lambda: None), LOOK),
        (lambda engine: engine.search(EngineQuery(tree=MatchAll())), SEARCH),
    ],
    ids=["checkpoint", "count", "check", "search"],
)
def test_engine_gives_up_soon(
    hung: Cluster, ask: Callable[[OpenSearchEngine], object], seconds: float
) -> None:
    clock = [0.0]
    engine = OpenSearchEngine(
        hung,
        "index",
        search_objects=ObjectSearch,
        writable=False,
        deadline=1e-9,
        clock=lambda: clock[0],
    )
    engine.grace = SEARCH
    with pytest.raises(StoreUnavailable, match=f"within {seconds} s"):
        ask(engine)
