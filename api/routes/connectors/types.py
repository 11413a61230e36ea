"""Types: those of kinds, with the custom properties that are defined, and those of properties."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import PATCH_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation, Write
from api.declaring.signatures import AnyRequest, id_in_path
from api.services import Services
from api.use_cases.entity_writes import Asked, answer_write, plan_patch
from api.use_cases.list_parameters import named_in
from api.use_cases.measured import reading
from domain.errors import InvalidInput, NotFound
from domain.errors import shown as shown_value
from domain.kinds.bodies.custom_properties import PROPERTIES, CustomProperty
from domain.kinds.bodies.property_types import PROPERTY_TYPES, type_id
from domain.kinds.registry import KINDS, TYPE
from domain.openmetadata.document import stand_ins
from domain.patches.json_input import decode
from domain.reading.changes import ChangeDescription
from domain.requests.body_rules import EXTENSION
from domain.writing.plans import Plan
from projections.entities.single_entities import read_one

_CATEGORIES = Literal["entity", "field"]
_FIELD = rf"({PROPERTIES}|\*)"
_FIELDS: Parameters = {
    "fields": query(
        str,
        f"`{PROPERTIES}`, or `*`.",
        schema={"type": "string", "pattern": f"^({_FIELD}(,{_FIELD})*)?$"},
    )
}
_MOST_LISTED = 1_000
_PAGE: Parameters = {
    "category": query(_CATEGORIES, "Types of kinds, or of custom properties, alone."),
    "limit": query(int, "Of a page.", _MOST_LISTED, ge=1, le=_MOST_LISTED),
    "after": query(str, "`paging.after` of the page before this one."),
}


class EntityType(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """A kind of entity, or a type of custom properties, as OpenMetadata describes types."""

    id: str
    name: str
    fully_qualified_name: str
    description: str
    category: _CATEGORIES
    name_space: str
    custom_properties: list[CustomProperty] | None = None
    """The custom properties of a kind; absent unless `fields` names them."""
    version: float | None = None
    updated_at: int | None = None
    updated_by: str | None = None
    """Version, time and author are absent until the first property is defined."""
    change_description: ChangeDescription | None = None


def type_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of types."""
    names = {type_id(name): name for name in (*KINDS, *PROPERTY_TYPES)}

    def name_of(entity_id: str) -> str:
        wanted = id_in_path(entity_id)
        if wanted not in names:
            raise NotFound(f"type instance for {wanted!r} not found")
        return names[wanted]

    def of_kind(entity_id: str) -> str:
        name = name_of(entity_id)
        if name not in KINDS or EXTENSION not in KINDS[name].keys:
            having = ", ".join(kind.name for kind in KINDS.values() if EXTENSION in kind.keys)
            raise InvalidInput(f"{name} has no custom properties; kinds that have are {having}")
        return name

    def shown(access: Access, name: str, fields: str | None) -> dict[str, Any]:
        asked = _asked(fields)
        if name in PROPERTY_TYPES:
            return _of_property(name)
        if name not in KINDS or not access.may(Permission(Action.VIEW, name)):
            raise NotFound(f"type instance for {name[:80]!r} not found")
        try:
            stored = services.stores.entities.read(lambda model: read_one(model, TYPE, fqn=name))
            body = stored.body
            if withheld := access.withheld(Action.VIEW, TYPE.name):
                body = withheld.cut(body)
            kind_type: dict[str, Any] = {PROPERTIES: [], **msgspec.json.decode(body)}
        except NotFound:
            kind_type = {**_identity(name), **stand_ins(TYPE.name, name), PROPERTIES: []}
        if not _shows_properties(access, name, asked):
            del kind_type[PROPERTIES]
        return kind_type

    def by_name(request: AnyRequest, type_name: str, fields: str | None) -> bytes:
        return msgspec.json.encode(shown(request.auth, type_name, fields))

    def by_id(request: AnyRequest, entity_id: str, fields: str | None) -> bytes:
        return by_name(request, name_of(entity_id), fields)

    def listed(request: AnyRequest, category: str | None, limit: int, after: str | None) -> bytes:
        access: Access = request.auth
        kinds = [name for name in KINDS if access.may(Permission(Action.VIEW, name))]
        of = {"entity": kinds, "field": [*PROPERTY_TYPES], None: [*kinds, *PROPERTY_TYPES]}
        wanted = sorted(of[category])
        rest = [name for name in wanted if name > (after or "")]
        paging: dict[str, Any] = {"total": len(wanted)}
        if len(rest) > limit:
            paging["after"] = rest[limit - 1]
        data = [shown(access, name, None) for name in rest[:limit]]
        return msgspec.json.encode({"data": data, "paging": paging})

    async def define(request: AnyRequest, entity_id: str) -> Finished:
        name = of_kind(entity_id)

        def plan_of(asked: Asked) -> Callable[[], Plan]:
            given = decode(asked.body, dict[str, Any], "the body")
            if withheld := asked.access.withheld(Action.EDIT, TYPE.name):
                withheld.refuse_writing({PROPERTIES: [given]}, replacing=True)
            return lambda: services.catalog.planner.define(name, given, asked.context)

        return await answer_write(services, TYPE, request, Action.EDIT, plan_of)

    async def patch(request: AnyRequest, entity_id: str) -> Finished:
        name = of_kind(entity_id)

        def plan_of(asked: Asked) -> Callable[[], Plan]:
            plan = plan_patch(services.catalog.planner, TYPE, type_id(name), asked)

            def patched() -> Plan:
                try:
                    planned = plan()
                except NotFound:
                    raise NotFound(
                        f"{name} has no custom property yet: a PUT defines one"
                    ) from None
                _refuse_new(planned)
                return planned

            return patched

        return await answer_write(services, TYPE, request, Action.EDIT, plan_of, PATCH_TYPES)

    viewing, editing = Permission(Action.VIEW), Permission(Action.EDIT, TYPE.name)
    defining = Permission(Action.EDIT, TYPE.name, also=Action.CREATE)
    path = f"/v1/{TYPE.collection}"
    return [
        _LIST.at("GET", path, viewing, reading(services, listed), _PAGE, unsupported={}),
        _BY_NAME.at(
            "GET", f"{path}/name/{{type_name:str}}", viewing, reading(services, by_name), _FIELDS
        ),
        _BY_ID.at("GET", f"{path}/{{entity_id:str}}", viewing, reading(services, by_id), _FIELDS),
        _DEFINE.at("PUT", f"{path}/{{entity_id:str}}", defining, define),
        _PATCH.at("PATCH", f"{path}/{{entity_id:str}}", editing, patch),
    ]


_LIST = Operation(
    "listTypes",
    "List types",
    "Of the kinds that the caller may view, and of custom properties; by name.",
    answer="EntityTypeList",
    tag="system",
)
_BY_NAME = Operation(
    "getTypeByName",
    "Get the type of a kind, or of custom properties, by its name",
    "As OpenMetadata's clients ask for it, to learn of custom properties and the ids of types.",
    answer=EntityType,
    tag="system",
)
_BY_ID = Operation("getType", "Get a type by id", answer=EntityType, tag="system")
_DEFINE = Write(
    "putCustomProperty",
    "Define a custom property of a kind",
    "Or replace the definition of its name. `propertyType` refers to a type of custom properties by"
    " its id or name. Later writes of entities are held to it.",
    answer=EntityType,
    statuses=(200, 201),
    body=CustomProperty,
    tag="system",
)
_PATCH = Write(
    "patchType",
    "Patch the custom properties of a kind",
    "RFC 6902, applied to the type as it is shown.",
    answer=EntityType,
    body="JsonPatch",
    tag="system",
)


def _refuse_new(planned: Plan) -> None:
    """Raise InvalidInput for a patch that defines a property, or gives one another name."""
    old, new = (
        {each["name"] for each in state.value(PROPERTIES) or ()} if state else set[str]()
        for state in (planned.own.before, planned.own.after)
    )
    if added := sorted(new - old):
        name = shown_value(added[0])
        raise InvalidInput(f"{PROPERTIES}: {name} is not defined: a PUT defines it")


def _identity(name: str) -> dict[str, Any]:
    return {"id": type_id(name), "name": name, "fullyQualifiedName": name}


def _of_property(name: str) -> dict[str, Any]:
    described = {"description": PROPERTY_TYPES[name].description}
    return {**_identity(name), **described, "category": "field", "nameSpace": "basic"}


def _asked(fields: str | None) -> list[str]:
    """The fields of a type that are asked for; raises InvalidInput for another one."""
    asked = named_in(fields)
    for each in asked:
        if each not in (PROPERTIES, "*"):
            raise InvalidInput(f"fields of a type are {PROPERTIES}, got {each[:64]!r}")
    return asked


def _shows_properties(access: Access, kind_name: str, asked: list[str]) -> bool:
    """Return True if custom properties are asked for and shown.

    They are withheld with `extension`, whose keys they name: raises FieldWithheld.
    """
    withheld = access.withheld(Action.VIEW, kind_name)
    if PROPERTIES in asked and withheld:
        withheld.refuse_field(EXTENSION, "fields")
    return bool(asked) and not (withheld and withheld.covers(EXTENSION))
