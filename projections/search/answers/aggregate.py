"""Counts of searches for OpenMetadata's pages: one facet, or the entities of each kind."""

import re

import msgspec

from domain.errors import InvalidInput, about
from domain.kinds.registry import KINDS
from projections.search.aggregations import MAX_BUCKETS, Terms, TopHits
from projections.search.answers.queries import (
    SearchAnswer,
    SearchRequest,
    is_complete,
    search_response,
)
from projections.search.documents.documents import SORTABLE
from projections.search.documents.sources import ReadSources, check_paths
from projections.search.engine import Searches
from projections.search.facets import facets
from projections.search.facets.facet_answers import typed_name
from projections.search.language.regex import regex
from projections.search.restriction import Visibility
from projections.visibility.field_paths import indexed_path

MAX_HITS = 100
"""Documents of a bucket."""
_DEFAULT_HITS = 10
_TOP = "top"
_KIND = "entityType"
_NAME_ORDER = ("_doc", "name")
_ANYTHING = ("", ".*")
_WITHIN = re.compile(r"\.\*((?:[^\\()\[\]{}|*+?^$]|\\[^a-zA-Z0-9])+)\.\*", re.DOTALL)
"""A value that asks for what contains a text."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class TopHitsRequest(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The documents that are given of each bucket."""

    size: int = 1
    sort_field: str = "_doc"
    """`_doc` is by name."""
    sort_order: str = "asc"


class AggregateRequest(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body of a POST, and what the parameters of a GET come to; typed, but not yet checked."""

    field_name: str
    field_value: str = ""
    """A regular expression for the values; `.*text.*` gives those nearest to the text first."""
    query: str = ""
    """Query text, or a filter as JSON."""
    query_text: str | None = None
    """Query text that must match too."""
    index: str = "table_search_index"
    size: int = 10
    """The most buckets."""
    deleted: bool = False
    """True if the soft-deleted entities are counted, and these alone."""
    source_fields: tuple[str, ...] = ()
    """Fields of the documents that each bucket gives; none for no documents."""
    top_hits: TopHitsRequest | None = None
    fetch_parents_aliases: str = "none"
    fetch_child_aliases: str = "none"


def search_request(request: AggregateRequest) -> SearchRequest:
    """The search without hits that has the facet; raises InvalidInput that names the parameter."""
    for name in ("fetch_parents_aliases", "fetch_child_aliases"):
        if getattr(request, name) not in ("", "none"):
            raise InvalidInput("aliases are given by index alone: fetch…Aliases may be none")
    is_filter = request.query.lstrip().startswith("{")
    return SearchRequest(
        q="" if is_filter else request.query,
        query_filter=request.query.encode() if is_filter else None,
        query_filter_name="query",
        also=request.query_text or None,
        index=request.index,
        size=0,
        deleted=request.deleted,
        only_deleted=request.deleted,
        one_facet=_facet(request),
    )


def _facet(request: AggregateRequest) -> Terms:
    if not 0 <= request.size <= MAX_BUCKETS:
        raise InvalidInput(f"size must be from 0 to {MAX_BUCKETS}, got {request.size}")
    with about("field"):
        facet = facets.terms(request.field_name, request.size)
    facet = msgspec.structs.replace(facet, order="key", below=_below(request))
    value = request.field_value
    if value in _ANYTHING:
        return facet
    if facet.values != "texts":
        raise InvalidInput(f"value chooses among texts, and {request.field_name[:80]} has none")
    if within := _WITHIN.fullmatch(value):
        text = _ESCAPE.sub(r"\1", within[1])
        return msgspec.structs.replace(facet, order="nearest", containing=text)
    with about("value"):
        regex(value)
    return msgspec.structs.replace(facet, pattern=value)


def _below(request: AggregateRequest) -> tuple[TopHits, ...]:
    """The top hits of each bucket, where fields of documents are asked for."""
    asked = request.top_hits or TopHitsRequest(size=_DEFAULT_HITS)
    if not 0 <= asked.size <= MAX_HITS:
        raise InvalidInput(
            f"topHitsSize (topHits.size) must be from 0 to {MAX_HITS}, got {asked.size}"
        )
    if asked.sort_order not in ("asc", "desc"):
        raise InvalidInput(
            "topHitsSortOrder (topHits.sortOrder) must be asc or desc,"
            f" got {asked.sort_order[:40]!r}"
        )
    field = "name" if asked.sort_field in _NAME_ORDER else indexed_path(asked.sort_field)
    if field not in SORTABLE:
        raise InvalidInput(
            f"topHitsSortField (topHits.sortField) must be _doc or one of {', '.join(SORTABLE)},"
            f" got {asked.sort_field[:80]!r}"
        )
    check_paths(request.source_fields, "sourceFields")
    if not request.source_fields:
        return ()
    return (
        TopHits(
            name=_TOP,
            size=asked.size,
            sort_field=field,
            descending=asked.sort_order == "desc",
            include=request.source_fields,
        ),
    )


def kind_counts(
    request: SearchRequest,
    engine: Searches,
    read_sources: ReadSources,
    visibility: Visibility,
) -> SearchAnswer:
    """The response to a search, with the number of its matches by kind.

    Kinds without a match are left out; the counts add up to the total. Raises what
    `response` raises.
    """
    counted = facets.terms(_KIND, len(KINDS))
    asked = msgspec.structs.replace(request, one_facet=counted)
    answered, _ = search_response(asked, engine, read_sources, visibility)
    buckets = answered["aggregations"][typed_name(counted)]["buckets"]
    answered["aggregations"] = {_KIND: {"buckets": buckets}}
    return SearchAnswer(msgspec.json.encode(answered), complete=is_complete(request, answered))
