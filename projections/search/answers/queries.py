"""Searches: a request checked, carried out by an engine, answered as JSON bytes."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any

import msgspec
from msgspec import Raw

from domain.errors import InvalidInput
from domain.openmetadata.status_names import StatusNames
from projections.search import named_statuses, tree
from projections.search.aggregations import Aggregation
from projections.search.answers.highlighting import Highlighter
from projections.search.documents.documents import SORTABLE, SortValue
from projections.search.documents.sources import (
    BoundedSources,
    ReadSources,
    ancestors,
    check_paths,
    narrow,
    object_reader,
    source,
    values_for,
    with_common_keys,
)
from projections.search.engine import SCORE, EngineHits, EngineQuery, Facet, Searches, Sort
from projections.search.facets import aggregation_json, facets
from projections.search.facets.facet_answers import FacetWriter, hit_head
from projections.search.index_names import ALL, kinds_of
from projections.search.language import filter_json, text
from projections.search.language.dates import Now
from projections.search.language.field_values import whole_value
from projections.search.language.fields import Fields
from projections.search.restriction import EVERYTHING, Hidden, Visibility
from projections.search.tree import Node
from projections.visibility.field_paths import indexed_path

MAX_SIZE = 1_000
MAX_WINDOW = 10_000


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a search, typed but not yet checked."""

    q: str
    index: str = ALL
    """A name that `index_names` knows, or several with commas."""
    from_: int = 0
    size: int = 10
    """Hits, up to MAX_SIZE; with `from_` up to MAX_WINDOW."""
    deleted: bool = False
    """True if soft-deleted entities match too."""
    sort_field: str | None = None
    """A field of SORTABLE, its `.keyword` or an alias of it, or `_score`."""
    sort_order: str | None = None
    """`asc` or `desc`; without one `desc` for `_score` and `asc` for all else."""
    track_total_hits: bool = True
    get_hierarchy: bool = False
    fetch_source: bool = True
    """True if hits have their `_source`; they do anyway when some of its fields are named."""
    include_source_fields: tuple[str, ...] = ()
    exclude_source_fields: tuple[str, ...] = ()
    shown_fields: tuple[str, ...] = ()
    """Top-level fields that hits are narrowed to, each where the caller may see it.

    Naming a withheld field is an error in `include_source_fields`, but not here: a page asks for
    the same fields whoever looks at it.
    """
    query_filter: bytes | None = None
    query_filter_name: str = "queryFilter"
    """Name of the parameter that holds `query_filter`, for messages."""
    post_filter: bytes | Node | None = None
    """Filter JSON, or a filter of the catalog's own."""
    search_after: tuple[SortValue, ...] | None = None
    field_name: str | None = None
    """A field of which a whole value must fit `field_value`."""
    field_value: str = ""
    only_deleted: bool = False
    """True if only soft-deleted entities match."""
    include_aggregations: bool | None = None
    """True if the usual facets are given; None gives them where no hits are asked for."""
    aggregations: bytes | tuple[Aggregation, ...] | None = None
    """Facets in place of the usual ones: the caller's own as JSON, or those of a page."""
    one_facet: Aggregation | None = None
    """A facet that is the purpose of the request, made of the parameters `field` and
    `sourceFields`; all of the post filter narrows it."""
    also: str | None = None
    """A second query text, which entities must match as well; it does not count towards scores."""
    source_url: str | None = None
    """The whole `sourceUrl` of the entities that match."""
    now: Now = msgspec.field(default_factory=Now)
    """The meaning of `now` in dates of texts and filters."""


class SearchAnswer(msgspec.Struct, frozen=True):
    """The response of a search."""

    body: bytes
    """JSON."""
    complete: bool
    """True if the search did not run out of time, and asked for nothing that depends on the time of
    day: only then does the same search give the same answer, for as long as nothing is committed.
    """


def search(
    request: SearchRequest,
    engine: Searches,
    read_sources: ReadSources,
    visibility: Visibility = EVERYTHING,
    clock: Callable[[], float] = time.perf_counter,
) -> SearchAnswer:
    """The response of the specification as JSON; see `search_response`."""
    answered, _ = search_response(request, engine, read_sources, visibility, clock)
    return SearchAnswer(msgspec.json.encode(answered), complete=is_complete(request, answered))


def is_complete(request: SearchRequest, answered: Mapping[str, Any]) -> bool:
    """Return True if a response is complete, as `SearchAnswer` tells it."""
    return not answered["timed_out"] and request.now.milliseconds is None


def search_response(
    request: SearchRequest,
    engine: Searches,
    read_sources: ReadSources,
    visibility: Visibility = EVERYTHING,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[dict[str, Any], text.Parsed]:
    """The response in the form of the specification, and the parsed text of the query.

    `_source` of hits is JSON, or decoded where the request has `shown_fields`.
    A hit whose entity is gone meanwhile is left out. Raises InvalidInput that names the parameter,
    the value and what is allowed, and FieldWithheld.
    """
    started = clock()
    query, parsed = engine_query(request, visibility)
    page = engine.search(query, object_reader(read_sources))
    sources = BoundedSources(read_sources)
    highlighter = Highlighter(query.tree, clock)
    hits = _hits(request, page, sources, visibility, highlighter)
    answered: dict[str, Any] = {
        "took": int((clock() - started) * 1000),
        "timed_out": page.timed_out or highlighter.timed_out,
        "_shards": {"total": 1, "successful": 1, "failed": 0, "skipped": 0},
        "hits": {
            "total": {"value": page.total, "relation": page.relation},
            "max_score": page.max_score,
            "hits": hits,
        },
    }
    if page.approximate_scores:
        answered["scores"] = "approximate"
    if query.facets:
        asked = [facet.aggregation for facet in query.facets]
        answered["aggregations"] = FacetWriter(sources, visibility).written(asked, page.facets)
    return answered, parsed


def engine_query(request: SearchRequest, visibility: Visibility) -> tuple[EngineQuery, text.Parsed]:
    """Return the engine's query for a request, and the parsed `q` of the request.

    Raises InvalidInput and FieldWithheld.
    """
    _check_window(request)
    sort = _sort(request)
    check_paths(request.include_source_fields, "includeSourceFields", everything=True)
    check_paths(request.exclude_source_fields, "excludeSourceFields")
    kinds = visibility.within(kinds_of(request.index))
    hidden = visibility.hidden_in(kinds)
    if request.sort_field is not None:
        hidden.refuse(request.sort_field, "sortField")
    for path in request.include_source_fields:
        hidden.refuse(path, "includeSourceFields", below_only=True)

    def allowed(given: bytes | Node | None, parameter: str) -> Node | None:
        if isinstance(given, bytes):
            given = filter_json.parse(given, where=parameter, now=request.now)
        return None if given is None else seen(given, parameter)

    def seen(node: Node, parameter: str) -> Node:
        return named_statuses.asked(hidden.restrict(node, parameter), visibility.statuses)

    filters = [
        node
        for node in (
            allowed(request.query_filter, request.query_filter_name),
            *_own_filters(request, seen),
        )
        if node is not None
    ]
    post_filter = allowed(request.post_filter, "postFilter")
    parsed = text.parsed(request.q, fields=Fields(now=request.now))
    query = EngineQuery(
        tree=seen(parsed.node, "q"),
        filter=tree.all_of(filters) if filters else None,
        post_filter=post_filter,
        kinds=kinds,
        visible=visibility.deciding(kinds),
        include_deleted=request.deleted,
        sort=sort,
        offset=request.from_,
        size=request.size,
        search_after=request.search_after,
        exact_total=request.track_total_hits,
        facets=_facets(request, hidden, visibility.statuses, post_filter),
    )
    return query, parsed


def _facets(
    request: SearchRequest, hidden: Hidden, statuses: StatusNames, post_filter: Node | None
) -> tuple[Facet, ...]:
    """The facets that a request names, or else the usual ones where it wants them."""
    if request.one_facet is not None:
        one = (request.one_facet,)
        facets.refuse_withheld(one, hidden, "field", "sourceFields")
        return facets.facets(named_statuses.counted(one, statuses), post_filter, own_too=True)
    asked, wanted = request.aggregations, request.include_aggregations
    if asked is None:
        if wanted is None:
            wanted = request.size == 0
        asked = facets.default_aggregations(hidden) if wanted else ()
    else:
        if wanted is False:
            raise InvalidInput("aggregations are given, and includeAggregations is false")
        if isinstance(asked, bytes):
            asked = aggregation_json.parse(asked)
        facets.refuse_withheld(asked, hidden, "aggregations", "aggregations")
    return facets.facets(named_statuses.counted(asked, statuses), post_filter)


def _own_filters(request: SearchRequest, seen: Callable[[Node, str], Node]) -> Iterator[Node]:
    """The filters of a request beside those in JSON."""
    if request.field_name is not None:
        node = whole_value(request.field_name, request.field_value)
        yield seen(node, "fieldName")
    if request.source_url is not None:
        node = tree.Exact("sourceUrl.keyword", request.source_url)
        yield seen(node, "sourceUrl")
    if request.also is not None:
        also = text.parsed(request.also, fields=Fields(now=request.now)).node
        yield seen(also, "queryText")
    if request.only_deleted:
        yield tree.Exact("deleted", "true")


def _check_window(request: SearchRequest) -> None:
    if not 0 <= request.size <= MAX_SIZE:
        raise InvalidInput(f"size must be from 0 to {MAX_SIZE}, got {request.size}")
    if request.from_ < 0:
        raise InvalidInput(f"from must not be negative, got {request.from_}")
    if request.from_ + request.size > MAX_WINDOW:
        raise InvalidInput(
            f"from + size must not exceed {MAX_WINDOW}, got {request.from_} + {request.size}:"
            " the lists, such as /v1/tables, page through everything with their cursors"
        )
    if request.search_after is not None and request.sort_field is None:
        raise InvalidInput(
            f"search_after needs the sortField that its values come from, {SCORE} for relevance"
        )
    if request.search_after is not None and request.from_:
        raise InvalidInput(f"from must be 0 beside search_after, got {request.from_}")


def _sort(request: SearchRequest) -> Sort | None:
    order = request.sort_order
    if order not in (None, "asc", "desc"):
        raise InvalidInput(f"sortOrder must be asc or desc, got {order[:40]!r}")
    if request.sort_field is None:
        return None if order in (None, "desc") else Sort(SCORE)
    field = indexed_path(request.sort_field)
    if field != SCORE and field not in SORTABLE:
        raise InvalidInput(
            f"sortField must be one of {', '.join((*SORTABLE, SCORE))},"
            f" got {request.sort_field[:80]!r}"
        )
    return Sort(field, order == "desc" or (order is None and field == SCORE))


def _hits(
    request: SearchRequest,
    page: EngineHits,
    sources: BoundedSources,
    visibility: Visibility,
    highlighter: Highlighter,
) -> list[dict[str, Any]]:
    included, shown_fields = request.include_source_fields, request.shown_fields
    narrowed = bool(included or request.exclude_source_fields or shown_fields)
    with_source = request.fetch_source or narrowed
    documents: Iterable[bytes | None] = repeat(b"")
    if with_source or request.get_hierarchy:
        documents = sources.read([hit.id for hit in page.hits])
    chains = {}
    if request.get_hierarchy:
        documents = [*documents]
        kept = {
            hit.id: (hit.kind, stored)
            for hit, stored in zip(page.hits, documents, strict=True)
            if stored is not None
        }
        chains = ancestors(kept, sources.read, visibility.show)
    hits: list[dict[str, Any]] = []
    # Few documents are held at a time: what is shown of each may be far less than all of it.
    for hit, stored in zip(page.hits, documents, strict=False):
        if stored is None:
            continue
        shown = hit_head(hit)
        if with_source:
            shown_json = visibility.show(hit.kind, with_common_keys(stored))
            if shown_json is None:
                continue
            whole = source(hit.kind, shown_json)
            if shown_fields:
                shown["_source"] = values_for(shown_fields, whole)
            else:
                shown["_source"] = Raw(narrow(whole, included, request.exclude_source_fields))
            if highlights := highlighter.highlights(hit.kind, shown_json):
                shown["highlight"] = highlights
        if request.sort_field is not None:
            shown["sort"] = hit.sort
        if request.get_hierarchy:
            shown["hierarchy"] = chains[hit.id]
        hits.append(shown)
    return hits
