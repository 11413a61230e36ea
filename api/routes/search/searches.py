"""Searches over the kinds that the caller may search: by words and filters, and by one field."""

from functools import partial
from typing import Annotated, Any, Literal

from litestar import Request
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Large
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, QueryParameter
from api.declaring.signatures import route
from api.declaring.spellings import both_spellings, given_values, snake
from api.use_cases.searcher import Searcher
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.search.answers.queries import SearchRequest, search
from projections.search.documents.documents import SORTABLE

_INDEXES = ", ".join(sorted(kind.index for kind in KINDS.values()))
INDEX = (
    "`all`, or a comma-separated list of `dataAsset`, `service`, kinds such as `table`, which stand"
    f" for what lies below them too, and {_INDEXES}. An index that only OpenMetadata has is empty."
)
Q = "Query text; empty or `*` is everything."

PARAMETERS: tuple[tuple[str, Any, Any, str], ...] = (
    ("q", str | None, None, Q),
    ("index", str, "all", INDEX),
    ("from", int, 0, "Offset of the first hit."),
    ("size", int, 10, "Number of hits, 0 to 1,000; from + size at most 10,000."),
    ("deleted", bool, False, "Include soft-deleted entities."),
    ("sortField", str | None, None, f"Instead of relevance: {', '.join(SORTABLE)} or _score."),
    ("sortOrder", Literal["asc", "desc"] | None, None, "Direction of sortField."),
    ("trackTotalHits", bool, True, "Count exactly; false stops at 10,000 and says `gte`."),
    ("getHierarchy", bool, False, "Give each hit its ancestors, from the root down."),
    ("fetchSource", bool, True, "Give each hit its document; naming its fields does, too."),
    ("includeSourceFields", list[str] | None, None, "Fields of the documents to give."),
    ("excludeSourceFields", list[str] | None, None, "Fields of the documents to leave out."),
    ("queryFilter", str | None, None, "JSON filter in the query DSL, applied before scoring."),
    ("postFilter", str | None, None, "JSON filter in the query DSL, applied after scoring."),
    (
        "includeAggregations",
        bool | None,
        None,
        "Give the usual facets; by default where size is 0.",
    ),
    ("aggregations", str | None, None, "JSON of facets to give instead of the usual ones."),
    ("searchAfter", list[str] | None, None, "`sort` of the last hit seen, one value each."),
)
"""(name, type, default, meaning) of each parameter; its snake_case spelling is accepted too."""
_JSON = ("queryFilter", "postFilter", "aggregations")


def encoded(text: str | None) -> bytes | None:
    """A filter of the query as a request has it."""
    return None if text is None else text.encode()


def parameter(name: str, hint: Any, default: Any, description: str) -> tuple[Any, Any]:
    """The annotation and default of a query parameter."""
    return Annotated[hint, QueryParameter(name=name, description=description)], default


PAGE: Parameters = {
    "deleted": parameter("deleted", bool, False, "Find soft-deleted entities, and no others."),
    "from_": parameter("from", int, 0, "Offset of the first hit."),
    "size": parameter("size", int, 10, "Number of hits, 0 to 1,000."),
}
_FIELD_PARAMETERS: Parameters = {
    "field_name": parameter("fieldName", str, ..., "Field to look in."),
    "field_value": parameter(
        "fieldValue", str, ..., "A whole value of the field; `*` is any characters, `?` one."
    ),
    "index": parameter("index", str, KINDS["table"].index, INDEX),
    **PAGE,
}


def search_routes(searcher: Searcher) -> list[HTTPRouteHandler]:
    """The routes that search."""

    async def query(request: Request[Any, Any, Any], **given: Any) -> Large:
        return await answer(request, SearchRequest(**_values(given)))

    async def field_query(request: Request[Any, Any, Any], deleted: bool, **given: Any) -> Large:
        sought = SearchRequest(q="", deleted=deleted, only_deleted=deleted, **given)
        return await answer(request, sought)

    async def answer(request: Request[Any, Any, Any], sought: SearchRequest) -> Large:
        return await searcher.answer(request, sought.index, partial(search, sought))

    searching = Permission(Action.SEARCH)
    parameters = both_spellings(PARAMETERS)
    revision = searcher.remembered
    return [
        route("GET", "/v1/search/query", searching, query, parameters, revision=revision),
        route(
            "GET",
            "/v1/search/fieldQuery",
            searching,
            field_query,
            _FIELD_PARAMETERS,
            revision=revision,
        ),
    ]


def _values(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of SearchRequest."""
    values: dict[str, Any] = {}
    for name, value in given_values(PARAMETERS, given).items():
        if name.endswith("SourceFields"):
            value = tuple(part for item in value or () for part in item.split(",") if part)
        if name == "searchAfter" and value is not None:
            value = tuple(value)
        if name in _JSON and value is not None:
            value = value.encode()
        values["from_" if name == "from" else snake(name)] = value
    if values["q"] is None:
        if values["query_filter"] is None:
            raise InvalidInput("q is required unless there is a queryFilter")
        values["q"] = ""
    return values
