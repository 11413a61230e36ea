"""The search page: one box, results with highlights, facets, and suggestions."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, QueryParameter
from api.errors import RETRY_SECONDS, progress_of
from api.pages.frame.addresses import with_query
from api.pages.frame.rendering import AnyRequest, Renderer, here, html, is_part
from api.pages.frame.routing import hidden_fields, page
from api.pages.search.facet_names import STATUSES, Written, written
from api.pages.search.facets import FACETS, Counts, FacetRow, buckets_of, facet_values, shown_facets
from api.pages.search.suggesting import suggested
from api.pages.search.understood import understood
from api.services import Services
from api.use_cases.searcher import Searcher
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.generations.current_generation import NotBuilt
from projections.search.answers.queries import SearchRequest, found
from projections.search.documents.sources import ReadSources
from projections.search.engine import SearchEngine
from projections.search.restriction import Visibility
from projections.visibility.withholding import FieldWithheld, Withheld

PAGE_SIZE = 20
_FIELDS = (
    "entityType",
    "name",
    "displayName",
    "fullyQualifiedName",
    "description",
    "owners",
    "tags",
    "entityStatus",
    "deleted",
    "updatedAt",
)
"""The fields of an entity that a result shows."""

_SEARCH = "search"
"""Name of the projection that searches read beside the sorted one."""
_BUCKETS = 30
_CLOSED: Mapping[str, Mapping[str, str]] = {
    "kind": {name.lower(): name for name in KINDS},
    **STATUSES,
}
"""Facet -> all names that it can have, by how the index has them."""
SORTS: Mapping[str, tuple[str, str, str]] = {
    "relevance": ("Best match", "_score", "desc"),
    "name": ("Name", "name", "asc"),
    "changed": ("Changed last", "updatedAt", "desc"),
    "kind": ("Kind", "entityType", "asc"),
}
"""Choice -> its title, the field to sort by and the direction."""

_SORT: Any = Literal.__getitem__(tuple(SORTS))
_PARAMETERS: Parameters = {
    "q": (Annotated[str, QueryParameter(description="What is looked for.")], ""),
    "sort": (Annotated[_SORT, QueryParameter(description="Order of the results.")], "relevance"),
    "after": (Annotated[str | None, QueryParameter(description="Place to go on from.")], None),
    "deleted": (Annotated[bool, QueryParameter(description="Find what is deleted too.")], False),
    **{
        facet.name: (
            Annotated[str | None, QueryParameter(description=f"Only of this {facet.title}.")],
            None,
        )
        for facet in FACETS
    },
}


def search_pages(
    services: Services, searcher: Searcher, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """The page of results and the suggestions of its box."""

    async def show(request: AnyRequest, **given: Any) -> ASGIResponse:
        answered: dict[str, Any] = {}
        problem, status, said, prepared = None, 200, None, None
        counts: Counts = {}
        spelled: Written = {}
        facets = shown_facets(request.auth)
        try:
            sought = _request(given, facets)
            answered, said, counts, spelled = await searcher.in_thread(
                request, sought.index, partial(_found, sought)
            )
        except InvalidInput as error:
            problem, status = error.message, 400
        except FieldWithheld as error:
            problem, status = error.message, 403
        except NotBuilt as error:
            if error.name != _SEARCH or (prepared := progress_of(error)) is None:
                raise
            status = 503
        render = partial(
            renderer.page,
            request,
            "search.html",
            **_shown(given, answered, facets, counts, spelled),
            problem=problem,
            understood=said,
            preparing=prepared,
            again=here(request),
            q=given["q"],
            hidden_fields=hidden_fields(
                request.auth, Action.SEARCH, request.auth.kinds(Action.SEARCH), _FIELDS
            ),
        )
        body = await services.light_read(request, render)
        # A part that says why is shown in place only if it is no failure.
        headers = {"Retry-After": str(RETRY_SECONDS)} if prepared else None
        return html(body, status=200 if is_part(request) else status, headers=headers)

    async def suggestions(request: AnyRequest, q: str) -> ASGIResponse:
        options = await suggested(searcher, request, q, "all", ("fullyQualifiedName",))
        return html(renderer.page(request, "suggestions.html", options=options))

    searching = Permission(Action.SEARCH)
    typed: Parameters = {"q": _PARAMETERS["q"]}
    return [
        page("/search", searching, show, _PARAMETERS),
        page("/search/suggestions", searching, suggestions, typed),
    ]


def _request(given: Mapping[str, Any], facets: tuple[FacetRow, ...]) -> SearchRequest:
    """The search that the parameters of the page ask for; raises InvalidInput."""
    _, field, order = SORTS[given["sort"]]
    for name, known in _CLOSED.items():
        if given[name] and given[name].lower() not in known:
            raise InvalidInput(f"{name} must be one of {', '.join(known.values())}")
    # One that is withheld narrows too: the search refuses it.
    chosen = [{"term": {each.field: given[each.name]}} for each in FACETS if given[each.name]]
    counted = {facet.name: {"terms": {"field": facet.field, "size": _BUCKETS}} for facet in facets}
    return SearchRequest(
        q=given["q"],
        size=PAGE_SIZE,
        deleted=given["deleted"],
        sort_field=field,
        sort_order=order,
        shown_fields=_FIELDS,
        post_filter=msgspec.json.encode({"bool": {"filter": chosen}}) if chosen else None,
        aggregations=msgspec.json.encode(counted),
        search_after=_place(given["after"]),
    )


def _found(
    sought: SearchRequest,
    engine: SearchEngine,
    read_sources: ReadSources,
    visible: frozenset[str],
    withheld: Mapping[str, Withheld],
) -> tuple[dict[str, Any], str | None, Counts, Written]:
    """The response, its text in plain words, its facets, and how their names are written."""
    answered, parsed = found(sought, engine, read_sources, visible, withheld)
    counts = buckets_of(answered)
    names = {facet: [str(each["key"]) for each in counts[facet]] for facet in counts}
    visibility = Visibility.of(visible, withheld)
    spelled = {**STATUSES, **written(names, engine, read_sources, visibility)}
    return answered, understood(parsed), counts, spelled


def _place(after: str | None) -> tuple[Any, ...] | None:
    """The `sort` of the last result before a page; raises InvalidInput for a malformed one."""
    if after is None:
        return None
    try:
        return tuple(msgspec.json.decode(after, type=list[str | int | float | None]))
    except msgspec.DecodeError:
        raise InvalidInput(
            "after does not belong to these results: start from the first page"
        ) from None


def _shown(
    given: Mapping[str, Any],
    answered: Mapping[str, Any],
    facets: tuple[FacetRow, ...],
    counts: Counts,
    spelled: Written,
) -> dict[str, Any]:
    """The values of the template."""
    kept = {name: _text(value) for name, value in given.items() if name != "after"}
    hits = answered["hits"]["hits"] if answered else []
    whole = len(hits) == PAGE_SIZE
    return {
        "given": given,
        "kept": {name: value for name, value in kept.items() if value and name != "q"},
        "hits": [_hit(hit) for hit in hits],
        "total": answered["hits"]["total"]["value"] if answered else 0,
        "incomplete": bool(answered) and answered["timed_out"],
        "took": answered.get("took", 0),
        "facets": [
            facet_values(facet, counts[facet.name], kept, spelled.get(facet.name, {}))
            for facet in facets
            if counts.get(facet.name)
        ],
        "sorts": [
            (name, title, with_query("/search", kept | {"sort": name}))
            for name, (title, _, _) in SORTS.items()
        ],
        "next": with_query("/search", kept | {"after": _encoded(hits[-1]["sort"])})
        if whole
        else None,
        "first": with_query("/search", kept) if given["after"] else None,
    }


def _text(value: Any) -> str | None:
    if value is True:
        return "true"
    return value or None


def _encoded(sort: Any) -> str:
    return msgspec.json.encode(sort).decode()


def _hit(hit: Mapping[str, Any]) -> dict[str, Any]:
    """A result: its entity, and the pieces of its texts in which something was found."""
    source = hit["_source"]
    pieces: dict[str, list[str]] = hit.get("highlight", {})
    shown_by_itself = ("name", "displayName", "fullyQualifiedName", "description")
    return {
        **{name: source.get(name) for name in _FIELDS},
        "kind": source["entityType"],
        "title": next(iter(pieces.get("displayName") or pieces.get("name") or ()), None),
        "found": next(iter(pieces.get("description") or ()), None),
        "others": {
            path: texts[:3] for path, texts in pieces.items() if path not in shown_by_itself
        },
    }
