"""The catalog as a tree: the children of each entity, unfolded in place or page by page."""

from collections.abc import Iterator, Mapping
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import SIGNED_IN, Access, Action, Permission
from api.declaring.declared_query import Parameters
from api.pages.entities.entity import crumbs_of
from api.pages.entities.entity_routes import entity_page, may_view, read_decoded
from api.pages.entities.relations import read_list
from api.pages.frame.addresses import entity_address, with_query
from api.pages.frame.documents import complete
from api.pages.frame.rendering import AnyRequest, Renderer, html
from api.pages.frame.routing import asked, hidden_fields, page
from api.services import Services
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ATTACHED, KINDS, kinds_right_below
from projections.visibility.withholding import FieldWithheld

SHOWN = 100
"""Entities of one kind below another that are shown at once."""
_SHOWN = ("displayName", "description")
"""Keys that the tree shows and that can be withheld."""
READ, MOST_READ = 200, 2_000
"""Entities read for a branch, at once and in all: a list also has deeper entities."""
_PLACE: Parameters = {
    "below": asked(str, "", "Only entities of this kind."),
    "after": asked(str | None, None, "Place to go on from."),
}


def tree_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The routes of the top of the tree, and of the children of each entity."""

    async def top(request: AnyRequest, below: str, after: str | None) -> ASGIResponse:
        def work() -> bytes:
            roots: Iterator[tuple[EntityKind, dict[str, str]]] = (
                (kind, {})
                for kind in KINDS.values()
                if (kind.root or not kind.parents) and unfolds(kind) and below in ("", kind.name)
            )
            branches = _branches(services, request.auth, roots, "/tree", after)
            return renderer.page(
                request, "tree.html", branches=list(branches), crumbs=[], entity=None
            )

        return html(await services.light_read(request, work))

    def below_entity(
        request: AnyRequest, kind: EntityKind, name: str, below: str, after: str | None
    ) -> dict[str, Any]:
        entity, _ = read_decoded(services, request, kind, name)
        address = entity_address(kind.name, entity["fullyQualifiedName"], "tree")
        lists = (
            (other, {parameter: entity["id" if by_id else "fullyQualifiedName"]})
            for other, parameter, by_id in _lists_below(kind)
            if below in ("", other.name)
        )
        branches = list(_branches(services, request.auth, lists, address, after))
        listed = [each["kind"] for each in branches]
        return {
            "branches": branches,
            "crumbs": crumbs_of(kind, entity),
            "entity": entity,
            "kind": kind.name,
            "hidden_fields": hidden_fields(request.auth, Action.LIST, listed, _SHOWN),
        }

    return [
        page("/tree", SIGNED_IN, top, _PLACE),
        entity_page(services, renderer, "tree", may_view, below_entity, _PLACE),
    ]


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
    lists: Iterator[tuple[EntityKind, dict[str, str]]],
    address: str,
    after: str | None,
) -> Iterator[dict[str, Any]]:
    """The branches that have anything in them, as far as the caller may list their kinds."""
    for kind, narrowed in lists:
        if not access.may(Permission(Action.LIST, kind.name)):
            continue
        try:
            items, more = _right_below(services, access, kind, narrowed, after)
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
    kind: EntityKind,
    narrowed: Mapping[str, str],
    after: str | None,
) -> tuple[list[dict[str, Any]], str | None]:
    """The entities of a list whose parent is the one that narrows it, and the next cursor.

    Without a parameter, the entities without a parent. Some kinds have parents of two sorts: the
    list of a glossary also has the terms below its terms.
    """
    key = next((kind.filters[parameter] for parameter in narrowed), None)
    children: list[dict[str, Any]] = []
    alone = len(kind.parents) == (0 if key is None else 1)
    limit = SHOWN if alone else READ
    for _ in range(MOST_READ // READ):
        given = {**narrowed, "limit": limit, **({"after": after} if after else {})}
        listed = read_list(services, kind, access, **given)
        children += [
            complete(each)
            for each in listed["data"]
            if next((parent for parent in kind.parents if each.get(parent)), None) == key
        ]
        after = listed["paging"].get("after")
        if after is None or len(children) >= SHOWN:
            break
    return children, after
