"""Makes indexes, and commits to them: documents first, then the checkpoint, shown together.

Each document has the log position as its version, and an older one never replaces a newer one. So
what is sent twice changes nothing, by whichever process: a commit that failed in part is sent again
as a whole. The states that it replaces are sent with it, and their documents never change. Nothing
is shown to searches before all of a commit is there, but for what an interrupted one has sent,
which the next one may show where it purges or forgets. All of a commit is kept by the cluster, by
its own log of operations, before `apply` returns.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from uuid import uuid4

from domain.errors import StoreUnavailable
from domain.reading.horizon import Horizon
from projections.feeding.port import Overtaken, moved_on
from projections.search.engine import DocumentChanges
from projections.search.opensearch.cluster import (
    Cluster,
    IndexMissing,
    Json,
    VersionConflict,
    reason_of,
)
from projections.search.opensearch.mapping import MAX_TERMS, mappings, settings
from projections.search.opensearch.pinned import Committed
from projections.search.opensearch.rows import Lines

REQUEST_BYTES = 4_000_000
"""Bytes of documents that are sent together; the last one may go beyond."""
_HELD_BYTES = 16_000_000
"""Bytes of lines that are kept in memory before they are sent; what is more is kept on disk."""
_RESET_SECONDS = 600.0
_BULK_SECONDS = 120.0
_FEED = "-feed"
_BEYOND = "another process has projected beyond this commit already"
_CONFLICT = 409
_GONE = 404


def feed(index: str) -> str:
    """The alias that an index is written by until somebody takes it over.

    Deleting the index deletes the alias, so that later writes are refused. A write by the index's
    own name would make the cluster create another index, with fields of its own choice.
    """
    return index + _FEED


def take_over(cluster: Cluster, index: str, before: str | None = None) -> str:
    """Give an index a new alias to be written by, remove the others, and return the new one.

    Writes by the removed aliases are refused from then on. With `before`, an alias that this
    process has had, the index is only taken over from that alias.

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


class Commits:
    """Writes to one index."""

    def __init__(
        self, cluster: Cluster, index: str, feed: str, newest: Callable[[], Committed]
    ) -> None:
        """`feed` is the alias that the index is written by, which is gone once another process has
        taken the index over; `newest` asks for the newest commit that searches see."""
        self._cluster = cluster
        self._index = index
        self._feed = feed
        self._newest = newest

    def apply(self, changes: DocumentChanges) -> None:
        """Commit documents with a checkpoint; see the port of engines.

        A cluster compares nothing in one step with the writing of many documents: `after` is
        compared before, and whoever is overtaken from then on writes nothing over what is newer.
        """
        newest, made = self._going_on()
        position = changes.position
        if newest.checkpoint != changes.after:
            raise moved_on("search index", changes.after)
        removed: list[str] = []
        # All are made before any is sent: one that cannot be made must leave nothing behind.
        with tempfile.SpooledTemporaryFile(_HELD_BYTES) as lines:
            sizes = []
            for entity_id, document in changes.documents.items():
                if document is None:
                    removed.append(entity_id)
                    line = made.delete(entity_id, position)
                else:
                    line = made.index(document, position)
                sizes.append(len(line))
                lines.write(line)
            lines.seek(0)
            self._remove_past(removed)
            # Documents of replaced states may be many, so they are sent as they are made. Those
            # that are left behind, when another one cannot be made, the commit sends again.
            for body in _bodies(made.replaced(each, position) for each in changes.replaced):
                self._send(body)
            for body in _bodies(lines.read(size) for size in sizes):
                self._send(body)
        kept = newest.searched if changes.searched is None else changes.searched
        self._finish(made.checkpoint(position, changes.fingerprint, kept, newest.horizon))

    def forget(self, horizon: Horizon) -> bool:
        """Remove the documents of states that were replaced up to a horizon; see the port."""
        newest, made = self._going_on()
        if horizon.position <= newest.horizon.position:
            return False
        self._delete({"range": {"until": {"lte": horizon.position}}})
        self._finish(made.checkpoint(*newest.checkpoint, newest.searched, horizon))
        return True

    def _going_on(self) -> tuple[Committed, Lines]:
        """The newest commit, and what makes the lines of the one after it.

        Raises VersionConflict once if its writer has died before it was shown. The next commit must
        go on from that one, which may have purged documents that would come back.
        """
        newest = self._newest()
        made = Lines(newest.life)
        path = f"/{self._index}/_doc/{made.checkpoint_id}"
        sent = self._cluster.look(path, _source="false")
        if made.position(sent["_version"]) > newest.checkpoint[0]:
            self._show()
            raise VersionConflict(_BEYOND)
        return newest, made

    def _finish(self, checkpoint: bytes) -> None:
        """Send the checkpoint of a commit, and show all of it."""
        if self._send(checkpoint):
            raise VersionConflict(_BEYOND)
        self._show()

    def reset(self) -> None:
        """Forget all documents and the checkpoint."""
        self._show()
        self._delete({"match_all": {}}, conflicts="proceed")
        self._send(new_life().checkpoint(0, ""))
        self._show()

    def _remove_past(self, ids: Sequence[str]) -> None:
        """Remove the documents of the replaced states of entities, from the next commit on."""
        if ids:
            # Otherwise the deletion would miss documents that an interrupted commit has sent.
            self._show()
        for start in range(0, len(ids), MAX_TERMS):
            some = {"terms": {"id": ids[start : start + MAX_TERMS]}}
            self._delete({"bool": {"filter": [some, {"exists": {"field": "until"}}]}})

    def _delete(self, query: Json, **parameters: str) -> None:
        """Delete the documents of a query that searches see."""
        try:
            self._cluster.request(
                "POST",
                f"/{self._feed}/_delete_by_query",
                {"query": query},
                seconds=_RESET_SECONDS,
                **parameters,
            )
        except IndexMissing:
            raise self._overtaken() from None

    def _show(self) -> None:
        """Show all that was written to searches, at once."""
        response = self._cluster.request("POST", f"/{self._index}/_refresh")
        if response["_shards"]["failed"]:
            raise StoreUnavailable("not every copy of the search index shows its newest commit")

    def _send(self, body: bytes) -> int:
        """Send some lines; returns how many of them are older than what the index has."""
        response = self._cluster.request(
            "POST",
            f"/{self._feed}/_bulk",
            body,
            seconds=_BULK_SECONDS,
            require_alias="true",
        )
        older = 0
        for item in response["items"] if response["errors"] else ():
            (result,) = item.values()
            status = result["status"]
            if status == _CONFLICT:
                older += 1
            elif "error" in result and status == _GONE:
                raise self._overtaken()
            elif "error" in result:
                raise StoreUnavailable(
                    f"the search index cannot be written: {reason_of(result['error'])}"
                )
        return older

    def _overtaken(self) -> Overtaken:
        """The error of who writes by an alias that is gone."""
        return Overtaken(f"another process writes to {self._index}, or has removed it")


def _bodies(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of several documents at a time."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= REQUEST_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)
