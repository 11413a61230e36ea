"""What searches count: the values of one field, and what is found of each kind."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from litestar import Request
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import JSON_TYPES, MAX_SEARCH_BODY, check_media_type, read_body
from api.answers.responses import Large
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters
from api.declaring.signatures import route
from api.declaring.spellings import Rows, both_spellings, given_values
from api.routes.search.searches import INDEX, Q, encoded, parameter
from api.use_cases.searcher import Searcher, check_index
from domain.kinds.registry import KINDS
from domain.patches.json_input import decode
from projections.search.answers.aggregate import (
    AggregateRequest,
    TopHitsRequest,
    kind_counts,
    search_request,
)
from projections.search.answers.queries import SearchAnswer, SearchRequest, search
from projections.search.documents.sources import ReadSources
from projections.search.engine import SearchEngine
from projections.search.index_names import ALL, DATA_ASSETS
from projections.visibility.withholding import Withheld

_AGGREGATE: Parameters = {
    "field_name": parameter("field", str, ..., "Field whose values are counted."),
    "field_value": parameter(
        "value",
        str,
        "",
        "Regular expression for the whole values; `.*text.*` gives the text itself first, then what"
        " begins with it, then what contains it. Empty or `.*` is every value.",
    ),
    "index": parameter("index", str, KINDS["table"].index, INDEX),
    "text": parameter("q", str, "", "Query text, or a filter as JSON."),
    "query_text": parameter("queryText", str | None, None, "Query text that must match too."),
    "size": parameter("size", int, 10, "Number of buckets, 0 to 10,000."),
    "deleted": parameter("deleted", bool, False, "Count soft-deleted entities, and no others."),
    "source_fields": parameter(
        "sourceFields",
        str,
        "",
        "Fields, with commas between, of the documents that each bucket then gives.",
    ),
    "top_size": parameter("topHitsSize", int, 10, "How many documents each bucket gives, to 100."),
    "top_field": parameter("topHitsSortField", str, "_doc", "Their order; `_doc` is by name."),
    "top_order": parameter("topHitsSortOrder", Literal["asc", "desc"], "asc", "Its direction."),
}
COUNT_PARAMETERS: Rows = (
    ("q", str | None, "", Q),
    ("index", str, DATA_ASSETS, INDEX),
    ("deleted", bool, False, "Count soft-deleted entities too."),
    ("queryFilter", str | None, None, "JSON filter in the query DSL."),
    ("postFilter", str | None, None, "Another one."),
    ("includeTopHit", bool, False, "Give the best hit, with its kind."),
)
"""Each may be given in snake_case too."""


def facet_routes(searcher: Searcher) -> list[HTTPRouteHandler]:
    """The routes that count."""

    async def aggregate(
        request: Request[Any, Any, Any],
        text: str,
        source_fields: str,
        top_size: int,
        top_field: str,
        top_order: str,
        **given: Any,
    ) -> Large:
        fields = tuple(field for each in source_fields.split(",") if (field := each.strip()))
        top = TopHitsRequest(size=top_size, sort_field=top_field, sort_order=top_order)
        asked = AggregateRequest(query=text, source_fields=fields, top_hits=top, **given)
        return await counted(request, asked)

    async def aggregate_body(request: Request[Any, Any, Any]) -> Large:
        check_media_type(request.headers.get("content-type"), JSON_TYPES)
        body = await read_body(request, MAX_SEARCH_BODY)
        # Which index the body names is known, and checked, once it is decoded.
        return await searcher.answer(request, ALL, partial(_count_asked, body))

    async def counted(request: Request[Any, Any, Any], asked: AggregateRequest) -> Large:
        sought = search_request(asked)
        return await searcher.answer(request, sought.index, partial(search, sought))

    async def counts(request: Request[Any, Any, Any], **given: Any) -> Large:
        values = given_values(COUNT_PARAMETERS, given)
        top = values["includeTopHit"]
        sought = SearchRequest(
            q=values["q"],
            index=values["index"],
            size=int(top),
            deleted=values["deleted"],
            query_filter=encoded(values["queryFilter"]),
            post_filter=encoded(values["postFilter"]),
            include_source_fields=("entityType",) if top else (),
        )
        return await searcher.answer(request, sought.index, partial(kind_counts, sought))

    searching, revision = Permission(Action.SEARCH), searcher.remembered
    count_parameters = both_spellings(COUNT_PARAMETERS)
    return [
        route("GET", "/v1/search/aggregate", searching, aggregate, _AGGREGATE, revision=revision),
        route("POST", "/v1/search/aggregate", searching, aggregate_body, {}),
        route(
            "GET",
            "/v1/search/entityTypeCounts",
            searching,
            counts,
            count_parameters,
            revision=revision,
        ),
    ]


def _count_asked(
    body: bytes,
    engine: SearchEngine,
    read_sources: ReadSources,
    visible: frozenset[str],
    withheld: Mapping[str, Withheld],
) -> SearchAnswer:
    """What the body of a request has counted, which is decoded in the thread of the search.

    Raises Forbidden for an index, InvalidInput and FieldWithheld.
    """
    sought = search_request(decode(body, AggregateRequest, "the body"))
    check_index(sought.index, visible)
    return search(sought, engine, read_sources, visible, withheld)
