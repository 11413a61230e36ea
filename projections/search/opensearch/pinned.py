"""One state of an index, which the cluster keeps while it is read: a point in time."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import msgspec

from domain.errors import StoreUnavailable
from domain.reading.horizon import Horizon
from projections.feeding.port import Checkpoint, Damaged
from projections.search.documents.documents import HOLDS_STILL
from projections.search.engine import SearchedPaths, StateEntry
from projections.search.opensearch import pages
from projections.search.opensearch.cluster import Cluster, reason_of
from projections.search.opensearch.mapping import DIGEST_PARTS, EVER, MAX_WINDOW

_KEPT = "5m"
"""Time for which a state is kept after it was read last."""
_KINDS = 1_000
_MODULUS = 1 << 64


class Committed(NamedTuple):
    """A commit's account of itself."""

    checkpoint: Checkpoint
    life: str
    """The life of the index, see `rows.Lines`."""
    searched: SearchedPaths
    horizon: Horizon


@contextmanager
def pinned(cluster: Cluster, index: str) -> Iterator["Pinned"]:
    """One commit of an index, which stays as it is when later ones follow."""
    path = f"/{index}/_search/point_in_time"
    kept = cluster.request("POST", path, keep_alive=_KEPT)["pit_id"]

    def search(body: Mapping[str, Any]) -> Any:
        pit = {"id": kept, "keep_alive": _KEPT}
        response = cluster.request("POST", "/_search", {**body, "pit": pit})
        check_shards(response)
        return response

    try:
        yield Pinned(search, read_checkpoint(search))
    finally:
        with suppress(StoreUnavailable):  # the cluster lets go of it by itself
            path = "/_search/point_in_time"
            cluster.request("DELETE", path, {"pit_id": [kept]}, seconds=cluster.look_seconds)


class Pinned:
    """One commit of an index, as `pinned` has the cluster keep it."""

    def __init__(self, search: Callable[[dict[str, Any]], Any], committed: Committed) -> None:
        """`search` gives the answer to a search of this commit."""
        self._search = search
        self.checkpoint, self.searched = committed.checkpoint, committed.searched
        self.horizon = committed.horizon

    def digests(self) -> dict[str, tuple[int, int]]:
        """Kind -> number of its documents and sum of their digests modulo 2**64."""
        parts = range(DIGEST_PARTS)
        sums = {str(part): {"sum": {"field": f"digest{part}"}} for part in parts}
        kinds = {"terms": {"field": "kind", "size": _KINDS}, "aggs": sums}
        response = self._search({"size": 0, "track_total_hits": False, "aggs": {"kinds": kinds}})
        # Sums of 16 bits each are exact in floating point for half a million million documents.
        return {
            bucket["key"]: (
                bucket["doc_count"],
                sum(int(bucket[str(part)]["value"]) << 16 * part for part in parts) % _MODULUS,
            )
            for bucket in response["aggregations"]["kinds"]["buckets"]
        }

    def entries(self) -> Iterator[tuple[str, str, int]]:
        """Id, kind and digest of every document, in order of id."""
        for hit in self._hits("kind"):
            row = pages.row_of(hit)
            yield row.id, row.kind, row.digest

    def states(self) -> Iterator[StateEntry]:
        """Every state that the index has a document of, in order of id and time."""
        for hit in self._hits(EVER["kind"], docvalue_fields=["since", "until"]):
            row, fields = pages.row_of(hit), hit["fields"]
            (since,), (until,) = fields["since"], fields.get("until", (HOLDS_STILL,))
            yield StateEntry(row.id, row.kind, row.digest, since, until)

    def _hits(self, field: str, **more: Any) -> Iterator[Mapping[str, Any]]:
        """All documents that have a field, in order of id and time."""
        body: dict[str, Any] = {
            "query": {"exists": {"field": field}},
            "sort": [{"id": "asc"}, {"since": "asc"}],
            "size": MAX_WINDOW,
            "track_total_hits": False,
            **pages.ROW,
            **more,
        }
        while hits := self._search(body)["hits"]["hits"]:
            yield from hits
            body["search_after"] = hits[-1]["sort"]


def read_checkpoint(search: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Committed:
    """The checkpoint of an index; raises Damaged where there is none."""
    body = {
        "query": {"exists": {"field": "position"}},
        "size": 2,
        "track_total_hits": False,
        "_source": False,
        "stored_fields": ["fingerprint", "searched", "horizon"],
        "docvalue_fields": ["position", "life"],
    }
    hits = search(body)["hits"]["hits"]
    if len(hits) != 1:
        raise Damaged("the search index has no checkpoint")
    fields = hits[0]["fields"]
    return Committed(
        (int(fields["position"][0]), fields["fingerprint"][0]),
        fields["life"][0],
        msgspec.json.decode(fields["searched"][0], type=SearchedPaths),
        msgspec.json.decode(fields["horizon"][0], type=Horizon),
    )


def check_shards(response: Mapping[str, Any]) -> None:
    """Raise StoreUnavailable unless every shard answered."""
    shards = response["_shards"]
    if shards["failed"]:
        failures = shards.get("failures") or [{}]
        why = reason_of(failures[0].get("reason", "a shard is missing"))
        raise StoreUnavailable(f"a part of the search index cannot be searched: {why}")
