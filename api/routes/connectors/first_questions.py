"""Questions that OpenMetadata's clients ask before they begin; the answers are the same for ever.

Every type of service has a definition of its connection test, and none has a step: which steps a
connector knows depends on its release, and one that it does not know ends its run. No metric of the
profiler is switched off, because which of them a run takes is said in its own configuration. The
types of entities tell of custom properties, and none are defined.
"""

from typing import Any
from uuid import UUID, uuid5

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest, name_in_path
from api.use_cases.list_parameters import named_in
from domain.errors import InvalidInput, NotFound
from domain.kinds.registry import KINDS

_SUFFIX = ".testConnectionDefinition"
_PROFILER = "profilerConfiguration"
_SETTINGS = {"config_type": _PROFILER, "config_value": {"metricConfiguration": []}}
_IDS = UUID("2f6a1c1e-35b4-5a0e-8f8e-6b1f6a1f7a53")
"""Namespace of the ids of types, which follow from their names."""
_PROPERTIES = "customProperties"
_FIELDS: Parameters = {"fields": query(str, f"`{_PROPERTIES}`, of which none are defined, or `*`.")}


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


def first_question_routes() -> list[HTTPRouteHandler]:
    """The routes of connection tests, the settings of the profiler, and the types of entities."""
    viewing = Permission(Action.VIEW)
    return [
        Operation(
            "getTestConnectionDefinitionByName",
            "Get the steps that test the connection to a service",
            "Of every service type, as in `Postgres.testConnectionDefinition`, and without a step,"
            " because connectors stop at steps that they do not know.",
            answer="TestConnectionDefinition",
        ).at(
            "GET",
            "/v1/services/testConnectionDefinitions/name/{fqn:path}",
            viewing,
            _connection_test,
        ),
        Operation(
            "getTypeByName",
            "Get the type of a kind",
            "As OpenMetadata's clients ask for it, to learn of custom properties.",
            answer=EntityType,
            tag="system",
        ).at("GET", "/v1/metadata/types/name/{type_name:str}", viewing, _type, _FIELDS),
        Operation(
            "getProfilerSettings",
            "Get the settings of the profiler",
            "What OpenMetadata's profiler asks before it measures; nothing is set.",
            answer="ProfilerSettings",
        ).at("GET", f"/v1/system/settings/{_PROFILER}", viewing, _profiler_settings),
    ]


def _connection_test(request: AnyRequest, fqn: str) -> Finished:
    name = name_in_path(request)
    service_type = name.removesuffix(_SUFFIX)
    if service_type in ("", name):
        raise NotFound(f"testConnectionDefinition instance for {name[:80]} not found")
    return Finished(msgspec.json.encode({"name": service_type, "steps": []}))


def _profiler_settings(_: AnyRequest) -> Finished:
    return Finished(msgspec.json.encode(_SETTINGS))


def _type(request: AnyRequest, type_name: str, fields: str | None) -> Finished:
    access: Access = request.auth
    kind = KINDS.get(type_name)
    if kind is None or not access.may(Permission(Action.VIEW, type_name)):
        raise NotFound(f"type instance for {type_name[:80]!r} not found")
    asked = named_in(fields)
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
