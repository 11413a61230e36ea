"""Searches with another answer: suggestions for what is being typed, as OpenMetadata's older
clients ask for them, single documents, those of a source, and all hits as CSV.
"""

from functools import partial
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.answers.responses import Deferred, Heavy, Large
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation, Search
from api.declaring.signatures import AnyRequest, id_in_path
from api.routes.search.searches import (
    ONLY_DELETED,
    QUERY_TEXT,
    SOURCE_FIELDS,
    WINDOW,
    Q,
    each_field,
    filter_of,
    index_of,
    number_upto,
    sort_of,
    text_of_query,
    with_filters,
)
from api.services import Services
from api.use_cases.past import HEADER, PAST
from api.use_cases.past_documents import document_as_of
from api.use_cases.searcher import Ask, Searcher, check_index, visibility_of
from projections.search.answers import suggestions
from projections.search.answers.csv_export import export
from projections.search.answers.queries import SearchAnswer, SearchRequest, search
from projections.search.answers.single_documents import single_document
from projections.search.index_names import ALL
from projections.search.language.patterns import MAX_PATTERN

CSV = "text/csv"
_SUGGEST: Parameters = {
    "q": query(
        str,
        "What was typed; empty has no suggestions.",
        "",
        schema={**QUERY_TEXT, "maxLength": MAX_PATTERN},
    ),
    "index": index_of(),
    "field": query(
        str,
        f"What is suggested: {', '.join(suggestions.FIELDS)}.",
        suggestions.SUGGEST,
        schema={"enum": list(suggestions.FIELDS)},
    ),
    "size": number_upto(
        suggestions.MAX_SIZE, f"Number of suggestions, 0 to {suggestions.MAX_SIZE}."
    ),
    "deleted": query(bool, "Suggest soft-deleted entities, and no others.", False),
    "fetch_source": query(bool, "Give each its document; naming its fields does, too.", True),
    "include_source_fields": SOURCE_FIELDS,
    **PAST,
}
_SOURCE: Parameters = {
    "source_url": query(str, "The whole address of the source.", ...),
    "deleted": ONLY_DELETED,
    **WINDOW,
    **PAST,
}
EXPORT_PARAMETERS: Parameters = {
    "q": text_of_query(Q, ""),
    "index": index_of(ALL),
    "deleted": query(bool, "Include soft-deleted entities.", False),
    **sort_of("by name"),
    "query_filter": filter_of("JSON filter in the query DSL."),
    "post_filter": filter_of("Another one."),
    **PAST,
}


def document_routes(services: Services, searcher: Searcher) -> list[HTTPRouteHandler]:
    """The routes of documents that searches find."""

    async def by_beginning(
        request: AnyRequest,
        include_source_fields: list[str] | None,
        at: str | None,
        as_of: str | None,
        **given: Any,
    ) -> Large:
        fields = each_field(include_source_fields)
        asked = suggestions.SuggestRequest(include_source_fields=fields, **given)
        ask = partial(suggestions.suggest, asked)
        position = await searcher.position(request, at, as_of)
        return await searcher.answer(request, asked.index, ask, position)

    async def by_source(
        request: AnyRequest, deleted: bool, at: str | None, as_of: str | None, **given: Any
    ) -> Large:
        sought = SearchRequest(
            q="", deleted=deleted, only_deleted=deleted, include_aggregations=False, **given
        )
        position = await searcher.position(request, at, as_of)
        return await searcher.answer(request, sought.index, partial(search, sought), position)

    async def by_id(
        request: AnyRequest, index: str, entity_id: str, at: str | None, as_of: str | None
    ) -> Large:
        sought = index, id_in_path(entity_id)
        position = await searcher.position(request, at, as_of)
        ask: Ask[SearchAnswer]
        if position is None:
            ask = searcher.with_upstream(request.auth, partial(single_document, *sought))
        else:
            ask = partial(document_as_of, services.stores, position, *sought)
        return await searcher.answer(request, index, ask, position)

    def as_csv(
        request: AnyRequest, at: str | None, as_of: str | None, **given: Any
    ) -> ASGIResponse:
        if at is None and as_of is None:
            return csv(request, given, None)

        async def in_past(request: AnyRequest) -> ASGIResponse:
            return csv(request, given, await searcher.position(request, at, as_of))

        return Deferred(in_past)

    def csv(request: AnyRequest, given: dict[str, Any], at: int | None) -> Heavy:
        access: Access = request.auth
        visible = access.kinds(Action.SEARCH)
        check_index(given["index"], visible)
        sought = SearchRequest(size=1, **with_filters(given))
        headers = {"Content-Disposition": 'attachment; filename="search.csv"'}
        if at is not None:
            headers[HEADER] = str(at)
        parts = export(sought, visibility_of(access), partial(searcher.opened, at))
        return services.stream(request, parts, headers=headers, media_type=CSV)

    searching = Permission(Action.SEARCH)
    return [
        Operation(
            "suggestNames",
            "Suggest names for what is being typed",
            "Names that begin so, then names with a word that does, then such with slips."
            " OpenMetadata's newer servers have it no more. Every parameter may be spelled in"
            " snake_case too.",
            answer="Suggestions",
            errors=(410,),
        ).at(
            "GET",
            "/v1/search/suggest",
            searching,
            by_beginning,
            _SUGGEST,
            snake_too=True,
            revision=searcher.remembered,
        ),
        Search("searchBySourceUrl", "Search by the address of a source").at(
            "GET",
            "/v1/search/sourceUrl",
            searching,
            by_source,
            _SOURCE,
            revision=searcher.remembered,
        ),
        Operation(
            "getSearchDocument",
            "Get a document of an index",
            "Soft-deleted or not. Of the past without `upstreamLineage`.",
            answer="SearchSource",
            errors=(404, 410, 503),
        ).at("GET", "/v1/search/get/{index:str}/doc/{entity_id:str}", searching, by_id, PAST),
        Operation(
            "exportSearch",
            "Get all that a search finds as CSV",
            "A row for each entity, by name where no order is asked for. What a spreadsheet would"
            " take for a formula has an apostrophe before it. Every parameter may be spelled in"
            " snake_case too.",
            media_type=CSV,
            errors=(410,),
        ).at("GET", "/v1/search/export", searching, as_csv, EXPORT_PARAMETERS, snake_too=True),
    ]
