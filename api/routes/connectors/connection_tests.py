"""What OpenMetadata's connectors ask before a run: the steps that test the connection to a service.

Every type of service has a definition, and none has a step: which steps a connector knows depends
on its release, and one that it does not know ends its run.
"""

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest, name_in_path
from domain.errors import NotFound

_SUFFIX = ".testConnectionDefinition"


def connection_test_routes() -> list[HTTPRouteHandler]:
    """The route of the definitions of connection tests, by the name of each."""

    def definition(request: AnyRequest, fqn: str) -> Finished:
        name = name_in_path(request)
        service_type = name.removesuffix(_SUFFIX)
        if service_type in ("", name):
            raise NotFound(f"testConnectionDefinition instance for {name[:80]} not found")
        return Finished(msgspec.json.encode({"name": service_type, "steps": []}))

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
            Permission(Action.VIEW),
            definition,
        )
    ]
