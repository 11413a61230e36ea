"""Suggestions for a text that is being typed, as OpenMetadata's older clients ask for them."""

from functools import partial
from typing import Any

from litestar import Request
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Large
from api.callers.permissions import Action, Permission
from api.declaring.signatures import route
from api.declaring.spellings import Rows, both_spellings, given_values, snake
from api.routes.search.searches import INDEX
from api.use_cases.searcher import Searcher
from domain.kinds.registry import KINDS
from projections.search.answers.suggestions import (
    FIELDS,
    MAX_SIZE,
    SUGGEST,
    SuggestRequest,
    suggest,
)

PARAMETERS: Rows = (
    ("q", str, "", "What was typed; empty has no suggestions."),
    ("index", str, KINDS["table"].index, INDEX),
    ("field", str, SUGGEST, f"What is suggested: {', '.join(FIELDS)}."),
    ("size", int, 10, f"Number of suggestions, 0 to {MAX_SIZE}."),
    ("deleted", bool, False, "Suggest soft-deleted entities, and no others."),
    ("fetchSource", bool, True, "Give each its document; naming its fields does, too."),
    ("includeSourceFields", list[str] | None, None, "Fields of the documents to give."),
)
"""Each may be given in snake_case too."""


def suggestion_routes(searcher: Searcher) -> list[HTTPRouteHandler]:
    """The route of suggestions."""

    async def suggestions(request: Request[Any, Any, Any], **given: Any) -> Large:
        values = given_values(PARAMETERS, given)
        fields = values.pop("includeSourceFields") or ()
        asked = SuggestRequest(
            include_source_fields=tuple(p for item in fields for p in item.split(",") if p),
            **{snake(name): value for name, value in values.items()},
        )
        return await searcher.answer(request, asked.index, partial(suggest, asked))

    parameters = both_spellings(PARAMETERS)
    searching, revision = Permission(Action.SEARCH), searcher.remembered
    return [
        route("GET", "/v1/search/suggest", searching, suggestions, parameters, revision=revision),
    ]
