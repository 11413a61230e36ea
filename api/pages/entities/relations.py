"""The relations of an entity: lists of other kinds that can be narrowed to it."""

from collections.abc import Iterator, Mapping
from typing import Any

from api.callers.permissions import Action, Permission
from api.pages.entities.entity_routes import EntityRequest
from api.pages.frame.addresses import list_address, with_query
from api.pages.frame.documents import complete
from api.use_cases.lists import read_list
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ATTACHED, KINDS
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


def related_lists(at: EntityRequest, entity: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The lists of other kinds that are about an entity and have anything in them.

    These are lists of what stands below the entity, is attached to it or refers to it, as far as
    the caller may see both the kind and the key that refers.
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

    None for a kind whose entities do none of this.
    """
    facet = _FACETS.get(at.kind.name)
    if facet is None:
        return None
    by_name = facet == "owner"
    name = entity["name" if by_name else "fullyQualifiedName"]
    return at.dated(with_query("/search", {facet: name}))
