"""The types of entities, as clients ask for them to learn which custom properties there are."""

from typing import Any
from uuid import UUID, uuid5

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest
from domain.errors import InvalidInput, NotFound
from domain.kinds.registry import KINDS

_IDS = UUID("2f6a1c1e-35b4-5a0e-8f8e-6b1f6a1f7a53")
"""Namespace of the ids of types, which follow from their names."""
_PROPERTIES = "customProperties"
_PARAMETERS: Parameters = {
    "fields": query(str, f"`{_PROPERTIES}`, of which none are defined, or `*`.")
}


class EntityType(msgspec.Struct, rename="camel", omit_defaults=True):
    """A kind of entity, as OpenMetadata describes types."""

    id: str
    name: str
    fully_qualified_name: str
    description: str
    category: str
    name_space: str
    custom_properties: list[dict[str, Any]] | None = None
    """Always empty: `extension` takes what properties an organisation likes."""


def type_routes() -> list[HTTPRouteHandler]:
    """The route of the types of entities."""

    def by_name(request: AnyRequest, type_name: str, fields: str | None) -> Finished:
        access: Access = request.auth
        kind = KINDS.get(type_name)
        if kind is None or not access.may(Permission(Action.VIEW, type_name)):
            raise NotFound(f"type instance for {type_name[:80]!r} not found")
        asked = [each.strip() for each in fields.split(",")] if fields else []
        for each in asked:
            if each not in (_PROPERTIES, "*"):
                raise InvalidInput(f"fields of a type are {_PROPERTIES}, got {each[:64]!r}")
        shown = EntityType(
            id=str(uuid5(_IDS, type_name)),
            name=type_name,
            fully_qualified_name=type_name,
            description=(kind.body.__doc__ or "").partition("\n")[0],
            category="entity",
            name_space="data",
            custom_properties=[] if asked else None,
        )
        return Finished(msgspec.json.encode(shown))

    operation = Operation(
        "getTypeByName",
        "Get the type of a kind",
        "As OpenMetadata's clients ask for it, to learn of custom properties.",
        answer=EntityType,
        tag="system",
    )
    path = "/v1/metadata/types/name/{type_name:str}"
    return [operation.at("GET", path, Permission(Action.VIEW), by_name, _PARAMETERS)]
