"""Keeps the generations of the search index in an OpenSearch cluster, each in an index of its own.

Pointer and proposal are records in an index beside them. An alias names the live generation, for
others who look into the cluster.
"""

import time
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import msgspec

from projections.generations import port
from projections.search.opensearch.cluster import Cluster, VersionConflict
from projections.search.opensearch.layout import Generations
from projections.search.opensearch.records import Records

LOOK_SECONDS = 0.5
"""How often the cluster is asked whether another process has replaced the pointer or proposal."""


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
        """Deletes the indexes of generations; raises StoreUnavailable."""
        for number in numbers:
            self._generations.remove(number)

    def point(self, pointer: port.Pointer, *, instead_of: Hashable | None) -> Hashable:
        """Replaces the pointer of a revision, then the alias.

        Raises Overtaken and StoreUnavailable.
        """
        revision = super().point(pointer, instead_of=instead_of)
        self._generations.point(None if pointer.live is None else pointer.live.number)
        return revision

    def renew(self) -> None:
        """Replaces the pointer by itself, for a process that takes the leadership.

        Whoever led before knows the revision that is gone now, and can replace the pointer no more.
        Raises Overtaken and StoreUnavailable.
        """
        self._records.forget(self.name)
        revision = self.pointer_revision()
        if revision is not None:
            self.point(self.pointer(), instead_of=revision)

    def withdraw(self, *, instead_of: Hashable) -> None:
        """Takes the proposal of a revision away; raises StoreUnavailable."""
        with suppress(VersionConflict):  # another one stays
            self._records.remove(self._names["proposal"], instead_of)

    @contextmanager
    def building(self) -> Iterator[None]:
        """Holds the lock of the builders; raises StoreUnavailable while another one does."""
        with self._building():
            # Whoever built before may have proposed something a moment ago.
            self._records.forget(self._names["proposal"])
            yield

    def _read(self, record: port.Record) -> str | None:
        return self._records.read(self._names[record])

    def _revision(self, record: port.Record) -> Hashable | None:
        """How often the cluster has replaced a record, as it was told a moment ago."""
        return self._records.revision(self._names[record])

    def _replace(
        self,
        record: port.Record,
        value: port.Pointer | port.Proposal,
        instead_of: Hashable | None,
    ) -> Hashable | None:
        text = msgspec.json.encode(value).decode()
        with suppress(VersionConflict):
            return self._records.write(self._names[record], text, instead_of)
        return None
