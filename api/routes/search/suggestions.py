"""Suggestions for a text that is being typed, as OpenMetadata's older clients ask for them."""

from functools import partial
from typing import Any

from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Large
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest
from api.routes.search.searches import QUERY_TEXT, SOURCE_FIELDS, each_field, index_of
from api.use_cases.searcher import Searcher
from projections.search.answers.suggestions import (
    FIELDS,
    MAX_SIZE,
    SUGGEST,
    SuggestRequest,
    suggest,
)
from projections.search.language.patterns import MAX_PATTERN

PARAMETERS: Parameters = {
    "q": query(
        str,
        "What was typed; empty has no suggestions.",
        "",
        schema={**QUERY_TEXT, "maxLength": MAX_PATTERN},
    ),
    "index": index_of(),
    "field": query(
        str, f"What is suggested: {', '.join(FIELDS)}.", SUGGEST, schema={"enum": list(FIELDS)}
    ),
    "size": query(
        int,
        f"Number of suggestions, 0 to {MAX_SIZE}.",
        10,
        schema={"minimum": 0, "maximum": MAX_SIZE},
    ),
    "deleted": query(bool, "Suggest soft-deleted entities, and no others.", False),
    "fetch_source": query(bool, "Give each its document; naming its fields does, too.", True),
    "include_source_fields": SOURCE_FIELDS,
}


def suggestion_routes(searcher: Searcher) -> list[HTTPRouteHandler]:
    """The route of suggestions."""

    async def suggestions(
        request: AnyRequest, include_source_fields: list[str] | None, **given: Any
    ) -> Large:
        fields = each_field(include_source_fields)
        asked = SuggestRequest(include_source_fields=fields, **given)
        return await searcher.answer(request, asked.index, partial(suggest, asked))

    return [
        Operation(
            "suggestNames",
            "Suggest names for what is being typed",
            "Names that begin so, then names with a word that does, then such with slips."
            " OpenMetadata's newer servers have it no more. Every parameter may be spelled in"
            " snake_case too.",
            answer="Suggestions",
        ).at(
            "GET",
            "/v1/search/suggest",
            Permission(Action.SEARCH),
            suggestions,
            PARAMETERS,
            snake_too=True,
            revision=searcher.remembered,
        ),
    ]
