"""Search in an OpenSearch cluster: its definition, and which host feeds it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, closing

from domain.event_store.port import EventStore
from projections.feeding.port import Progress
from projections.generations.definition import Definition, code_digest
from projections.generations.port import ChangeCounter, Leadership
from projections.generations.shared_supervision import SharedSupervisor, Supervisor
from projections.generations.supervision import GenerationSupervisor
from projections.search import bulk_build
from projections.search import projection as search_projection
from projections.search.engine import SearchEngine
from projections.search.index.evaluate.object_search import ObjectSearch
from projections.search.opensearch import commits, mapping
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster, IndexMissing
from projections.search.opensearch.engine import OpenSearchEngine
from projections.search.projection import SearchProjection
from projections.search.verification_source import sorted_entries
from projections.wiring.cluster_generations import ClusterGenerations
from projections.wiring.local_read_models import Backend, search_kinds


class SharedSearch(Backend[SearchEngine]):
    """The search index of a catalog in a cluster, opened by one process."""

    is_shared = True

    def __init__(
        self,
        url: str,
        owner: str,
        leadership: Leadership,
        building: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`owner` is the identity of the log.

        One of the processes that feed the index has the `leadership`. One process at a time builds
        a generation, under the lock that `building` gives.

        Raises InvalidInput for what is no URL of a cluster. Nothing is asked of the cluster yet.
        """
        self._address = read_search_address(url)
        self._cluster = Cluster(self._address)
        self._generations = ClusterGenerations(
            self._cluster, SearchProjection.name, owner, building
        )
        self._feeds: dict[str, str] = {}
        """Address of a generation -> the alias by which this process has written to it last."""
        definition: Definition[SearchEngine] = Definition(
            name=SearchProjection.name,
            generations=self._generations,
            code=lambda: code_digest("opensearch", search_projection.VERSION, mapping.code()),
            open=self._open,
            check=lambda engine, go_on: engine.check(go_on),
            watch=lambda engine: engine.check(_go_on),
            shows_commits_at_once=False,
            projection=SearchProjection,
            source=sorted_entries,
            kinds=search_kinds,
            load=self._load,
            resumes=True,
        )
        super().__init__(definition, leadership)

    def supervisor(self, log: EventStore, changes: ChangeCounter | None = None) -> Supervisor:
        """Return the feeder of the index while this process leads; it waits for the cluster."""

        def take_over() -> GenerationSupervisor[SearchEngine]:
            self._generations.renew()
            return GenerationSupervisor(self.definition, log)

        return SharedSupervisor(
            self.definition.name, take_over, self.leadership, keep=_go_on, waits=True
        )

    def close(self) -> None:
        """Close the connections; nothing may use the index afterwards."""
        self.leadership.release()
        self._cluster.close()

    def _open(self, address: str, writable: bool) -> SearchEngine:
        feed = self._take_over(address) if writable else None
        engine = OpenSearchEngine(
            Cluster(self._address),
            address,
            search_objects=ObjectSearch,
            writable=writable,
            feed=feed,
        )
        try:
            engine.check(_go_on)
        except BaseException:
            engine.close()
            raise
        return engine

    def _take_over(self, address: str) -> str:
        """Make this process the only one that writes to an index; returns the alias to write by.

        Raises IndexMissing, StoreUnavailable, and Overtaken once when another process has taken
        over what this one wrote to before.
        """
        before = self._feeds.pop(address, None)
        self._feeds[address] = feed = commits.take_over(self._cluster, address, before)
        return feed

    def _load(self, address: str, log: EventStore, progress: Progress) -> None:
        try:
            engine = self._open(address, True)
        except IndexMissing:
            # The cluster refuses this if another process has made the index meanwhile.
            commits.make(self._cluster, address)
            engine = self._open(address, True)
        with closing(engine):
            bulk_build.load(engine, log, progress)


def _go_on() -> None:
    """Let a long piece of work go on: do nothing."""
