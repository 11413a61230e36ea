"""The search page: one box, results with highlights, facets, and suggestions."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.errors import RETRY_SECONDS, progress_of
from api.pages.frame.addresses import with_query
from api.pages.frame.moments import DATE, date_values, moment_asked
from api.pages.frame.rendering import AnyRequest, Renderer, here, html, is_part
from api.pages.frame.routing import hidden_fields, page
from api.pages.search.facets import FACETS, FacetRow, facet_values, shown_facets, written_name
from api.pages.search.suggesting import suggested
from api.pages.search.understood import understood
from api.services import Services
from api.use_cases.searcher import Searcher
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.generations.current_generation import NotBuilt
from projections.search import tree
from projections.search.answers.queries import SearchRequest, search_response
from projections.search.facets.facets import terms
from projections.search.language.field_values import typed
from projections.visibility.withholding import FieldWithheld

PAGE_SIZE = 20
_ADDRESS = "/search"
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
_WRITTEN_BUCKETS = 2 * _BUCKETS
"""Ways of writing among which those of the values are sought: most values have one."""
_CLOSED: Mapping[str, Mapping[str, str]] = {
    "kind": {name.lower(): name for name in KINDS},
    "status": {status.lower(): status for kind in KINDS.values() for status in kind.statuses},
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
    "q": query(str, "What is looked for.", ""),
    "sort": query(_SORT, "Order of the results.", "relevance"),
    "after": query(str, "Place to go on from."),
    "deleted": query(bool, "Find what is deleted too.", False),
    **{row.name: query(str, f"Only of this {row.title}.") for row in FACETS},
}


def search_pages(
    services: Services, searcher: Searcher, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """The page of results and the suggestions of its box."""

    async def show(
        request: AnyRequest, at: str | None, as_of: str | None, **given: Any
    ) -> ASGIResponse:
        moment = await moment_asked(services, request, at, as_of, searched=True)
        position = moment.position if moment else None
        address = moment.dated(_ADDRESS) if moment else _ADDRESS
        answered: dict[str, Any] = {}
        problem, status, said, prepared = None, 200, None, None
        facets = shown_facets(request.auth)
        try:
            sought = _request(given, facets)

            def search(*within: Any) -> tuple[dict[str, Any], str | None]:
                answered, parsed = search_response(sought, *within)
                return answered, understood(parsed)

            answered, said = await searcher.in_thread(request, sought.index, search, position)
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
            **_shown(given, answered, facets, address),
            **date_values(_ADDRESS, request, moment),
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

    async def suggestions(
        request: AnyRequest, at: str | None, as_of: str | None, q: str
    ) -> ASGIResponse:
        position = await searcher.position(request, at, as_of)
        options = await suggested(searcher, request, q, "all", ("fullyQualifiedName",), position)
        return html(renderer.page(request, "suggestions.html", options=options))

    searching = Permission(Action.SEARCH)
    what_is_typed: Parameters = {"q": _PARAMETERS["q"], **DATE}
    return [
        page(_ADDRESS, searching, show, {**_PARAMETERS, **DATE}),
        page(f"{_ADDRESS}/suggestions", searching, suggestions, what_is_typed),
    ]


def _request(given: Mapping[str, Any], facets: tuple[FacetRow, ...]) -> SearchRequest:
    """The search that the parameters of the page ask for; raises InvalidInput."""
    _, field, order = SORTS[given["sort"]]
    for name, known in _CLOSED.items():
        if given[name] and given[name].lower() not in known:
            raise InvalidInput(f"{name} must be one of {', '.join(known.values())}")
    # A withheld field narrows too: the search refuses it.
    chosen = tuple(
        typed(tree.Exact(row.field, given[row.name])) for row in FACETS if given[row.name]
    )
    return SearchRequest(
        q=given["q"],
        size=PAGE_SIZE,
        deleted=given["deleted"],
        sort_field=field,
        sort_order=order,
        shown_fields=_FIELDS,
        post_filter=tree.Bool(filter=chosen) if chosen else None,
        aggregations=(
            *(terms(row.field, _BUCKETS, row.name) for row in facets),
            *(
                terms(row.field, _WRITTEN_BUCKETS, written_name(row), written=True)
                for row in facets
                if row.written
            ),
        ),
        search_after=_place(given["after"]),
    )


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
    address: str,
) -> dict[str, Any]:
    """The values of the template; `address` is that of the page, at its date."""
    counts = {
        name.partition("#")[2]: each["buckets"]
        for name, each in answered.get("aggregations", {}).items()
    }
    texts = {name: "true" if value is True else value or None for name, value in given.items()}
    kept = {name: text for name, text in texts.items() if name != "after"}
    hits = answered["hits"]["hits"] if answered else []
    after = msgspec.json.encode(hits[-1]["sort"]).decode() if len(hits) == PAGE_SIZE else None
    return {
        "given": given,
        "kept": {name: value for name, value in kept.items() if value and name != "q"},
        "hits": [_hit(hit) for hit in hits],
        "total": answered["hits"]["total"]["value"] if answered else 0,
        "incomplete": bool(answered) and answered["timed_out"],
        "took": answered.get("took", 0),
        "facets": [
            facet_values(
                facet, counts[facet.name], counts.get(written_name(facet), []), kept, address
            )
            for facet in facets
            if counts.get(facet.name)
        ],
        "sorts": [
            (name, title, with_query(address, kept | {"sort": name}))
            for name, (title, _, _) in SORTS.items()
        ],
        "next": with_query(address, kept | {"after": after}) if after else None,
        "first": with_query(address, kept) if given["after"] else None,
    }


def _hit(hit: Mapping[str, Any]) -> dict[str, Any]:
    """A result: its entity, and the pieces of its texts that have words of the query."""
    source = hit["_source"]
    pieces: dict[str, list[str]] = hit.get("highlight", {})
    shown_by_itself = ("name", "displayName", "fullyQualifiedName", "description")
    return {
        **{name: source.get(name) for name in _FIELDS},
        "kind": source["entityType"],
        "title": next(iter(pieces.get("displayName") or pieces.get("name") or ()), None),
        "piece": next(iter(pieces.get("description") or ()), None),
        "others": {
            path: texts[:3] for path, texts in pieces.items() if path not in shown_by_itself
        },
    }
