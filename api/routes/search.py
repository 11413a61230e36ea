"""Searches over the kinds that the caller may search: by words and filters, and by one field."""

from collections.abc import Hashable
from functools import partial
from typing import Annotated, Any, Literal

from litestar import Request
from litestar.handlers import HTTPRouteHandler

from api.bodies import has_left
from api.errors import Forbidden
from api.permissions import Access, Action, Permission
from api.remembered_answers import key_of
from api.responses import Finished, Large
from api.routes.signatures import REQUEST, Parameters, QueryParameter, route
from api.services import Services
from domain.errors import InvalidInput
from domain.registry import KINDS
from projections.search.documents import SORTABLE
from projections.search.index_names import kinds_named
from projections.search.queries import SearchAnswer, SearchRequest, search

_INDEXES = ", ".join(sorted(kind.index for kind in KINDS.values()))
_INDEX = (
    "`all`, or a comma-separated list of `dataAsset`, `service`, kinds such as `table`, which stand"
    f" for what lies below them too, and {_INDEXES}. An index that only OpenMetadata has is empty."
)

PARAMETERS: tuple[tuple[str, Any, Any, str], ...] = (
    ("q", str | None, None, "Query text; empty or `*` is everything."),
    ("index", str, "all", _INDEX),
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
    ("searchAfter", list[str] | None, None, "`sort` of the last hit seen, one value each."),
)
"""(name, type, default, meaning) of each parameter; its snake_case spelling is accepted too."""

_FIELD_PARAMETERS: Parameters = {
    **REQUEST,
    "field_name": (
        Annotated[str, QueryParameter(name="fieldName", description="Field to look in.")],
        ...,
    ),
    "field_value": (
        Annotated[
            str,
            QueryParameter(
                name="fieldValue",
                description="A whole value of the field; `*` is any characters, `?` one.",
            ),
        ],
        ...,
    ),
    "index": (Annotated[str, QueryParameter(description=_INDEX)], KINDS["table"].index),
    "deleted": (
        Annotated[bool, QueryParameter(description="Find soft-deleted entities, and no others.")],
        False,
    ),
    "from_": (
        Annotated[int, QueryParameter(name="from", description="Offset of the first hit.")],
        0,
    ),
    "size": (Annotated[int, QueryParameter(description="Number of hits, 0 to 1,000.")], 10),
}


def search_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes that search."""
    stores = services.stores

    async def query(request: Request[Any, Any, Any], **given: Any) -> Large:
        return await answer(request, SearchRequest(**_values(given)))

    async def field_query(request: Request[Any, Any, Any], deleted: bool, **given: Any) -> Large:
        sought = SearchRequest(q="", deleted=deleted, only_deleted=deleted, **given)
        return await answer(request, sought)

    async def answer(request: Request[Any, Any, Any], sought: SearchRequest) -> Large:
        access: Access = request.auth
        visible = access.kinds(Action.SEARCH)
        _check_index(sought.index, visible)

        def work() -> SearchAnswer:
            with stores.engine.use() as engine, stores.entities.use() as entities:
                return search(
                    sought,
                    engine,
                    entities.documents,
                    visible,
                    access.hidden.get(Action.SEARCH, {}),
                )

        caller: str = request.user.name
        left = partial(has_left, request.receive)
        # Read before the search: a commit meanwhile makes the answer newer, never older.
        present = revision()
        found = await services.searches.run(caller, work, left)
        if found.complete:
            services.answers.keep(key_of(request.scope), present, Finished(found.body))
        return Large(found.body, caller, services.streams)

    def revision() -> Hashable:
        return stores.engine.revision(), stores.entities.revision()

    def remembered_only(*_: object) -> None:
        """A search is no work for the event loop: its route does it in a thread."""

    direct = remembered_only, revision
    searching = Permission(Action.SEARCH)
    return [
        route("GET", "/v1/search/query", searching, query, _parameters(), direct=direct),
        route(
            "GET", "/v1/search/fieldQuery", searching, field_query, _FIELD_PARAMETERS, direct=direct
        ),
    ]


def _check_index(index: str, visible: frozenset[str]) -> None:
    """Raise Forbidden for a name of which the caller may search none of the kinds.

    Raises InvalidInput for a name that means nothing.
    """
    for name in index.split(","):
        kinds = kinds_named(name.strip())
        if kinds and not kinds & visible:
            raise Forbidden(f"you have no permission to search {' or '.join(sorted(kinds))}")


def snake(name: str) -> str:
    """The snake_case spelling of a camelCase parameter."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _parameters() -> Parameters:
    """Every parameter in both spellings; an underscore is added, as `from` can be no argument."""
    parameters = dict(REQUEST)
    for name, hint, _, meaning in PARAMETERS:
        for spelling in dict.fromkeys((name, snake(name))):
            about = QueryParameter(name=spelling, description=meaning)
            parameters[f"{spelling}_"] = (Annotated[hint | None, about], None)
    return parameters


def _values(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of SearchRequest, from either spelling of the parameters, or by default."""
    values: dict[str, Any] = {}
    for name, _, default, _ in PARAMETERS:
        spellings = dict.fromkeys((name, snake(name)))
        values_given = [given[f"{s}_"] for s in spellings if given[f"{s}_"] is not None]
        if len(values_given) > 1:
            raise InvalidInput(f"{name} and {snake(name)} are one parameter; give it once")
        value = values_given[0] if values_given else default
        if name.endswith("SourceFields"):
            value = tuple(part for item in value or () for part in item.split(",") if part)
        if name == "searchAfter" and value is not None:
            value = tuple(value)
        if name in ("queryFilter", "postFilter") and value is not None:
            value = value.encode()
        if name == "q" and value is None:
            if given["queryFilter_"] is None and given["query_filter_"] is None:
                raise InvalidInput("q is required unless there is a queryFilter")
            value = ""
        values["from_" if name == "from" else snake(name)] = value
    return values
