"""Import contracts from manifests of dbt, and results from its runs."""

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Large
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Report, WriteOfMany
from api.declaring.signatures import AnyRequest
from api.services import Services
from api.use_cases.dbt import DbtImports
from domain.dbt.contracts import ManifestImport
from domain.dbt.results import RunImport
from domain.kinds.registry import CONTRACT

_SERVICE: Parameters = {
    "service": query(str, "Name of the database service that has the tables of the project.", ...)
}


def dbt_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes that take artifacts of dbt."""
    imports = DbtImports(services)

    async def manifest(request: AnyRequest, service: str) -> Large:
        written, told = await imports.manifest(request, service)
        return services.large(request, msgspec.json.encode(told), headers=written.headers)

    async def run_results(request: AnyRequest, service: str) -> Large:
        told = await imports.run_results(request, service)
        return services.large(request, msgspec.json.encode(told))

    return [
        WriteOfMany(
            "importDbtManifest",
            "Write the contracts of a manifest of dbt",
            "Of each model with an enforced contract and a table in the catalog. What people wrote"
            f" stays, and what is there already is not written again. {_TAKEN}",
            answer=ManifestImport,
            body="DbtManifest",
            errors=(400, 404, 408, 409, 413, 415, 503),
        ).at(
            "POST",
            "/v1/dbt/manifest",
            Permission(Action.EDIT, CONTRACT.name, also=Action.CREATE),
            manifest,
            _SERVICE,
        ),
        Report(
            "importDbtRunResults",
            "Keep the results of a run of dbt",
            f"One for each contract of which something was run; a run counts once. {_TAKEN}",
            answer=RunImport,
            body="DbtRunResults",
        ).at(
            "POST",
            "/v1/dbt/runResults",
            Permission(Action.EDIT, CONTRACT.name),
            run_results,
            _SERVICE,
        ),
    ]


_TAKEN = (
    "The body may be packed by gzip, and have 100 MB unpacked. A caller imports one at a time:"
    " another one is a 429."
)
