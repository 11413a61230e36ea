"""Compare documents of contracts, and versions and proposals of a stored contract."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import JSON_TYPES, YAML_TYPES, check_media_type, read_body
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.comparisons import Comparison, PerspectiveName, comparison
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest, id_in_path
from api.services import Services
from api.use_cases.comparisons import compare_documents, compare_stored
from api.use_cases.edge_sight import sight_of
from api.use_cases.impact import impact_on_readers
from api.use_cases.measured import reading
from domain.contracts.canonical import MAX_BYTES
from domain.contracts.changes.rules import Perspective
from domain.kinds.registry import CONTRACT

_Types = Literal["lattice", "exact"]
_HOW: Parameters = {
    "perspective": query(
        PerspectiveName, "For whom `level` and `compatible` are: `full` is for both.", "consumer"
    ),
    "types": query(
        _Types, "`exact` takes each other spelling of a type for another type.", "lattice"
    ),
}
_VERSIONS: Parameters = {
    "from_": query(str, "Version of the contract to compare from, such as 0.1."),
    "to": query(str, "Version to compare with; by default the contract as it is now."),
}
_ANY_TYPE = (*JSON_TYPES, *YAML_TYPES)


def comparison_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes that compare contracts; nothing is stored."""

    def comparing(work: Callable[..., Comparison]) -> Callable[..., Any]:
        async def handle(
            request: AnyRequest, perspective: str, types: _Types, **given: Any
        ) -> Finished:
            media_type = check_media_type(request.headers.get("content-type"), _ANY_TYPE)
            body = await read_body(request, MAX_BYTES)

            def compared(request: AnyRequest) -> bytes:
                result = work(
                    request,
                    body,
                    Perspective(perspective),
                    is_yaml=media_type in YAML_TYPES,
                    exact=types == "exact",
                    **given,
                )
                return msgspec.json.encode(result)

            return await reading(services, compared)(request)

        return handle

    def documents(
        request: AnyRequest, body: bytes, perspective: Perspective, **how: Any
    ) -> Comparison:
        return comparison(compare_documents(body, **how), perspective)

    def stored(
        request: AnyRequest, body: bytes, perspective: Perspective, *, entity_id: str, **how: Any
    ) -> Comparison:
        access, contract_id = request.auth, id_in_path(entity_id)
        contract, changes = compare_stored(services, access, contract_id, body, **how)
        result = comparison(changes, perspective)
        sight = sight_of(access, Action.VIEW)
        result.impact = impact_on_readers(services, access, contract, changes, sight)
        return result

    viewing = Permission(Action.VIEW, CONTRACT.name)
    path = f"/v1/{CONTRACT.collection}"
    shared: Any = {
        "answer": Comparison,
        "body_types": _ANY_TYPE,
        "errors": (400, 404, 408, 413, 415, 503),
    }
    return [
        Operation(
            "compareOdcs",
            "Compare two ODCS documents",
            f"{_RULES} Both together may have 4 MB.",
            body="OdcsDocuments",
            **shared,
        ).at("POST", f"{path}/compare", viewing, comparing(documents), _HOW),
        Operation(
            "compare{Kind}",
            "Compare a {kind} with a proposed document, or two of its versions",
            f"{_RULES} The document is the body, which is empty where versions are given.",
            body="OdcsDocument",
            **shared,
        ).at(
            "POST",
            f"{path}/{{entity_id:str}}/compare",
            viewing,
            comparing(stored),
            {**_HOW, **_VERSIONS},
        ),
    ]


_RULES = (
    "Each change is graded by a rule of `docs/contracts.md`, for those who read the data and for"
    " those who write it. Nothing is stored."
)
