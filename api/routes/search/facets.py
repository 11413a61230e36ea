"""Counts over searches: the values of one field, and the hits of each kind."""

from functools import partial
from typing import Any, Literal

from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, MAX_SEARCH_BODY, check_media_type, read_body
from api.answers.responses import Large
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Search
from api.declaring.signatures import AnyRequest
from api.routes.search.searches import (
    QUERY_TEXT,
    Q,
    filter_of,
    index_of,
    number_upto,
    text_of_query,
    with_filters,
)
from api.use_cases.past import PAST
from api.use_cases.searcher import Searcher, check_index
from domain.patches.json_input import decode
from projections.search.aggregations import MAX_BUCKETS
from projections.search.answers.aggregate import (
    MAX_HITS,
    AggregateRequest,
    TopHitsRequest,
    kind_counts,
    search_request,
)
from projections.search.answers.queries import SearchAnswer, SearchRequest, search
from projections.search.documents.documents import SORTABLE
from projections.search.engine import Searches
from projections.search.index_names import ALL, DATA_ASSETS
from projections.search.language.patterns import MAX_PATTERN

_AGGREGATE: Parameters = {
    "field_name": query(
        str,
        "Field whose values are counted.",
        ...,
        name="field",
        schema={"format": "countable-field"},
    ),
    "field_value": query(
        str,
        "Regular expression for the whole values; `.*text.*` gives the text itself first, then what"
        " begins with it, then what contains it. Empty or `.*` is every value.",
        "",
        name="value",
        schema={"format": "term-regex", "maxLength": MAX_PATTERN},
    ),
    "index": index_of(),
    "text": query(str, "Query text, or a filter as JSON.", "", name="q", schema=QUERY_TEXT),
    "query_text": text_of_query("Query text that must match too."),
    "size": number_upto(MAX_BUCKETS, "Number of buckets, 0 to 10,000."),
    "deleted": query(bool, "Count soft-deleted entities, and no others.", False),
    "source_fields": query(
        str,
        "Fields, with commas between, of the documents that each bucket then gives.",
        "",
        schema={"format": "field-path"},
    ),
    "top_size": number_upto(
        MAX_HITS, "How many documents each bucket gives, to 100.", name="topHitsSize"
    ),
    "top_field": query(
        str,
        "Their order; `_doc` is by name.",
        "_doc",
        name="topHitsSortField",
        schema={"enum": ["_doc", *SORTABLE]},
    ),
    "top_order": query(Literal["asc", "desc"], "Its direction.", "asc", name="topHitsSortOrder"),
    **PAST,
}
COUNT_PARAMETERS: Parameters = {
    "q": text_of_query(Q, ""),
    "index": index_of(DATA_ASSETS),
    "deleted": query(bool, "Count soft-deleted entities too.", False),
    "query_filter": filter_of("JSON filter in the query DSL."),
    "post_filter": filter_of("Another one."),
    "include_top_hit": query(bool, "Give the best hit, with its kind.", False),
    **PAST,
}


def facet_routes(searcher: Searcher) -> list[HTTPRouteHandler]:
    """The routes that count."""

    async def aggregate(
        request: AnyRequest,
        text: str,
        source_fields: str,
        top_size: int,
        top_field: str,
        top_order: str,
        at: str | None,
        as_of: str | None,
        **given: Any,
    ) -> Large:
        fields = tuple(field for each in source_fields.split(",") if (field := each.strip()))
        top = TopHitsRequest(size=top_size, sort_field=top_field, sort_order=top_order)
        asked = AggregateRequest(query=text, source_fields=fields, top_hits=top, **given)
        sought = search_request(asked)
        position = await searcher.position(request, at, as_of)
        return await searcher.answer(request, sought.index, partial(search, sought), position)

    async def aggregate_body(request: AnyRequest, at: str | None, as_of: str | None) -> Large:
        check_media_type(request.headers.get("content-type"), JSON_TYPES)
        body = await read_body(request, MAX_SEARCH_BODY)

        def count(engine: Searches, *given: Any) -> SearchAnswer:
            sought = search_request(decode(body, AggregateRequest, "the body"))
            # Which index the body names is known once it is decoded, in the thread of the search.
            check_index(sought.index, request.auth.kinds(Action.SEARCH))
            return search(sought, engine, *given)

        position = await searcher.position(request, at, as_of)
        return await searcher.answer(request, ALL, count, position)

    async def counts(
        request: AnyRequest,
        include_top_hit: bool,
        at: str | None,
        as_of: str | None,
        **given: Any,
    ) -> Large:
        sought = SearchRequest(
            size=int(include_top_hit),
            include_source_fields=("entityType",) if include_top_hit else (),
            **with_filters(given),
        )
        position = await searcher.position(request, at, as_of)
        ask = partial(kind_counts, sought)
        return await searcher.answer(request, sought.index, ask, position)

    searching, revision = Permission(Action.SEARCH), searcher.remembered
    return [
        _OF_FIELD.at(
            "GET", "/v1/search/aggregate", searching, aggregate, _AGGREGATE, revision=revision
        ),
        replace(
            _OF_FIELD,
            id="aggregateFieldByBody",
            errors=(400, 408, 410, 413, 415, 503),
            body="AggregateRequest",
        ).at("POST", "/v1/search/aggregate", searching, aggregate_body, PAST),
        Search(
            "countKinds",
            "Count what a search finds of each kind",
            "As `aggregations.entityType.buckets`, without kinds of which nothing is found. Every"
            " parameter may be spelled in snake_case too.",
        ).at(
            "GET",
            "/v1/search/entityTypeCounts",
            searching,
            counts,
            COUNT_PARAMETERS,
            snake_too=True,
            revision=revision,
        ),
    ]


_OF_FIELD = Search(
    "aggregateField",
    "Count by the values of one field",
    "By value, without hits. With fields of documents, each bucket has some of its documents.",
)
