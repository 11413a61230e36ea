"""Keeps the generations of the search index in an OpenSearch cluster, each in an index of its own.

Pointer and proposal are records in an index beside them. An alias names the live generation, for
others who look into the cluster.
"""

import time
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeVar

import msgspec

from projections.generations.port import Pointer, Proposal, overtaken
from projections.search.opensearch.cluster import Cluster, VersionConflict
from projections.search.opensearch.indexes import Generations
from projections.search.opensearch.records import Records

S = TypeVar("S", bound=msgspec.Struct)
LOOK_SECONDS = 0.5
"""How often the cluster is asked whether another process has replaced the pointer or proposal."""


class ClusterGenerations:
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
        self._proposal = f"{name}.next"

    def address(self, number: int) -> str:
        """The name of a generation's index."""
        return self._generations.index(number)

    def numbers(self) -> list[int]:
        """The generations of which there is an index, ascending."""
        return sorted(self._generations.sizes())

    def holds(self, number: int) -> bool:
        """Whether the index of a generation is there."""
        return number in self._generations.sizes()

    def size(self, number: int) -> int:
        """Bytes of the index of a generation, on all nodes."""
        return self._generations.sizes().get(number, 0)

    def remove(self, numbers: Collection[int]) -> None:
        """Deletes the indexes of generations; raises StoreUnavailable."""
        for number in numbers:
            self._generations.remove(number)

    def pointer(self) -> Pointer:
        """The pointer as it is now; one that cannot be read points at nothing."""
        try:
            return self._read(self.name, Pointer) or Pointer()
        except msgspec.MsgspecError as error:
            return Pointer(refused=f"the pointer of {self.name} cannot be read: {error}")

    def pointer_revision(self) -> Hashable | None:
        """How often the cluster has replaced the pointer, as it was told a moment ago."""
        return self._records.revision(self.name)

    def point(self, pointer: Pointer, *, instead_of: Hashable | None) -> Hashable:
        """Replaces the pointer of a revision, then the alias.

        Raises Overtaken and StoreUnavailable.
        """
        revision = self._write(self.name, pointer, instead_of)
        self._generations.point(None if pointer.live is None else pointer.live.number)
        return revision

    def renew(self) -> None:
        """Replaces the pointer by itself, for a process that takes the leadership.

        Whoever led before knows the revision that is gone now, and can replace the pointer no more.
        Raises Overtaken and StoreUnavailable.
        """
        self._records.forget(self.name)
        revision = self._records.revision(self.name)
        if revision is not None:
            self.point(self.pointer(), instead_of=revision)

    def proposal(self) -> Proposal | None:
        """What is proposed; None when nothing is, or nothing readable."""
        try:
            return self._read(self._proposal, Proposal)
        except msgspec.MsgspecError:
            return None

    def proposal_revision(self) -> Hashable | None:
        """How often the cluster has replaced the proposal, as it was told a moment ago."""
        return self._records.revision(self._proposal)

    def propose(self, proposal: Proposal, *, instead_of: Hashable | None) -> Hashable:
        """Replaces the proposal of a revision; raises Overtaken and StoreUnavailable."""
        return self._write(self._proposal, proposal, instead_of)

    def withdraw(self, *, instead_of: Hashable) -> None:
        """Takes the proposal of a revision away; raises StoreUnavailable."""
        with suppress(VersionConflict):  # another one stays
            self._records.remove(self._proposal, instead_of)

    @contextmanager
    def building(self) -> Iterator[None]:
        """Holds the lock of the builders; raises StoreUnavailable while another one does."""
        with self._building():
            # Whoever built before may have proposed something a moment ago.
            self._records.forget(self._proposal)
            yield

    def _write(self, name: str, value: msgspec.Struct, instead_of: Hashable | None) -> Hashable:
        try:
            return self._records.write(name, msgspec.json.encode(value).decode(), instead_of)
        except VersionConflict:
            raise overtaken(name) from None

    def _read(self, name: str, form: type[S]) -> S | None:
        text = self._records.read(name)
        return None if text is None else msgspec.json.decode(text, type=form)
