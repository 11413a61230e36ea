"""The indexes of a cluster, as whoever makes and removes them sees them."""

from uuid import uuid4

from projections.feeding.port import Overtaken
from projections.search.opensearch.cluster import Cluster, IndexMissing
from projections.search.opensearch.mapping import mappings, settings
from projections.search.opensearch.rows import Lines

_FEED = "-feed"


def feed(index: str) -> str:
    """The alias that an index is written by until somebody takes it over.

    It goes with its index: what is written to an index that somebody deleted is refused then, where
    the cluster would make another one, with fields of its own choice.
    """
    return index + _FEED


def take_over(cluster: Cluster, index: str, before: str | None = None) -> str:
    """Give an index another alias to be written by, which is returned, and take the others away.

    Whatever is still to be written by those is refused from then on. With `before`, an alias that
    this process has had, the index is only taken over from that.

    Raises IndexMissing when the index is not there, Overtaken when `before` is not there any more,
    and StoreUnavailable.
    """
    own = f"{feed(index)}-{uuid4().hex}"
    former: dict[str, object] = {"index": index, "alias": f"{feed(index)}*"}
    if before is not None:
        former |= {"alias": before, "must_exist": True}
    actions = [{"add": {"index": index, "alias": own}}, {"remove": former}]
    try:
        cluster.request("POST", "/_aliases", {"actions": actions})
    except IndexMissing:
        if before is None:
            raise
        raise Overtaken(f"another process writes to {index}") from None
    return own


def make(cluster: Cluster, index: str) -> None:
    """Make an index without documents, at checkpoint 0; raises StoreUnavailable."""
    body = {"settings": settings(), "mappings": mappings(), "aliases": {feed(index): {}}}
    cluster.request("PUT", f"/{index}", body, wait_for_active_shards="1")
    line = new_life().checkpoint(0, "")
    cluster.request("POST", f"/{feed(index)}/_bulk", line, require_alias="true", refresh="true")


def new_life() -> Lines:
    """The lines for an index that begins anew."""
    return Lines(uuid4().hex)
