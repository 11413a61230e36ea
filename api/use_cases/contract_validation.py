"""Validations of contracts for a caller: the evidence is gathered, and the result kept."""

import time

import msgspec
from msgspec.structs import replace

from api.callers.permissions import Access, Action
from api.services import Services
from api.use_cases.documents import ContractValidation
from api.use_cases.entity_writes import Asked, taken_values
from domain.aggregate.entity import Entity
from domain.contracts.validation import columns
from domain.contracts.validation.results import ContractResult, shown
from domain.contracts.validation.rules import RulesProcess
from domain.contracts.validation.verdict import judge
from domain.errors import AlreadyExists, NotFound, RequestRefused
from domain.judging.evidence import gather_evidence
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import CONTRACT, KINDS
from domain.machine import clock
from domain.measurements.reports import (
    RESULT,
    Point,
)
from domain.writing.documents import contract_of
from domain.writing.entity_cache import ByName
from domain.writing.plans import Plan
from projections.visibility.withholding import FieldWithheld


def find_contract(services: Services, which: str | ByName) -> Entity:
    """The newest state of a live contract; raises NotFound."""
    return services.catalog.planner.live(CONTRACT, which)


def contract_about(services: Services, entity_id: str, kind: str) -> Entity:
    """The live contract of an entity; raises NotFound where there is none."""
    contract = contract_of(services.catalog.planner, entity_id)
    if contract is not None:
        return contract
    raise NotFound(f"{CONTRACT.name} instance for {kind} {entity_id} not found")


def validate_contract(
    services: Services, access: Access, contract: Entity, *, strict: bool
) -> ContractResult:
    """Hold a contract against what is known of its entity, and keep the result.

    Raises NotFound where the entity is gone, and Forbidden and FieldWithheld for callers who may
    not see all of it: what rules come to tells of it.
    """
    begun, moment = time.perf_counter(), clock.now()
    held = contract.value(CONTRACT.parents[0])
    kind = KINDS[held["type"]]
    entity = _visible_entity(services, access, kind, held["id"])
    newest = services.catalog.planner.newest
    evidence = gather_evidence(services.measurements, contract, entity, moment, newest)
    with RulesProcess() as process:
        result = judge(contract, evidence, moment, process, strict=strict)
    result = replace(result, execution_time=int((time.perf_counter() - begun) * 1_000))
    return keep_result(services, contract, result)


def keep_result(services: Services, contract: Entity, result: ContractResult) -> ContractResult:
    """Store a result of a contract in place of one of its time, and return it as it is kept.

    Raises InvalidInput for a time that is too old or in the future.
    """
    kept = result.of(contract.id, contract.fqn)
    point = Point(RESULT, "", kept.timestamp, msgspec.json.encode(kept))
    services.measurements.write(contract.id, [point], clock.now())
    return kept


def shown_result(access: Access, contract: Entity, result: bytes) -> bytes:
    """The JSON of a result as the caller's client knows it, and as far as the caller may see it.

    Failures tell of the contract and of its entity, so a caller who may not see all of both learns
    only how the validation ended.
    """
    details = sees_details(access, contract)
    return shown(result, with_version=not access.statuses, with_details=details)


def sees_details(access: Access, contract: Entity) -> bool:
    """True if a caller may know of a result of a contract more than how it ended."""
    return access.sees_whole.issuperset(
        (CONTRACT.name, contract.value(CONTRACT.parents[0])["type"])
    )


def validate_request(services: Services, asked: Asked) -> ContractValidation:
    """Tell if a request to create a contract would be taken, and fit its entity.

    Nothing is stored. Raises InvalidInput for what is no mapping, StoreUnavailable, and Forbidden
    and FieldWithheld as `validate_contract` does.
    """
    access, errors, constraints = asked.access, list[str](), list[str]()
    given = asked.values()
    try:
        values = taken_values(CONTRACT, Action.CREATE, access, given)
        planner = services.catalog.planner
        context = replace(asked.context, contract_first=True)
        plan: Plan | None = planner.create(CONTRACT, values, context)
    except FieldWithheld:
        raise
    except AlreadyExists as error:
        plan = None
        constraints.append(error.message)
    except RequestRefused as error:
        plan = None
        errors.append(error.message)
    compared = None
    if plan is not None:
        contract = plan.own.after
        held = contract.value(CONTRACT.parents[0])
        kind = KINDS[held["type"]]
        entity = _visible_entity(services, access, kind, held["id"])
        if (promised := contract.value("schema")) and columns.paths_to_columns(kind):
            there = columns.columns_of(kind, entity)
            compared = columns.compare(promised, there, strict=False)
    return ContractValidation(
        valid=plan is not None and not (compared and compared.failed),
        schema_validation=compared,
        entity_errors=errors,
        constraint_errors=constraints,
    )


def _visible_entity(services: Services, access: Access, kind: EntityKind, entity_id: str) -> Entity:
    """The newest state of an entity that the caller may see all of."""
    access.require(Action.VIEW, kind.name)
    if withheld := access.withheld(Action.VIEW, kind.name):
        withheld.refuse_all(f"a validation tells of all of a {kind.name}")
    return services.catalog.planner.live(kind, entity_id)
