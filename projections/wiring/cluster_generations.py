"""The generations of a read model in a search cluster: an index each.

The pointer and the proposal are records in an index beside them, each replaced as a whole; those
that another catalog has written are refused. An alias names the live generation, for people and
other programs that look into the cluster: whoever reads here goes by the pointer.
"""

import re
import time
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import msgspec

from domain.errors import StoreUnavailable
from projections.generations.port import Generations, Pointer, ProposedGeneration, Record
from projections.search.opensearch.cluster import (
    AlreadyThere,
    Cluster,
    IndexMissing,
    NoDocument,
    VersionConflict,
)

LOOK_SECONDS = 0.5
"""Seconds between two looks at the cluster for a replaced pointer or proposal."""
_SETTINGS = {"number_of_shards": 1, "auto_expand_replicas": "0-1"}


class ClusterGenerations(Generations):
    """The generations of one projection in a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        owner: str,
        building: Callable[[], AbstractContextManager[None]],
        *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """`owner` is the identity of the log: generations of another one are not touched.

        `building` gives the lock of the builders, among all processes that share the log.
        """
        self.name = name
        self._cluster = cluster
        self._owner = owner
        self._building = building
        self._look_seconds = look_seconds
        self._alias = f"{cluster.address.prefix}-{name}"
        self._shelf = f"/{cluster.address.prefix}-shelf"
        self._places: dict[Record, str] = {
            "pointer": f"{self._shelf}/_doc/{name}",
            "proposal": f"{self._shelf}/_doc/{name}.next",
        }
        self._seen: dict[Record, tuple[float, Hashable | None]] = {}
        """The revision of each record, and when it was asked for."""

    def address(self, number: int) -> str:
        """The name of a generation's index."""
        return f"{self._alias}-{number}"

    def numbers(self) -> list[int]:
        """The generations of which there is an index, ascending."""
        return sorted(self._sizes())

    def size(self, number: int) -> int:
        """Bytes of the index of a generation, on all nodes."""
        return self._sizes().get(number, 0)

    def _sizes(self) -> dict[int, int]:
        try:
            path = f"/_cat/indices/{self._alias}-*"
            rows = self._cluster.look(path, format="json", bytes="b", h="index,store.size")
        except IndexMissing:
            return {}
        sizes = {row["index"]: int(row["store.size"] or 0) for row in rows}
        known = {re.fullmatch(rf"{re.escape(self._alias)}-(\d+)", name): name for name in sizes}
        return {int(match[1]): sizes[name] for match, name in known.items() if match}

    def remove(self, numbers: Collection[int]) -> None:
        """Delete the indexes of generations; raises StoreUnavailable."""
        for number in numbers:
            with suppress(IndexMissing):
                self._cluster.request("DELETE", f"/{self.address(number)}")

    def point(self, pointer: Pointer, *, instead_of: Hashable | None) -> Hashable:
        """Replace the pointer of a revision, then have the alias name its index, in one step each.

        Raises Overtaken and StoreUnavailable.
        """
        revision = super().point(pointer, instead_of=instead_of)
        now: list[str] = []
        with suppress(IndexMissing, NoDocument):
            # Ask for our own indexes only: our user may have no right to see others.
            path = f"/{self._alias}-*/_alias/{self._alias}"
            now = list(self._cluster.request("GET", path))
        actions = [{"remove": {"index": name, "alias": self._alias}} for name in now]
        if pointer.live is not None and pointer.live.number in self._sizes():
            live = self.address(pointer.live.number)
            actions.append({"add": {"index": live, "alias": self._alias}})
        if actions:
            self._cluster.request("POST", "/_aliases", {"actions": actions})
        return revision

    def renew(self) -> None:
        """Replace the pointer by itself, for a process that takes the leadership.

        A process that led before knows only a revision that is gone now, and can no longer replace
        the pointer. Raises Overtaken and StoreUnavailable.
        """
        self._seen.pop("pointer", None)
        revision = self.revision("pointer")
        if revision is not None:
            self.point(self.pointer(), instead_of=revision)

    def withdraw(self, *, instead_of: Hashable) -> None:
        """Take the proposal of a revision away; raises StoreUnavailable."""
        self._seen.pop("proposal", None)
        if self._find("proposal") is not None:
            # A proposal that has replaced this one stays.
            with suppress(NoDocument, VersionConflict):
                self._cluster.request("DELETE", self._place("proposal", instead_of))

    @contextmanager
    def building(self) -> Iterator[None]:
        """Hold the lock of the builders; raises StoreUnavailable while another one does."""
        with self._building():
            # Whoever built before may have proposed something a moment ago.
            self._seen.pop("proposal", None)
            yield

    def _read(self, record: Record) -> str | None:
        document = self._find(record)
        return None if document is None else str(document["_source"]["text"])

    def revision(self, record: Record) -> Hashable | None:
        """Return the number of replacements of a record, as the cluster last told it.

        The cluster is asked once in `look_seconds`; what this process has replaced itself is known.
        """
        known, now = self._seen.get(record), time.monotonic()
        if known is not None and now - known[0] < self._look_seconds:
            return known[1]
        try:
            document = self._own(self._cluster.glance, record)
        except StoreUnavailable:
            if known is None:
                raise
            # Readers by the known record find out themselves what the cluster cannot do.
            self._seen[record] = now, known[1]
            return known[1]
        if self._seen.get(record) is not known:
            return self.revision(record)  # it was replaced here while the cluster answered
        revision = None if document is None else (document["_seq_no"], document["_primary_term"])
        self._seen[record] = now, revision
        return revision

    def _replace(
        self, record: Record, value: Pointer | ProposedGeneration, instead_of: Hashable | None
    ) -> Hashable | None:
        self._find(record)  # not another's
        self._seen.pop(record, None)
        with suppress(AlreadyThere):
            body = {"settings": _SETTINGS, "mappings": {"dynamic": False}}
            self._cluster.request("PUT", self._shelf, body)
        document = {"text": msgspec.json.encode(value).decode(), "owner": self._owner}
        try:
            written = self._cluster.request("PUT", self._place(record, instead_of), document)
        except VersionConflict:
            return None
        revision = written["_seq_no"], written["_primary_term"]
        self._seen[record] = time.monotonic(), revision
        return revision

    def _place(self, record: Record, revision: Hashable | None) -> str:
        """The path of a request that succeeds only while a record has this revision (None: no
        record)."""
        if revision is None:
            return f"{self._places[record]}?op_type=create"
        assert isinstance(revision, tuple)
        number, term = revision
        return f"{self._places[record]}?if_seq_no={number}&if_primary_term={term}"

    def _find(self, record: Record) -> Any:
        return self._own(self._cluster.look, record)

    def _own(self, look: Callable[[str], Any], record: Record) -> Any:
        """A record, None where there is none; raises StoreUnavailable for another owner's."""
        try:
            document = look(self._places[record])
        except (IndexMissing, NoDocument):
            return None
        if document["_source"]["owner"] != self._owner:
            raise StoreUnavailable(
                f"the indexes {self._cluster.address.prefix}-... of the search cluster are of"
                " another catalog: name others by the path of CATALOG_SEARCH_URL"
            )
        return document
