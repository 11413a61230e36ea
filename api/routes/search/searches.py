"""Searches over the kinds that the caller may search: by words and filters, and by one field."""

from functools import partial
from typing import Any, Literal

from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Large
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Search
from api.declaring.signatures import AnyRequest
from api.use_cases.past import PAST
from api.use_cases.searcher import Ask, Searcher
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.entities.upstream_edges import UPSTREAM
from projections.search.answers.queries import (
    MAX_SIZE,
    MAX_WINDOW,
    SearchAnswer,
    SearchRequest,
    search,
)
from projections.search.documents.documents import SORTABLE
from projections.search.engine import SCORE
from projections.search.index_names import ALL, meanings
from projections.search.language.patterns import MAX_PATTERN
from projections.search.language.text import MAX_LENGTH

_INDEXES = ", ".join(sorted(kind.index for kind in KINDS.values()))
INDEX = (
    "`all`, or a comma-separated list of `dataAsset`, `service`, kinds such as `table`, which stand"
    f" for what lies below them too, and {_INDEXES}. An index that only OpenMetadata has is empty."
)
Q = "Query text; empty or `*` is everything."
IN_SNAKE_CASE = "Every parameter may be spelled in snake_case too: `sort_field`."
QUERY_TEXT = {"type": "string", "format": "query-text", "maxLength": MAX_LENGTH}
"""The schema of the text of a query."""

_NAME = f"({'|'.join(sorted((ALL, *meanings())))})"
INDEX_NAMES = {"type": "string", "pattern": f"^{_NAME}(,{_NAME})*$"}
"""The schema of the names of indexes that searches take."""
_PATHS = {"type": "array", "items": {"type": "string", "format": "field-path"}}
_SORT = {"type": "string", "enum": [*SORTABLE, SCORE]}


def text_of_query(description: str, default: str | None = None) -> tuple[Any, Any]:
    """The declaration of a parameter with the text of a query."""
    return query(str, description, default, schema=QUERY_TEXT)


def index_of(default: str = KINDS["table"].index) -> tuple[Any, Any]:
    """The declaration of the parameter that names the indexes to search."""
    return query(str, INDEX, default, schema=INDEX_NAMES)


def filter_of(description: str) -> tuple[Any, Any]:
    """The declaration of a parameter with a filter as JSON."""
    return query(str, description, schema={"type": "string", "format": "query-filter"})


def sort_of(first: str) -> Parameters:
    """The declarations of what hits are ordered by, instead of what comes `first`."""
    about = f"Instead of {first}: {', '.join(SORTABLE)} or _score."
    return {
        "sort_field": query(str, about, schema=_SORT),
        "sort_order": query(Literal["asc", "desc"], "Direction of sortField."),
    }


def number_upto(
    most: int, description: str, default: int = 10, name: str | None = None
) -> tuple[Any, Any]:
    """The declaration of a parameter from 0 on, whose upper bound the search checks."""
    schema = {"minimum": 0, "maximum": most}
    return query(int, description, default, name=name, schema=schema)


WINDOW: Parameters = {
    "from_": number_upto(MAX_WINDOW, "Offset of the first hit.", 0),
    "size": number_upto(MAX_SIZE, "Number of hits, 0 to 1,000."),
}
ONLY_DELETED = query(bool, "Find soft-deleted entities, and no others.", False)
SOURCE_FIELDS = query(list[str], "Fields of the documents to give.", schema=_PATHS)

PARAMETERS: Parameters = {
    "q": text_of_query(Q),
    "index": index_of("all"),
    **WINDOW,
    "size": number_upto(MAX_SIZE, "Number of hits, 0 to 1,000; from + size at most 10,000."),
    "deleted": query(bool, "Include soft-deleted entities.", False),
    **sort_of("relevance"),
    "track_total_hits": query(bool, "Count exactly; false stops at 10,000 and says `gte`.", True),
    "get_hierarchy": query(bool, "Give each hit its ancestors, from the root down.", False),
    "fetch_source": query(bool, "Give each hit its document; naming its fields does, too.", True),
    "include_source_fields": SOURCE_FIELDS,
    "exclude_source_fields": query(
        list[str], "Fields of the documents to leave out.", schema=_PATHS
    ),
    "query_filter": filter_of("JSON filter in the query DSL, applied before scoring."),
    "post_filter": filter_of("JSON filter in the query DSL, applied after scoring."),
    "include_aggregations": query(bool, "Give the usual facets; by default where size is 0."),
    "aggregations": query(
        str,
        "JSON of facets to give instead of the usual ones.",
        schema={"type": "string", "format": "aggregations"},
    ),
    "search_after": query(list[str], "`sort` of the last hit seen, one value each."),
    **PAST,
}
_FIELD_PARAMETERS: Parameters = {
    "field_name": query(str, "Field to look in.", ..., schema={"format": "field-path"}),
    "field_value": query(
        str,
        "A whole value of the field; `*` is any characters, `?` one.",
        ...,
        schema={"maxLength": MAX_PATTERN},
    ),
    "index": index_of(),
    "deleted": ONLY_DELETED,
    **WINDOW,
    **PAST,
}


def search_routes(searcher: Searcher) -> list[HTTPRouteHandler]:
    """The routes that search."""

    async def by_query(
        request: AnyRequest,
        q: str | None,
        include_source_fields: list[str] | None,
        exclude_source_fields: list[str] | None,
        aggregations: str | None,
        search_after: list[str] | None,
        at: str | None,
        as_of: str | None,
        **given: Any,
    ) -> Large:
        if q is None and given["query_filter"] is None:
            raise InvalidInput("q is required unless there is a queryFilter")
        sought = SearchRequest(
            q=q or "",
            include_source_fields=each_field(include_source_fields),
            exclude_source_fields=each_field(exclude_source_fields),
            aggregations=encoded(aggregations),
            search_after=None if search_after is None else tuple(search_after),
            **with_filters(given),
        )
        ask: Ask[SearchAnswer] = partial(search, sought)
        if any(field.partition(".")[0] == UPSTREAM for field in sought.include_source_fields):
            if at is not None or as_of is not None:
                raise InvalidInput(f"includeSourceFields: the past of {UPSTREAM} is not kept")
            ask = searcher.with_upstream(request.auth, ask)
        position = await searcher.position(request, at, as_of)
        return await searcher.answer(request, sought.index, ask, position)

    async def by_field(
        request: AnyRequest, deleted: bool, at: str | None, as_of: str | None, **given: Any
    ) -> Large:
        sought = SearchRequest(q="", deleted=deleted, only_deleted=deleted, **given)
        position = await searcher.position(request, at, as_of)
        return await searcher.answer(request, sought.index, partial(search, sought), position)

    searching, revision = Permission(Action.SEARCH), searcher.remembered
    return [
        Search("searchEntities", "Search all kinds", IN_SNAKE_CASE).at(
            "GET",
            "/v1/search/query",
            searching,
            by_query,
            PARAMETERS,
            snake_too=True,
            revision=revision,
        ),
        Search(
            "searchByField",
            "Search by a whole value of one field",
            "Letters count without case. Of descriptions, which keep no whole values, a word fits.",
        ).at(
            "GET",
            "/v1/search/fieldQuery",
            searching,
            by_field,
            _FIELD_PARAMETERS,
            revision=revision,
        ),
    ]


def each_field(given: list[str] | None) -> tuple[str, ...]:
    """The fields that are named with commas between, or by a parameter given more than once."""
    return tuple(field for each in given or () for field in each.split(",") if field)


def with_filters(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a search with both filters as bytes, in which they are parsed."""
    filters = {name: encoded(given[name]) for name in ("query_filter", "post_filter")}
    return {**given, **filters}


def encoded(text: str | None) -> bytes | None:
    """The bytes of a text, None without one."""
    return None if text is None else text.encode()
