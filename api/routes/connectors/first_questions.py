"""Questions that OpenMetadata's clients ask before they begin; the answers are the same for ever.

Every type of service has a definition of its connection test, and none has a step: which steps a
connector knows depends on its release, and one that it does not know ends its run. No metric of the
profiler is switched off, because which of them a run takes is said in its own configuration.
"""

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest, name_in_path
from domain.errors import NotFound

_SUFFIX = ".testConnectionDefinition"
_PROFILER = "profilerConfiguration"
_SETTINGS = {"config_type": _PROFILER, "config_value": {"metricConfiguration": []}}


def first_question_routes() -> list[HTTPRouteHandler]:
    """The routes of connection tests, and of the settings of the profiler."""
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
            "getProfilerSettings",
            "Get the settings of the profiler",
            "What OpenMetadata's profiler asks before it measures; nothing is set.",
            answer="ProfilerSettings",
        ).at("GET", f"/v1/system/settings/{_PROFILER}", viewing, _profiler_settings),
    ]


def _connection_test(request: AnyRequest, fqn: str) -> Finished:
    name = name_in_path(request.scope)
    service_type = name.removesuffix(_SUFFIX)
    if service_type in ("", name):
        raise NotFound(f"testConnectionDefinition instance for {name[:80]} not found")
    return Finished(msgspec.json.encode({"name": service_type, "steps": []}))


def _profiler_settings(_: AnyRequest) -> Finished:
    return Finished(msgspec.json.encode(_SETTINGS))
