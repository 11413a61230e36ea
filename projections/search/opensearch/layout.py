"""How the indexes of one catalog are named in a cluster."""

import re
from contextlib import suppress

from projections.search.opensearch import indexes
from projections.search.opensearch.cluster import Cluster, IndexMissing, NoDocument


class Generations:
    """The indexes that are generations of one projection, and the alias of the live one."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._alias = f"{cluster.address.prefix}-{name}"

    def index(self, number: int) -> str:
        """The index of a generation."""
        return f"{self._alias}-{number}"

    def sizes(self) -> dict[int, int]:
        """The generations of which there is an index -> bytes that it takes."""
        sizes = indexes.sizes(self._cluster, f"{self._alias}-*")
        known = {re.fullmatch(rf"{re.escape(self._alias)}-(\d+)", name): name for name in sizes}
        return {int(match[1]): sizes[name] for match, name in known.items() if match}

    def remove(self, number: int) -> None:
        """Deletes the index of a generation, if there is one."""
        indexes.remove(self._cluster, self.index(number))

    def point(self, number: int | None) -> None:
        """Has the alias name the index of a generation, or nothing, in one step.

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
