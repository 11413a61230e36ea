"""The port of search engines: documents in with a checkpoint, one query at a time out."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from projections.search.documents import SearchDocument, SortValue
from projections.search.objects import ReadObjects
from projections.search.tree import Node

TOTAL_CAP = 10_000
"""Where the total may stop when the exact one is not asked for."""

SCORE = "_score"


class Sort(msgspec.Struct, frozen=True):
    """Order by a sortable path or by `_score`; ties by name, then id, missing values last."""

    field: str
    descending: bool = False


class EngineQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A search as an engine carries it out."""

    tree: Node
    filter: Node | None = None
    """Restricts without counting towards the score."""
    post_filter: Node | None = None
    kinds: frozenset[str] | None = None
    """None means all."""
    include_deleted: bool = False
    sort: Sort | None = None
    """None orders by score, the best first."""
    offset: int = 0
    size: int = 10
    search_after: tuple[SortValue, ...] | None = None
    """Sort values of the hit after which the page begins."""
    exact_total: bool = True


class EngineHit(msgspec.Struct, frozen=True):
    """One document found."""

    id: str
    kind: str
    score: float | None
    """None when the order is not by score."""
    sort: tuple[SortValue, ...]
    """The value sorted by, the name and the id."""


class EngineHits(msgspec.Struct, frozen=True, kw_only=True):
    """A page of documents found."""

    total: int
    relation: Literal["eq", "gte"]
    hits: tuple[EngineHit, ...]
    max_score: float | None
    timed_out: bool = False
    """Whether the deadline came first: the hits and the total are what was found by then."""


class IndexSnapshot(Protocol):
    """One commit of an index, whatever is committed after it."""

    @property
    def position(self) -> int:
        """Its checkpoint."""

    @property
    def mark(self) -> str:
        """The mark committed with it."""

    def digests(self) -> Mapping[str, tuple[int, int]]:
        """Kind -> number of documents and sum of their digests modulo 2**64, as kept."""

    def entries(self) -> Iterator[tuple[str, str, int]]:
        """Id, kind and digest of every document, in any order."""


class SearchEngine(Protocol):
    """An index of search documents.

    Reads may come from any thread, also while another thread or process commits, and see whole
    commits only.
    """

    rebuild_reason: str | None
    """Why an index that was there was replaced by an empty one when it was opened."""

    def checkpoint(self) -> int:
        """The log position committed with the documents; 0 when there are none."""

    def anchor(self) -> tuple[int, str]:
        """The checkpoint and the mark committed with it."""

    def apply(
        self, documents: Mapping[str, SearchDocument | None], position: int, mark: str = ""
    ) -> None:
        """Replace, add or (None) remove documents by id; commit them with position and mark.

        Raises StoreUnavailable when nothing was committed.
        """

    def search(self, query: EngineQuery, read_objects: ReadObjects | None = None) -> EngineHits:
        """The documents found; InvalidInput for what the engine cannot do.

        Nested queries with several conditions need `read_objects`.
        """

    def snapshot(self) -> AbstractContextManager[IndexSnapshot]:
        """The newest commit, kept readable until the block ends; raises StoreUnavailable."""

    def count(self) -> int:
        """How many documents there are, soft-deleted ones included."""

    def compact(self) -> None:
        """Bring the index into the form that is searched fastest, as after a rebuild.

        Takes a while; commits and searches go on meanwhile. Raises StoreUnavailable.
        """

    def reset(self) -> None:
        """Forget all documents; the checkpoint becomes 0."""

    def close(self) -> None:
        """Release files."""
