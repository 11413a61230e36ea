"""Full-text search over the kinds that the caller may search."""

from collections.abc import Hashable
from functools import partial
from typing import Annotated, Any, Literal

from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from api.bodies import has_left
from api.errors import Forbidden
from api.permissions import Access, Action, Permission
from api.remembered_answers import key_of
from api.responses import Finished, Large
from api.routes.signatures import REQUEST, Parameters, route
from api.services import Services
from domain.errors import InvalidInput
from domain.registry import KINDS
from projections.search.documents import SORTABLE
from projections.search.queries import SearchAnswer, SearchRequest, index_names, search

_INDEXES = ", ".join(sorted(kind.index for kind in KINDS.values()))

PARAMETERS: tuple[tuple[str, Any, Any, str], ...] = (
    ("q", str | None, None, "Query text; empty or `*` is everything."),
    ("index", str, "all", f"`all`, or a comma-separated list of {_INDEXES}."),
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


def search_routes(services: Services) -> list[HTTPRouteHandler]:
    """The route of the search endpoint."""
    stores = services.stores

    async def query(request: Request[Any, Any, Any], **given: Any) -> Large:
        values = _values(given)
        access: Access = request.auth
        visible = access.kinds(Action.SEARCH)
        _check_index(values["index"], visible)
        sought = SearchRequest(**values)

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
        answer = await services.searches.run(caller, work, left)
        if answer.complete:
            services.answers.keep(key_of(request.scope), present, Finished(answer.body))
        return Large(answer.body, caller, services.streams)

    def revision() -> Hashable:
        return stores.engine.revision(), stores.entities.revision()

    def remembered_only(*_: object) -> None:
        """A search is no work for the event loop: its route does it in a thread."""

    direct = remembered_only, revision
    return [
        route(
            "GET",
            "/v1/search/query",
            Permission(Action.SEARCH),
            query,
            _parameters(),
            direct=direct,
        )
    ]


def _check_index(index: str, visible: frozenset[str]) -> None:
    """Raise Forbidden for the index of a kind that the caller may not search."""
    kinds = index_names()
    for name in index.split(","):
        if (kind := kinds.get(name.strip())) and kind not in visible:
            raise Forbidden(f"you have no permission to {Permission(Action.SEARCH, kind)}")


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
