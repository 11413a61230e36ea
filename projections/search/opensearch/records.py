"""Small records in an index of the cluster, each replaced as a whole."""

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

from domain.errors import StoreUnavailable
from projections.search.opensearch.cluster import (
    AlreadyThere,
    Cluster,
    IndexMissing,
    NoDocument,
)

_SETTINGS = {"number_of_shards": 1, "auto_expand_replicas": "0-1"}


class Records:
    """Records of one owner by their names; what another owner has written is refused."""

    def __init__(
        self, cluster: Cluster, index: str, owner: str, clock: Callable[[], float], seconds: float
    ) -> None:
        """Revisions are asked for once in so many seconds of the clock, but for one's own."""
        self._cluster = cluster
        self._index = index
        self._owner = owner
        self._clock = clock
        self._seconds = seconds
        self._seen: dict[str, tuple[float, Hashable | None]] = {}

    def read(self, name: str) -> str | None:
        """The text of a record, None where there is none; raises StoreUnavailable."""
        record = self._find(name)
        return None if record is None else str(record["_source"]["text"])

    def revision(self, name: str) -> Hashable | None:
        """A value that differs once a record was replaced; None while there is none."""
        known = self._seen.get(name)
        now = self._clock()
        if known is not None and now - known[0] < self._seconds:
            return known[1]
        try:
            record = self._own(self._cluster.glance, name)
        except StoreUnavailable:
            if known is None:
                raise
            # Whoever reads by what was known finds out what the cluster cannot do.
            self._seen[name] = now, known[1]
            return known[1]
        if self._seen.get(name) is not known:
            return self.revision(name)  # it was replaced here while the cluster answered
        revision = None if record is None else (record["_seq_no"], record["_primary_term"])
        self._seen[name] = now, revision
        return revision

    def forget(self, name: str) -> None:
        """Have the revision of a record asked for the next time, however old what is known is."""
        self._seen.pop(name, None)

    def write(self, name: str, text: str, instead_of: Hashable | None) -> Hashable:
        """Replace the record of a revision (None: that there is none); returns the new revision.

        Raises VersionConflict, having changed nothing, when the record has another one by now, and
        StoreUnavailable.
        """
        self._find(name)  # not another's
        self.forget(name)
        with suppress(AlreadyThere):
            body = {"settings": _SETTINGS, "mappings": {"dynamic": False}}
            self._cluster.request("PUT", f"/{self._index}", body)
        record = {"text": text, "owner": self._owner}
        path = f"/{self._index}/_doc/{name}?{_at(instead_of)}"
        written = self._cluster.request("PUT", path, record)
        revision = written["_seq_no"], written["_primary_term"]
        self._seen[name] = self._clock(), revision
        return revision

    def remove(self, name: str, instead_of: Hashable) -> None:
        """Take the record of a revision away; raises as `write` does."""
        self.forget(name)
        if self._find(name) is not None:
            with suppress(NoDocument):
                path = f"/{self._index}/_doc/{name}?{_at(instead_of)}"
                self._cluster.request("DELETE", path)

    def _find(self, name: str) -> Any:
        return self._own(self._cluster.look, name)

    def _own(self, look: Callable[[str], Any], name: str) -> Any:
        """A record, None where there is none; raises StoreUnavailable for another owner's."""
        try:
            record = look(f"/{self._index}/_doc/{name}")
        except (IndexMissing, NoDocument):
            return None
        if record["_source"]["owner"] != self._owner:
            raise StoreUnavailable(
                f"the indexes {self._cluster.address.prefix}-... of the search cluster are of"
                " another catalog: name others by the path of CATALOG_SEARCH_URL"
            )
        return record


def _at(revision: Hashable | None) -> str:
    """The query of a request that is for the record of a revision, or for where none is."""
    if revision is None:
        return "op_type=create"
    assert isinstance(revision, tuple)
    number, term = revision
    return f"if_seq_no={number}&if_primary_term={term}"
