"""Indexes of a cluster for tests, each of which is made once: making one takes as long as many
tests."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import pytest

from benchmarks.opensearch_server import OpenSearchServer
from domain.errors import StoreUnavailable
from projections.search.index.evaluate.object_search import ObjectSearch
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster
from projections.search.opensearch.commits import make
from projections.search.opensearch.engine import OpenSearchEngine
from tests.waiting import until

PATIENCE = 120.0
"""Seconds that a node may take for a look or a search in tests, or to have what was written."""


class SharedIndex:
    """An index that tests begin by emptying."""

    def __init__(self, server: OpenSearchServer, name: str) -> None:
        self._address = read_search_address(server.url)
        self._name = name
        cluster = Cluster(self._address)
        make(cluster, name)
        cluster.close()

    def open(
        self,
        form: type[OpenSearchEngine] = OpenSearchEngine,
        *,
        deadline: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> OpenSearchEngine:
        """Opens it for writing, as another process would."""
        cluster = Cluster(self._address)
        return form(
            cluster,
            self._name,
            search_objects=ObjectSearch,
            writable=True,
            deadline=deadline,
            clock=clock,
        )


@contextmanager
def patience() -> Iterator[None]:
    """A block in which a node may take long to answer, as it does on a machine that is busy.

    How soon the product gives up is tested with a listener that never answers.
    """
    with pytest.MonkeyPatch.context() as patched:
        for owner, bound in (
            (Cluster, "look_seconds"),
            (Cluster, "glance_seconds"),
            (OpenSearchEngine, "grace"),
        ):
            patched.setattr(owner, bound, PATIENCE)
        yield


def warm_up(server: OpenSearchServer) -> None:
    """Wait until a new node answers a search as soon as an engine asks for.

    Its first answer takes longer than an engine waits, where the machine is busy.
    """
    with closing(SharedIndex(server, "warm-up").open()) as engine:

        def answers() -> bool:
            with suppress(StoreUnavailable):
                engine.reset()
                return engine.checkpoint() == 0
            return False

        until(answers)
