"""The port of search engines: documents in with a checkpoint, one query at a time out.

Promises of engines are held by `tests/contracts/test_search_engine*.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import msgspec
from msgspec import structs

from domain.errors import StoreUnavailable
from domain.reading.horizon import Horizon
from projections.feeding.port import Checkpoint
from projections.search.aggregations import Aggregation, TopHits
from projections.search.documents.documents import SearchDocument, SortValue
from projections.search.documents.sources import ReadObjects
from projections.search.tree import Node

TOTAL_CAP = 10_000
"""The number at which the total may stop when the exact one is not asked for."""

SCORE = "_score"


class Sort(msgspec.Struct, frozen=True):
    """Order by a sortable path or by `_score`; ties by name, then id, missing values last."""

    field: str
    descending: bool = False


BEST_FIRST = Sort(SCORE, descending=True)


class Facet(msgspec.Struct, frozen=True):
    """An aggregation over what a search matches before its `post_filter`."""

    aggregation: Aggregation
    filter: Node | None = None
    """The restriction of this facet in place of the `post_filter`."""


class EngineQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A search as an engine carries it out."""

    tree: Node
    filter: Node | None = None
    """A restriction of the documents that does not count towards the score."""
    post_filter: Node | None = None
    """A restriction like `filter`, which does not apply to facets: each has its own."""
    kinds: frozenset[str] | None = None
    """Kinds of which documents are searched, None for all."""
    visible: frozenset[str] | None = None
    """Kinds whose documents decide each `tree.IfFound`, searched or not; None for all."""
    include_deleted: bool = False
    """True if soft-deleted documents are searched too."""
    sort: Sort | None = None
    """The order of hits; None for the best score first."""
    offset: int = 0
    """Hits left out at the beginning; 0 beside `search_after`."""
    size: int = 10
    """The most hits in the page."""
    search_after: tuple[SortValue, ...] | None = None
    """Sort values of the hit after which the page begins."""
    exact_total: bool = True
    """False if the total may stop at TOTAL_CAP."""
    facets: tuple[Facet, ...] = ()
    at: int | None = None
    """Log position as of which documents are searched: those of the states that held there. None
    for the states of the newest commit."""

    @property
    def order(self) -> Sort:
        """The order of the hits."""
        return self.sort or BEST_FIRST


class EngineHit(msgspec.Struct, frozen=True):
    """A document of the page."""

    id: str
    kind: str
    score: float | None
    """The score; None when hits are not ordered by score."""
    sort: tuple[SortValue, ...]
    """The value that hits are sorted by, the name and the id."""


class Bucket(msgspec.Struct, frozen=True):
    """The matching documents that have one value, or a moment in one interval, in common."""

    key: str | float | bool
    """The value that they have in common: a text, folded; a number; the millisecond that an
    interval begins with.
    """
    count: int
    below: tuple["FacetResult", ...] = ()
    """Results of the aggregations inside this one, in their order."""


class Buckets(msgspec.Struct, frozen=True):
    """Result of `Terms` and `DateHistogram`."""

    buckets: tuple[Bucket, ...] = ()
    others: int = 0
    """The sum of the counts of the buckets that are not given."""


class TopDocuments(msgspec.Struct, frozen=True):
    """Result of `TopHits`."""

    total: int = 0
    """Number of documents to choose from."""
    hits: tuple[EngineHit, ...] = ()
    max_score: float | None = None
    """The best score of the documents to choose from; None when not ordered by score."""


FacetResult = Buckets | TopDocuments


def nothing(aggregation: Aggregation) -> FacetResult:
    """Return the result of an aggregation over no documents."""
    return TopDocuments() if isinstance(aggregation, TopHits) else Buckets()


class EngineHits(msgspec.Struct, frozen=True, kw_only=True):
    """A page of documents, and what there is beyond it."""

    total: int
    """Number of documents that match, whatever page is asked for."""
    relation: Literal["eq", "gte"]
    """"eq" if exactly as many match as `total` says, "gte" if at least as many."""
    hits: tuple[EngineHit, ...]
    max_score: float | None
    """The best score of all that match; None when the order is not by score."""
    timed_out: bool = False
    """True if the deadline came first.

    The hits then match as any others do and are in order, but others that match may be missing,
    all of them in the worst case; the relation is "gte". Facets then count what was looked at, and
    one that was not done by then is empty.
    """
    facets: tuple[FacetResult, ...] = ()
    """Results of the facets, in their order."""
    approximate_scores: bool = False
    """True if scores, and the order by them, are near those of an index that was made at the
    position that was asked for, and not equal to them."""


class SearchedPaths(msgspec.Struct, frozen=True, dict=True):
    """The paths of an index that no kind declares, see `searched_paths.py`."""

    paths: tuple[str, ...] = ()
    """The paths in the order in which they first appear in the log."""
    full: bool = False
    """True if a path did not fit any more; paths that appear later are not searched."""

    @cached_property
    def known(self) -> frozenset[str]:
        """The paths as a set."""
        return frozenset(self.paths)


class DocumentChanges(msgspec.Struct, frozen=True):
    """Changes of an index in one commit, made from the index as it was at a checkpoint."""

    documents: Mapping[str, SearchDocument | None]
    """Id -> the new document; None removes a document, if there is one, with all of its past."""
    position: int
    """The log position up to which the index is current from then on."""
    after: Checkpoint
    """Checkpoint and fingerprint that the index has before."""
    fingerprint: str = ""
    """Any text that belongs to the position, such as that of the log there."""
    searched: SearchedPaths | None = None
    """Paths that the index searches from then on; None leaves them as they are."""
    replaced: Iterable[SearchDocument] = ()
    """Documents of states that were replaced, for searches as of the past; each is asked for once,
    after `documents`. None of these is of an entity that is removed, and none is stored already."""


class StateEntry(NamedTuple):
    """A state of an entity that an index has a document of."""

    id: str
    kind: str
    digest: int
    since: int
    """Position of the event that led to the state."""
    until: int
    """Position of the event that led to another state; HOLDS_STILL where none did."""


class IndexSnapshot(Protocol):
    """One commit of an index, which stays as it is when later ones follow."""

    @property
    def searched(self) -> SearchedPaths:
        """The paths that the commit searches."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the commit, and the fingerprint committed with it."""

    @property
    def horizon(self) -> Horizon:
        """The earliest position as of which the commit can be searched."""

    def digests(self) -> Mapping[str, tuple[int, int]]:
        """Kind -> number of its documents and sum of their digests modulo 2**64.

        Both are exact, soft-deleted documents included; kinds without documents are left out.
        """

    def entries(self) -> Iterator[tuple[str, str, int]]:
        """Id, kind and digest of every document, soft-deleted ones included, in any order."""

    def states(self) -> Iterator[StateEntry]:
        """Every state that the index has a document of, the current ones included, in any order."""


class Searches(Protocol):
    """An engine as searches see it: as it is, or as it was at a position."""

    def search(self, query: EngineQuery, read_objects: ReadObjects | None = None) -> EngineHits:
        """The page of hits; it ends at the engine's deadline with what there is by then.

        Nested queries with several conditions need `read_objects`. Raises InvalidInput for what
        the engine cannot do, such as an answer of more than MAX_BUCKETS buckets or MAX_TOP_HITS
        documents in them (`aggregations`), and for a path that it does not search. Raises
        StoreUnavailable for a position that no commit has yet, and BeforeHorizon for one of which
        the past is not kept any more.
        """


class SearchesAsOf(Searches):
    """The searches of an engine as of one position of the log."""

    def __init__(self, engine: Searches, position: int) -> None:
        self._engine = engine
        self._position = position

    def search(self, query: EngineQuery, read_objects: ReadObjects | None = None) -> EngineHits:
        """The page of hits as of the position."""
        return self._engine.search(structs.replace(query, at=self._position), read_objects)


class SearchEngine(Searches, Protocol):
    """An index of search documents.

    Reads may come from any thread, also while another thread or process commits. Each sees one
    whole commit: never a part of one, and none older than the same thread has seen before. Every
    method raises StoreUnavailable when the index cannot be read or written, or is closed. Data that
    is known to be damaged is never served: neither by the process that found it nor, as long as the
    index is there, by processes that open it later. An engine that has just opened a large index
    may not know yet; whatever it answered before is no proof, `snapshot` and `check` are.
    """

    def checkpoint(self) -> int:
        """The log position of the newest commit; 0 when there is none."""
        return self.checkpoint_and_fingerprint()[0]

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint of one commit, the newest; 0 and "" before any."""

    def revision(self) -> int:
        """The log position of the commit that searches read now; told without waiting for any.

        A search that begins afterwards sees the commit of the revision or a newer one.
        """

    def apply(self, changes: DocumentChanges) -> None:
        """Replace, add or remove documents, in one commit with the position.

        Each document is asked of the mapping once, and no more of them are held than fit into a
        bounded memory. When this returns, the commit survives power loss, and this engine's
        searches see it; when it raises StoreUnavailable, nothing was committed. It does so when the
        checkpoint and its fingerprint are not those that the changes come `after`, which the commit
        itself compares.
        """

    def forget(self, horizon: Horizon) -> bool:
        """Remove the documents of states that were replaced up to a horizon, in one commit.

        The engine must have applied its position. Returns whether the engine's horizon moved, which
        it does not where it is further already. Raises StoreUnavailable when nothing was
        committed.
        """

    def horizon(self) -> Horizon:
        """The earliest position as of which the newest commit can be searched."""

    def searched(self) -> SearchedPaths:
        """The paths that the newest commit searches; none after `reset`."""

    def snapshot(self) -> AbstractContextManager[IndexSnapshot]:
        """The newest commit, proven to be as it was written and kept readable in the block.

        Waits until all of it has been read once by this engine; raises StoreUnavailable.
        """

    def check(self, go_on: Callable[[], None]) -> None:
        """Wait until all of the newest commit is found to be as it was written.

        Raises Damaged (`projections.feeding.port`) when it is not. Calls `go_on` often; what that
        raises ends the wait.
        """

    def count(self) -> int:
        """Return the number of documents, soft-deleted ones included."""

    def reset(self) -> None:
        """Forget all documents, in one commit at checkpoint 0 without a fingerprint."""

    def close(self) -> None:
        """Release what the engine holds; nothing may be asked of it afterwards."""


def check_applied(at: int, checkpoint: Checkpoint) -> None:
    """Raise StoreUnavailable for a position after that of a commit: its documents may change."""
    if at > checkpoint[0]:
        raise StoreUnavailable(
            f"searches include the log up to position {checkpoint[0]}, not {at}: try again"
        )
