"""Search in an OpenSearch cluster: the definition of its read model, its shelf, who feeds it."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from domain.event_store.port import EventStore
from projections.feeding.port import Damaged, Progress
from projections.generations.definition import Definition, KindReport, code_digest
from projections.generations.shared_supervision import Lead, SharedSupervisor
from projections.generations.supervision import GenerationSupervisor
from projections.search import bulk_build
from projections.search import projection as search_projection
from projections.search.engine import SearchEngine
from projections.search.opensearch import indexes, mapping
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster
from projections.search.opensearch.engine import OpenSearchEngine
from projections.search.projection import SearchProjection
from projections.search.verification_source import sorted_entries
from projections.search_shelf import SearchShelf


class SearchHome:
    """Where the search index of a catalog is in a cluster, opened by one process."""

    def __init__(
        self,
        url: str,
        directory: Path,
        owner: str,
        kinds: Callable[[SearchEngine], Mapping[str, KindReport]],
        lead: Lead,
    ) -> None:
        """`owner` is the identity of the log, `kinds` that of a Definition.

        Of the processes that feed the index from the log, one has the `lead`.

        Raises InvalidInput for what is no URL of a cluster. Nothing is asked of the cluster yet.
        """
        self._address = read_search_address(url)
        self._lead = lead
        self._cluster = Cluster(self._address)
        self.shelf = SearchShelf(self._cluster, SearchProjection.name, owner, directory)
        self.definition: Definition[SearchEngine] = Definition(
            name=SearchProjection.name,
            code=lambda: code_digest("opensearch", search_projection.VERSION, mapping.code()),
            open=self._open,
            check=lambda engine, go_on: engine.check(go_on),
            shut=lambda engine: engine.close(),
            # Its files are summed by the cluster.
            trusted=lambda address: True,
            watch=lambda engine: engine.check(_go_on),
            shows_commits_at_once=False,
            tells_when_superseded=False,
            projection=SearchProjection,
            source=sorted_entries,
            kinds=kinds,
            load=self._load,
            resumes=True,
            batch_size=5_000,
        )

    def supervisor(self, log: EventStore) -> SharedSupervisor[SearchEngine]:
        """What feeds the index while this process leads, and waits while the cluster is away."""

        def take_over() -> GenerationSupervisor[SearchEngine]:
            self.shelf.renew()
            return GenerationSupervisor(self.definition, self.shelf, log)

        return SharedSupervisor(
            self.definition.name,
            take_over,
            self._lead,
            keep=_go_on,
            waits=True,
        )

    def close(self) -> None:
        """Closes the connections; nothing may use the index afterwards."""
        self._lead.release()
        self._cluster.close()

    def _open(self, address: str, writable: bool) -> SearchEngine:
        engine = OpenSearchEngine(Cluster(self._address), address, writable=writable)
        try:
            engine.check(_go_on)
        except BaseException:
            engine.close()
            raise
        return engine

    def _load(self, address: str, log: EventStore, progress: Progress) -> None:
        try:
            engine = self._open(address, True)
        except Damaged:
            # There is none yet, or what an earlier load left was changed.
            with closing(Cluster(self._address)) as cluster:
                indexes.remove(cluster, address)
                indexes.make(cluster, address)
            engine = self._open(address, True)
        with closing(engine):
            bulk_build.load(engine, log, progress)


def _go_on() -> None:
    """Nothing is to be done, and nothing ends the work."""


class DirectoryLead:
    """The lead of the one process that projects a data directory, and has its ProjectorLock."""

    def take(self) -> bool:
        """True: no other process has the lock."""
        return True

    def leads(self) -> bool:
        """True, until the process ends."""
        return True

    def release(self) -> None:
        """Does nothing: the lock is left by who took it."""
