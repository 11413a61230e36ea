"""The search engine over an index in a cluster."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

from domain.errors import StoreUnavailable
from domain.reading.horizon import Horizon
from projections.feeding.port import Checkpoint, Damaged
from projections.search.aggregations import too_many_buckets
from projections.search.answers.decisions import Decisions
from projections.search.documents.sources import ReadObjects
from projections.search.engine import (
    BEST_FIRST,
    SCORE,
    TOTAL_CAP,
    DocumentChanges,
    EngineHits,
    EngineQuery,
    FacetResult,
    IndexSnapshot,
    SearchedPaths,
    SearchEngine,
    check_applied,
    nothing,
)
from projections.search.matching.candidates import MAX_CANDIDATES, Candidates, SearchObjects
from projections.search.matching.deadline import Clock, Deadline, OutOfTime
from projections.search.matching.stored_document import StoredDocument
from projections.search.opensearch import commits, facets, mapping, pages, past
from projections.search.opensearch.cluster import Cluster, TooManyBuckets
from projections.search.opensearch.leaves import Dsl
from projections.search.opensearch.pinned import Committed, check_shards, pinned, read_checkpoint
from projections.search.opensearch.queries import Compiler, NestedSearch
from projections.search.searched_paths import asked_paths, check_searched
from projections.search.tree import Node

DEADLINE = 2.0
"""Seconds after which a search answers with what it has."""


class OpenSearchEngine(SearchEngine):
    """A search engine over one index of a cluster, which must be there already."""

    grace = 1.0
    """Seconds that the cluster may take to say that it ran out of time."""

    def __init__(
        self,
        cluster: Cluster,
        index: str,
        *,
        search_objects: SearchObjects,
        writable: bool,
        feed: str | None = None,
        deadline: float = DEADLINE,
        clock: Clock = time.monotonic,
    ) -> None:
        """`deadline` is in seconds of `clock`; closing the engine closes the cluster.

        `search_objects` decides nested conditions. `feed` is the alias that the index is written
        by; None: the one that it was made with.
        """
        self._cluster = cluster
        self._index = index
        self._search_objects = search_objects
        self._deadline = deadline
        self._clock = clock
        alias = commits.feed(index) if feed is None else feed
        self._commits = commits.Commits(cluster, index, alias, self._newest) if writable else None
        self._closed = False
        self._copy = f"host-{uuid4().hex}"
        """Has every search of this engine asked of the same copy, so that none sees less than one
        before it."""

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self._cluster.close()

    # What there is

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint committed with it."""
        return self._newest().checkpoint

    def _newest(self) -> Committed:
        return read_checkpoint(self._search)

    def revision(self) -> int:
        """The position of the commit that searches read now, which the cluster is asked for."""
        return self.checkpoint()

    def count(self) -> int:
        """Return the number of documents, soft-deleted ones included."""
        query = {"size": 0, "track_total_hits": True, "query": {"exists": {"field": "kind"}}}
        total: int = self._search(query)["hits"]["total"]["value"]
        return total

    def horizon(self) -> Horizon:
        """The earliest position as of which the newest commit can be searched."""
        with self.snapshot() as commit:
            return commit.horizon

    def searched(self) -> SearchedPaths:
        """The paths that the newest commit searches; see the port."""
        return self._newest().searched

    @contextmanager
    def snapshot(self) -> Iterator[IndexSnapshot]:
        """The newest commit, kept by the cluster for as long as it is read."""
        self._check_open()
        with pinned(self._cluster, self._index) as commit:
            yield commit

    def check(self, go_on: Callable[[], None]) -> None:
        """Raise Damaged when the index is not as it was made; its files the cluster checks."""
        go_on()
        self._check_open()
        response = self._cluster.look(f"/{self._index}/_mapping")
        (known,) = response.values()
        if mapping.fixed(known["mappings"]) != mapping.fixed(mapping.mappings()):
            raise Damaged("the mapping of the search index is not as it was made")
        go_on()
        read_checkpoint(self._search)

    # Searching

    def search(self, query: EngineQuery, read_objects: ReadObjects | None = None) -> EngineHits:
        """The page of hits; see the port."""
        self._check_open()
        deadline = Deadline(self._deadline, self._clock)
        try:
            if query.at is not None:
                return self._page_as_of(query.at, query, read_objects, deadline)
            if asked_paths(query):
                check_searched(query, self.searched())
            return self._page(query, read_objects, deadline)
        except OutOfTime:
            none = tuple(nothing(facet.aggregation) for facet in query.facets)
            return EngineHits(
                total=0, relation="gte", hits=(), max_score=None, timed_out=True, facets=none
            )

    def _page_as_of(
        self, at: int, query: EngineQuery, read_objects: ReadObjects | None, deadline: Deadline
    ) -> EngineHits:
        newest = read_checkpoint(partial(self._search, deadline=deadline))
        check_applied(at, newest.checkpoint)
        check_searched(query, newest.searched)
        position = newest.checkpoint[0]
        while True:
            hits = self._page(query, read_objects, deadline)
            seen, horizon = past.newest_commit(partial(self._ask, seconds=self.grace), position)
            horizon.refuse(at)
            if seen == position:
                return hits
            # The hits may show a part of the commit that is whole now.
            position = seen

    def _page(
        self, query: EngineQuery, read_objects: ReadObjects | None, deadline: Deadline
    ) -> EngineHits:
        """The page of hits; raises OutOfTime."""
        after = None
        if query.search_after is not None:
            after = pages.after(query.search_after, query.order)
        asked = query
        query = Decisions(lambda node: self._is_found(asked, node, deadline)).of_query(query)
        body, undecided = self._compiled(query, read_objects, deadline, after)
        deadline.check()
        response = self._search(body, deadline, query.at)
        return self._answer(query, response, deadline, timed_out=undecided)

    def _compiled(
        self,
        query: EngineQuery,
        read_objects: ReadObjects | None,
        deadline: Deadline,
        after: list[Any] | None,
    ) -> tuple[Dsl, bool]:
        """The body of a search, and whether it leaves out what there was no time to decide."""
        kinds = list(mapping.of_kinds(query.kinds, include_deleted=query.include_deleted))

        def read(candidates: Dsl) -> Iterator[StoredDocument]:
            asked = {"bool": {"filter": [*kinds, candidates]}}
            return self._rows(asked, MAX_CANDIDATES + 1, deadline, query.at)

        nested = NestedSearch(read, Candidates(read_objects, deadline, self._search_objects))
        compiler = Compiler(nested)
        restricted = [*kinds]
        if query.filter is not None:
            restricted.append(compiler.filter(query.filter))
        asked: Dsl = {"must": [compiler.clause(query.tree)], "filter": restricted}
        sort = query.order
        body: Dsl = {
            "query": {"bool": asked},
            "from": query.offset,
            "size": query.size,
            "sort": pages.order(sort),
            "track_scores": sort.field == SCORE,
            "track_total_hits": True if query.exact_total else TOTAL_CAP,
            **pages.ROW,
        }
        if after is not None:
            body["search_after"] = after
        if query.post_filter is not None:
            restriction = compiler.filter(query.post_filter)
            if query.facets:
                body["post_filter"] = restriction
            else:
                restricted.append(restriction)
        for number, facet in enumerate(query.facets):
            made = facets.compiled(facet.aggregation, "")
            own = {"match_all": {}} if facet.filter is None else compiler.filter(facet.filter)
            body.setdefault("aggs", {})[str(number)] = {"filter": own, "aggs": made}
        if nested.undecided:
            asked["must_not"] = [{"terms": {"id": nested.undecided}}]
        return body, bool(nested.undecided)

    def _answer(
        self,
        query: EngineQuery,
        response: Mapping[str, Any],
        deadline: Deadline,
        *,
        timed_out: bool,
    ) -> EngineHits:
        sort = query.order
        results: list[FacetResult] = []
        timed_out = timed_out or response["timed_out"]
        reader = facets.Reader(deadline.check)
        try:
            for number, facet in enumerate(query.facets):
                answer = response["aggregations"][str(number)]
                results.append(reader.result(facet.aggregation, "", answer))
        except OutOfTime:
            timed_out = True
            results += [nothing(f.aggregation) for f in query.facets[len(results) :]]
        total = response["hits"]["total"]
        return EngineHits(
            total=total["value"],
            relation="gte" if timed_out else total["relation"],
            hits=pages.hits_of(response["hits"], sort),
            max_score=response["hits"]["max_score"] if sort.field == SCORE else None,
            timed_out=timed_out,
            facets=tuple(results),
            approximate_scores=query.at is not None,
        )

    def _is_found(self, query: EngineQuery, node: Node, deadline: Deadline) -> bool:
        """Return True if any document that decides matches a node."""
        deadline.check()
        deciding = mapping.of_kinds(query.visible, include_deleted=query.include_deleted)
        candidates = Candidates(None, deadline, self._search_objects)
        nested = NestedSearch(lambda _: iter(()), candidates)
        clause = Compiler(nested).filter(node)
        body = {
            "query": {"bool": {"filter": [*deciding, clause]}},
            "size": 0,
            "track_total_hits": 1,
            "terminate_after": 1,
        }
        return bool(self._search(body, deadline, query.at)["hits"]["total"]["value"])

    def _rows(
        self, asked: Dsl, most: int, deadline: Deadline, at: int | None
    ) -> Iterator[StoredDocument]:
        """Yield the stored parts of the documents of a clause, in order of name and id."""
        body: Dsl = {"query": asked, "sort": pages.order(BEST_FIRST)[1:], **pages.ROW}
        body["track_total_hits"] = False
        while most > 0:
            deadline.check()
            body["size"] = min(most, mapping.MAX_WINDOW)
            hits = self._search(body, deadline, at)["hits"]["hits"]
            for hit in hits:
                yield pages.row_of(hit)
            most -= len(hits)
            if len(hits) < body["size"]:
                return
            body["search_after"] = hits[-1]["sort"]

    def _search(
        self, body: Dsl, deadline: Deadline | None = None, at: int | None = None
    ) -> Mapping[str, Any]:
        """The answer to a search, as of a position if one is given; raises what `_ask` raises."""
        if at is not None:
            body = past.as_of(body, at)
        if deadline is None:
            return self._ask(body, self._cluster.look_seconds)
        left = deadline.left()
        return self._ask(body | {"timeout": f"{max(1, int(1000 * left))}ms"}, left + self.grace)

    def _ask(self, body: Dsl, seconds: float) -> Mapping[str, Any]:
        """The answer to a search; raises StoreUnavailable unless every shard gave it in time."""
        self._check_open()
        path = f"/{self._index}/_search"
        try:
            response: Mapping[str, Any] = self._cluster.request(
                "POST", path, body, seconds=seconds, preference=self._copy
            )
        except TooManyBuckets:
            raise too_many_buckets() from None
        check_shards(response)
        return response

    # Writing

    def apply(self, changes: DocumentChanges) -> None:
        """Commit documents with position and fingerprint; see the port."""
        self._writing().apply(changes)

    def forget(self, horizon: Horizon) -> bool:
        """Remove documents of states that were replaced up to a horizon; see the port."""
        return self._writing().forget(horizon)

    def reset(self) -> None:
        """Forget all documents; the checkpoint becomes 0. Raises StoreUnavailable."""
        self._writing().reset()

    def _writing(self) -> commits.Commits:
        self._check_open()
        if self._commits is None:
            raise StoreUnavailable("the search index was opened for reading only")
        return self._commits

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the search index is closed")
