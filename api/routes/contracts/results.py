"""Validate contracts, and keep, read and delete the results."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, YAML_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, in_path, query
from api.declaring.operation import Operation, Removal, Report
from api.declaring.signatures import AnyRequest, id_in_path
from api.routes.contracts.documents import OF_ENTITY
from api.routes.measurements.reports import LISTED, PERIOD, STORED
from api.services import Services
from api.use_cases import measured
from api.use_cases.contract_validation import (
    contract_about,
    find_contract,
    keep_result,
    shown_result,
    validate_contract,
    validate_request,
)
from api.use_cases.documents import ContractValidation
from api.use_cases.entity_writes import read_asked
from domain.aggregate.entity import Entity
from domain.contracts.validation.results import ContractResult, result_id
from domain.errors import NotFound
from domain.kinds.registry import CONTRACT
from domain.measurements.port import PageRequest
from domain.measurements.reports import FOREVER, RESULT

_STRICT: Parameters = {
    "strict": query(bool, "Columns of a wider type than is promised fail.", False)
}
_ID = "contract"
"""Name of the part of paths that is the id of a contract."""


def contract_result_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of validations of contracts and of their results."""
    store = services.measurements

    def judged(request: AnyRequest, contract: Entity, strict: bool) -> bytes:
        result = validate_contract(services, request.auth, contract, strict=strict)
        return shown_result(request.auth, contract, msgspec.json.encode(result))

    def validate(request: AnyRequest, contract: str, strict: bool) -> bytes:
        return judged(request, found(contract), strict)

    def validate_of_entity(
        request: AnyRequest, entity_id: UUID, entity_type: str, strict: bool
    ) -> bytes:
        return judged(request, contract_about(services, str(entity_id), entity_type), strict)

    def dry_run(media_types: tuple[str, ...]) -> Callable[..., Any]:
        async def handler(request: AnyRequest) -> Finished:
            asked = await read_asked(request, media_types)

            def work() -> bytes:
                return msgspec.json.encode(validate_request(services, asked))

            return services.large(request, await services.heavy_read(request, work))

        return handler

    def found(contract: str) -> Entity:
        return find_contract(services, id_in_path(contract))

    def put(request: AnyRequest, body: bytes, contract: str) -> bytes:
        given = measured.report(body, ContractResult)
        held = found(contract)
        # A client that says nothing of a version has seen the newest.
        version = given.data_contract_version or held.version / 10
        given = replace(given, data_contract_version=version, by_catalog=None)
        kept = keep_result(services, held, given)
        return shown_result(request.auth, held, msgspec.json.encode(kept))

    def listed(request: AnyRequest, contract: str, **period: Any) -> bytes:
        held = found(contract)
        shown = partial(shown_result, request.auth, held)
        return measured.page(services, held.id, RESULT, "", **period, shown=shown)

    def newest(request: AnyRequest, contract: str) -> bytes:
        held = found(contract)
        body = store.latest(held.id, RESULT)
        if body is None:
            raise NotFound("the contract has no result")
        return shown_result(request.auth, held, body)

    def one(request: AnyRequest, contract: str, result: str) -> bytes:
        held, sought = found(contract), id_in_path(result)
        times = store.times(held.id, RESULT)
        at = next((at for at in times if result_id(held.id, at) == sought), None)
        if at is not None:
            wanted = PageRequest(
                entity_id=held.id, series=RESULT, part="", since=at, until=at, limit=1, most_bytes=1
            )
            for _, body in store.page(wanted).points:
                return shown_result(request.auth, held, body)
        raise NotFound(f"the contract has no result {sought}")

    def delete(request: AnyRequest, contract: str, at: int) -> bytes:
        held = found(contract)
        if at > FOREVER or not store.delete(held.id, RESULT, at):
            raise NotFound(f"the contract has no result of {at}")
        return _DELETED % 1

    def delete_before(request: AnyRequest, contract: str, at: int) -> bytes:
        return _DELETED % store.delete_before(found(contract).id, RESULT, min(at, FOREVER))

    viewing, editing, deleting = (
        Permission(action, CONTRACT.name) for action in (Action.VIEW, Action.EDIT, Action.DELETE)
    )
    creating = Permission(Action.CREATE, CONTRACT.name)
    base = f"/v1/{CONTRACT.collection}"
    item = f"{base}/{{{_ID}:str}}"
    results = f"{item}/results"
    at: Mapping[str, Any] = {"at": in_path(int)}
    judging: Any = {"answer": ContractResult, "errors": (400, 404, 408, 503)}
    dry: Any = {
        "answer": ContractValidation,
        "body": "JudgedContract",
        "errors": (400, 408, 413, 415, 503),
    }
    return [
        Operation("validateDataContract", "Validate a contract", _VALIDATED, **judging).at(
            "POST", f"{item}/validate", editing, measured.changing(services, validate), _STRICT
        ),
        Operation(
            "validateDataContractOfEntity",
            "Validate the contract of an entity",
            _VALIDATED,
            **judging,
        ).at(
            "POST",
            f"{base}/entity/validate",
            editing,
            measured.changing(services, validate_of_entity),
            {**OF_ENTITY, **_STRICT},
        ),
        Operation(
            "validateDataContractRequest", "Tell if a contract would be taken", _DRY, **dry
        ).at("POST", f"{base}/validate", creating, dry_run((*JSON_TYPES, *YAML_TYPES))),
        Operation(
            "validateDataContractRequestYaml",
            "Tell if a contract in YAML would be taken",
            _DRY,
            body_types=YAML_TYPES,
            **dry,
        ).at("POST", f"{base}/validate/yaml", creating, dry_run(YAML_TYPES)),
        Report(
            "putDataContractResult",
            "Report a result of a contract",
            f"In place of one of the same `timestamp`. {STORED}",
            answer=ContractResult,
            body=ContractResult,
        ).at("PUT", results, editing, measured.reporting(services, put)),
        Operation(
            "listDataContractResults",
            "List the results of a contract",
            LISTED,
            answer="ContractResultList",
        ).at("GET", results, viewing, measured.reading(services, listed), PERIOD),
        Operation(
            "getLatestDataContractResult",
            "Get the newest result of a contract",
            answer=ContractResult,
        ).at("GET", f"{results}/latest", viewing, measured.reading(services, newest)),
        Operation("getDataContractResult", "Get a result of a contract", answer=ContractResult).at(
            "GET", f"{results}/{{result:str}}", viewing, measured.reading(services, one)
        ),
        Removal(
            "deleteDataContractResult",
            "Delete a result of a contract",
            answer="Deleted",
        ).at("DELETE", f"{results}/{{at:int}}", deleting, measured.changing(services, delete), at),
        Removal(
            "deleteDataContractResultsBefore",
            "Delete the results of a contract from before a time",
            answer="Deleted",
        ).at(
            "DELETE",
            f"{results}/before/{{at:int}}",
            deleting,
            measured.changing(services, delete_before),
            at,
        ),
    ]


_DELETED = b'{"deleted":%d}'
_VALIDATED = (
    "Its columns against those of the entity, its rules against the entity's metadata, its tests by"
    " their newest results, and its SLA by what was recorded. What was promised and not measured is"
    f" named in `result`, and makes a `PartialSuccess`. {STORED}"
)
_DRY = "Nothing is stored. `constraintErrors` are those about what is there already."
