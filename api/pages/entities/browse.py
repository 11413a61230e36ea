"""Pages that need no search: the first page, and all entities as a tree."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.answers.responses import Finished
from api.callers.permissions import PUBLIC, SIGNED_IN, Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.pages.entities.entity import crumbs_of
from api.pages.entities.entity_routes import EntityPages, EntityRequest, may_view
from api.pages.frame.addresses import with_query
from api.pages.frame.documents import complete
from api.pages.frame.moments import DATE, Moment, date_values, moment_asked
from api.pages.frame.rendering import AnyRequest, Renderer, html
from api.pages.frame.routing import accepts_html, hidden_fields, page
from api.services import Services
from api.use_cases.lists import read_list
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ATTACHED, KINDS, kinds_right_below
from domain.kinds.rows import assets, databases, people, promises, vocabularies
from domain.kinds.rows import services as service_rows
from projections.entities.list_port import PastOfList
from projections.visibility.withholding import FieldWithheld

SHOWN_KEYS = ("displayName", "description")
"""Keys that lists and the tree show and that can be withheld."""
SHOWN = 100
"""Entities of one kind below another that are shown at once."""
READ, MOST_READ = 200, 2_000
"""Entities read for a branch, at a time and in all: some lists also have entities further down."""
_PLACE: Parameters = {
    "below": query(str, "Only entities of this kind.", ""),
    "after": query(str, "Place to go on from."),
}
FAMILIES: tuple[tuple[str, tuple[EntityKind, ...]], ...] = (
    ("Services", service_rows.ROWS),
    ("Databases", databases.ROWS),
    ("Assets", assets.ROWS),
    ("Promises", promises.ROWS),
    ("Vocabulary", vocabularies.ROWS),
    ("People", people.ROWS),
)
"""The families of the registry, in the order in which people look for them."""
_FOR_PROGRAMS = msgspec.json.encode(
    {"documentation": "/docs", "openapi": "/docs/openapi.json", "health": "/readyz"}
)


def for_people(scope: Any) -> str:
    """The permission of the first page: none for a program, which only gets a pointer."""
    return SIGNED_IN if accepts_html(scope) else PUBLIC


def browse_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The first page, and the tree from its top and below each entity."""

    async def first(request: AnyRequest, at: str | None, as_of: str | None) -> ASGIResponse:
        if not accepts_html(request.scope):
            return Finished(_FOR_PROGRAMS, headers={"Vary": "Accept"})
        moment = await moment_asked(services, request, at, as_of)

        def work() -> bytes:
            families = _families(services, request.auth, moment.past if moment else None)
            dating = date_values("/", request, moment)
            return renderer.page(request, "home.html", families=families, **dating)

        return html(await _read(request, moment, work))

    async def top(
        request: AnyRequest, at: str | None, as_of: str | None, below: str, after: str | None
    ) -> ASGIResponse:
        moment = await moment_asked(services, request, at, as_of)

        def work() -> bytes:
            roots: Iterator[tuple[EntityKind, dict[str, str]]] = (
                (kind, {})
                for kind in KINDS.values()
                if (kind.root or not kind.parents) and unfolds(kind) and below in ("", kind.name)
            )
            tree = moment.dated("/tree") if moment else "/tree"
            past = moment.past if moment else None
            branches = _branches(services, request.auth, past, roots, tree, after)
            return renderer.page(
                request,
                "tree.html",
                branches=list(branches),
                crumbs=[],
                entity=None,
                **date_values("/tree", request, moment),
            )

        return html(await _read(request, moment, work))

    async def _read(request: AnyRequest, moment: Moment | None, work: Callable[[], bytes]) -> bytes:
        # What lists of the past pass over grows with what was changed since.
        read = services.light_read if moment is None else services.heavy_read
        return await read(request, work)

    def below_entity(at: EntityRequest, below: str, after: str | None) -> dict[str, Any]:
        entity, _ = at.decoded()
        address = at.address(entity["fullyQualifiedName"], "tree")
        lists = (
            (other, {parameter: entity["id" if by_id else "fullyQualifiedName"]})
            for other, parameter, by_id in _lists_below(at.kind)
            if below in ("", other.name)
        )
        branches = list(_branches(services, at.access, at.past, lists, address, after))
        listed = [each["kind"] for each in branches]
        return {
            "branches": branches,
            "crumbs": crumbs_of(at.kind, entity),
            "entity": entity,
            "kind": at.kind.name,
            "hidden_fields": hidden_fields(at.access, Action.LIST, listed, SHOWN_KEYS),
        }

    return [
        page("/", for_people, first, DATE),
        page("/tree", SIGNED_IN, top, {**_PLACE, **DATE}),
        EntityPages(services, renderer).page("tree", may_view, below_entity, _PLACE, has_past=True),
    ]


def _families(services: Services, access: Access, past: PastOfList | None) -> list[dict[str, Any]]:
    """The kinds that the caller may list and that have entities, by family, with their totals."""
    shown = []
    for title, rows in FAMILIES:
        kinds = []
        for row in rows:
            if access.may(Permission(Action.LIST, row.name)):
                total = read_list(services, row, access, past, limit=0)["paging"]["total"]
                if total:
                    kinds.append({"name": row.name, "total": total})
        if kinds:
            shown.append({"title": title, "kinds": kinds})
    return shown


def unfolds(kind: EntityKind) -> bool:
    """True if entities of a kind can have others below them, beside what is attached to them."""
    return next(_lists_below(kind), None) is not None


def _lists_below(kind: EntityKind) -> Iterator[tuple[EntityKind, str, bool]]:
    """The lists of an entity's children: kind, parameter, and True if it takes an id."""
    for name in KINDS:
        if name in kinds_right_below(kind.name) and name not in ATTACHED:
            other = KINDS[name]
            for parameter, key in other.filters.items():
                if key in other.parents and kind.name in (other.refers_to[key] or KINDS):
                    yield other, parameter, parameter in other.lists.by_id


def _branches(
    services: Services,
    access: Access,
    past: PastOfList | None,
    lists: Iterator[tuple[EntityKind, dict[str, str]]],
    address: str,
    after: str | None,
) -> Iterator[dict[str, Any]]:
    """The branches that have anything in them, as far as the caller may list their kinds."""
    for kind, narrowed in lists:
        if not access.may(Permission(Action.LIST, kind.name)):
            continue
        try:
            items, more = _right_below(services, access, past, kind, narrowed, after)
        except FieldWithheld:
            continue
        if items or more:
            following = with_query(address, {"below": kind.name, "after": more}) if more else None
            yield {
                "kind": kind.name,
                "items": items,
                "unfolds": unfolds(kind),
                "more": following,
            }


def _right_below(
    services: Services,
    access: Access,
    past: PastOfList | None,
    kind: EntityKind,
    narrowed: Mapping[str, str],
    after: str | None,
) -> tuple[list[dict[str, Any]], str | None]:
    """The entities of a list that stand right below the one that narrows it, and the next cursor.

    With nothing in `narrowed`, the entities without a parent. Some kinds have parents of two sorts:
    the list of a glossary also has the terms below its terms, which are left out here.
    """
    key = next((kind.filters[parameter] for parameter in narrowed), None)
    children: list[dict[str, Any]] = []
    alone = len(kind.parents) == (0 if key is None else 1)
    limit = SHOWN if alone else READ
    for _ in range(MOST_READ // READ):
        given = {**narrowed, "limit": limit, **({"after": after} if after else {})}
        listed = read_list(services, kind, access, past, **given)
        children += [
            complete(each)
            for each in listed["data"]
            if next((parent for parent in kind.parents if each.get(parent)), None) == key
        ]
        after = listed["paging"].get("after")
        if after is None or len(children) >= SHOWN:
            break
    return children, after
