"""The indexes of a cluster, as whoever makes and removes them sees them."""

import re
from contextlib import suppress
from uuid import uuid4

from projections.feeding.port import Overtaken
from projections.search.opensearch.cluster import Cluster, IndexMissing, NoDocument
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


class Generations:
    """The indexes that are generations of one projection, and the alias of the live one."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._alias = f"{cluster.address.prefix}-{name}"

    def index(self, number: int) -> str:
        """The index of a generation."""
        return f"{self._alias}-{number}"

    def sizes(self) -> dict[int, int]:
        """The generations of which there is an index -> bytes that it takes on all nodes."""
        try:
            path = f"/_cat/indices/{self._alias}-*"
            rows = self._cluster.look(path, format="json", bytes="b", h="index,store.size")
        except IndexMissing:
            return {}
        sizes = {row["index"]: int(row["store.size"] or 0) for row in rows}
        known = {re.fullmatch(rf"{re.escape(self._alias)}-(\d+)", name): name for name in sizes}
        return {int(match[1]): sizes[name] for match, name in known.items() if match}

    def remove(self, number: int) -> None:
        """Delete the index of a generation, if there is one."""
        with suppress(IndexMissing):
            self._cluster.request("DELETE", f"/{self.index(number)}")

    def point(self, number: int | None) -> None:
        """Have the alias name the index of a generation, or nothing, in one step.

        It is for people and other programs that look into the cluster: whoever reads here goes by
        the pointer.
        """
        now: list[str] = []
        with suppress(IndexMissing, NoDocument):
            # Of our indexes alone: others may be none of our user's business.
            path = f"/{self._alias}-*/_alias/{self._alias}"
            now = list(self._cluster.request("GET", path))
        actions = [{"remove": {"index": name, "alias": self._alias}} for name in now]
        wanted: list[object] = [*actions]
        if number is not None and number in self.sizes():
            wanted.append({"add": {"index": self.index(number), "alias": self._alias}})
        if wanted:
            self._cluster.request("POST", "/_aliases", {"actions": wanted})
