"""Search in an OpenSearch cluster: its definition, its generations, and which host feeds it.

Each generation is an index of its own. Pointer and proposal are records in an index beside them. An
alias names the live generation, for others who look into the cluster.
"""

import time
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress

import msgspec

from domain.event_store.port import EventStore
from projections.feeding.port import Progress
from projections.generations import port
from projections.generations.definition import Definition, code_digest
from projections.generations.port import ChangeCounter, Leadership
from projections.generations.shared_supervision import SharedSupervisor, Supervisor
from projections.generations.supervision import GenerationSupervisor
from projections.search import bulk_build
from projections.search import projection as search_projection
from projections.search.engine import SearchEngine
from projections.search.index.evaluate.object_search import ObjectSearch
from projections.search.opensearch import indexes, mapping
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster, IndexMissing, VersionConflict
from projections.search.opensearch.engine import OpenSearchEngine
from projections.search.opensearch.indexes import Generations
from projections.search.opensearch.records import Records
from projections.search.projection import SearchProjection
from projections.search.verification_source import sorted_entries
from projections.wiring.local_read_models import Backend, search_kinds

LOOK_SECONDS = 0.5
"""Seconds between two looks at the cluster for a replaced pointer or proposal."""


class ClusterGenerations(port.Generations):
    """The generations of one projection in a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        owner: str,
        building: Callable[[], AbstractContextManager[None]],
        *,
        look_seconds: float = LOOK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`owner` is the identity of the log: generations of another one are not touched.

        `building` gives the lock of the builders, among all processes that share the log.
        """
        self.name = name
        self._building = building
        self._generations = Generations(cluster, name)
        index = f"{cluster.address.prefix}-shelf"
        self._records = Records(cluster, index, owner, clock, look_seconds)
        self._names: dict[port.Record, str] = {"pointer": name, "proposal": f"{name}.next"}

    def address(self, number: int) -> str:
        """The name of a generation's index."""
        return self._generations.index(number)

    def numbers(self) -> list[int]:
        """The generations of which there is an index, ascending."""
        return sorted(self._generations.sizes())

    def size(self, number: int) -> int:
        """Bytes of the index of a generation, on all nodes."""
        return self._generations.sizes().get(number, 0)

    def remove(self, numbers: Collection[int]) -> None:
        """Delete the indexes of generations; raises StoreUnavailable."""
        for number in numbers:
            self._generations.remove(number)

    def point(self, pointer: port.Pointer, *, instead_of: Hashable | None) -> Hashable:
        """Replace the pointer of a revision, then the alias.

        Raises Overtaken and StoreUnavailable.
        """
        revision = super().point(pointer, instead_of=instead_of)
        self._generations.point(None if pointer.live is None else pointer.live.number)
        return revision

    def renew(self) -> None:
        """Replace the pointer by itself, for a process that takes the leadership.

        Whoever led before knows the revision that is gone now, and can replace the pointer no more.
        Raises Overtaken and StoreUnavailable.
        """
        self._records.forget(self.name)
        revision = self.pointer_revision()
        if revision is not None:
            self.point(self.pointer(), instead_of=revision)

    def withdraw(self, *, instead_of: Hashable) -> None:
        """Take the proposal of a revision away; raises StoreUnavailable."""
        with suppress(VersionConflict):  # another one stays
            self._records.remove(self._names["proposal"], instead_of)

    @contextmanager
    def building(self) -> Iterator[None]:
        """Hold the lock of the builders; raises StoreUnavailable while another one does."""
        with self._building():
            # Whoever built before may have proposed something a moment ago.
            self._records.forget(self._names["proposal"])
            yield

    def _read(self, record: port.Record) -> str | None:
        return self._records.read(self._names[record])

    def _revision(self, record: port.Record) -> Hashable | None:
        """Return the number of replacements of a record, as the cluster last told it."""
        return self._records.revision(self._names[record])

    def _replace(
        self,
        record: port.Record,
        value: port.Pointer | port.ProposedGeneration,
        instead_of: Hashable | None,
    ) -> Hashable | None:
        text = msgspec.json.encode(value).decode()
        with suppress(VersionConflict):
            return self._records.write(self._names[record], text, instead_of)
        return None


class SharedSearch(Backend[SearchEngine]):
    """The search index of a catalog in a cluster, opened by one process."""

    is_shared = True
    generations: ClusterGenerations

    def __init__(
        self,
        url: str,
        owner: str,
        leadership: Leadership,
        building: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`owner` is the identity of the log.

        Of the processes that feed the index from the log, one has the leadership, and one at a time
        that builds a generation the lock that `building` gives.

        Raises InvalidInput for what is no URL of a cluster. Nothing is asked of the cluster yet.
        """
        self._address = read_search_address(url)
        self._cluster = Cluster(self._address)
        generations = ClusterGenerations(self._cluster, SearchProjection.name, owner, building)
        self._feeds: dict[str, str] = {}
        """Address of a generation -> the alias by which this process has written to it last."""
        definition: Definition[SearchEngine] = Definition(
            name=SearchProjection.name,
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
        super().__init__(definition, generations, leadership)

    def supervisor(self, log: EventStore, changes: ChangeCounter | None = None) -> Supervisor:
        """Return the feeder of the index while this process leads; it waits for the cluster."""

        def take_over() -> GenerationSupervisor[SearchEngine]:
            self.generations.renew()
            return GenerationSupervisor(self.definition, self.generations, log)

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
        """Have nobody write to an index any more but who opens it now; returns the alias for that.

        Raises IndexMissing, StoreUnavailable, and Overtaken once when another process has taken
        over what this one wrote to before.
        """
        before = self._feeds.pop(address, None)
        self._feeds[address] = feed = indexes.take_over(self._cluster, address, before)
        return feed

    def _load(self, address: str, log: EventStore, progress: Progress) -> None:
        try:
            engine = self._open(address, True)
        except IndexMissing:
            # It is refused where another process has made one meanwhile.
            indexes.make(self._cluster, address)
            engine = self._open(address, True)
        with closing(engine):
            bulk_build.load(engine, log, progress)


def _go_on() -> None:
    """Nothing is to be done, and nothing ends the work."""
