"""The relations of an entity: lists of other kinds that can be narrowed to it."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.pages.entities.entity_routes import EntityRequest
from api.pages.frame.addresses import list_address, with_query
from api.pages.frame.documents import complete
from api.services import Services
from api.use_cases.list_parameters import list_parameters, list_request
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ATTACHED, KINDS
from projections.entities.list_pages import list_page
from projections.entities.port import ListRequest, PastOfList
from projections.visibility.withholding import FieldWithheld

SHOWN = 12
"""Entities of each related list that the page of an entity names."""
_FACETS = {
    "domain": "domain",
    "user": "owner",
    "team": "owner",
    "tag": "tag",
    "glossaryTerm": "tag",
}
"""Kind -> the search facet that finds the entities below an entity of the kind."""


def read_list(
    services: Services,
    kind: EntityKind,
    access: Access,
    past: PastOfList | None = None,
    **given: Any,
) -> dict[str, Any]:
    """A page of the list of a kind as the caller may see it: `data` and `paging`.

    `given` are parameters of the kind's list. Blocks. Raises InvalidInput and FieldWithheld.
    """
    page: dict[str, Any] = msgspec.json.decode(list_body(services, kind, access, past, **given))
    return page


def list_body(
    services: Services,
    kind: EntityKind,
    access: Access,
    past: PastOfList | None = None,
    **given: Any,
) -> bytes:
    """The JSON of the page that `read_list` gives decoded."""
    wanted = wanted_list(kind, access, past, **given)
    with services.stores.entities.use() as entities:
        return b"".join(list_page(entities, wanted))


def wanted_list(
    kind: EntityKind, access: Access, past: PastOfList | None, **given: Any
) -> ListRequest:
    """The request for the page that `read_list` reads; raises InvalidInput and FieldWithheld."""
    defaults = {name: default for name, (_, default) in list_parameters(kind).items()}
    return msgspec.structs.replace(list_request(kind, access, defaults | given, ()), past=past)


def related_lists(at: EntityRequest, entity: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The lists of other kinds that are about an entity and have anything in them.

    Those of the kinds below it, of what is attached to it and of what refers to it, as far as the
    caller may see both the kind and the key that refers.
    """
    for other in KINDS.values():
        if not at.access.may(Permission(Action.LIST, other.name)):
            continue
        for parameter in _parameters(at.kind, other):
            by_id = parameter in other.lists.by_id
            value = entity["id"] if by_id else entity["fullyQualifiedName"]
            try:
                narrowed = {parameter: value, "limit": SHOWN}
                page = read_list(at.services, other, at.access, at.past, **narrowed)
            except FieldWithheld:
                continue
            if page["data"]:
                yield {
                    "kind": other.name,
                    "attached": other.name in ATTACHED,
                    "key": other.filters[parameter],
                    "items": [complete(each) for each in page["data"]],
                    "total": page["paging"]["total"],
                    "address": at.dated(list_address(other.name, **{parameter: value})),
                }


def _parameters(kind: EntityKind, other: EntityKind) -> Iterator[str]:
    """The parameters that narrow another kind's list to the neighbours of an entity."""
    for parameter, key in other.filters.items():
        kinds = other.refers_to[key]
        if key not in other.inherits and (not kinds or kind.name in kinds):
            yield parameter


def search_of(at: EntityRequest, entity: Mapping[str, Any]) -> str | None:
    """The search for what an entity owns, holds or marks, as of the moment of its page.

    None for a kind that does none.
    """
    facet = _FACETS.get(at.kind.name)
    if facet is None:
        return None
    by_name = facet == "owner"
    name = entity["name" if by_name else "fullyQualifiedName"]
    return at.dated(with_query("/search", {facet: name}))
