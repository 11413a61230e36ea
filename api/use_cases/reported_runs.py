"""Runs of the tests of contracts that tools report: results of each contract that was tested."""

from typing import Any

import msgspec

from api.callers.permissions import Access
from api.services import Services
from api.use_cases.publications import known_contracts
from domain.aggregate.entity import Entity
from domain.contracts.exporting import document_of
from domain.contracts.importing import find_object, object_at, schema_objects
from domain.contracts.locations import object_of
from domain.contracts.validation.kept_runs import KEPT_RUNS, KeptRun, kept_run
from domain.contracts.validation.reported_runs import ContractFacts, ReportedRun, result_of
from domain.contracts.validation.results import Status
from domain.errors import NotFound, shown
from domain.kinds.registry import CONTRACT
from domain.machine import clock
from domain.measurements.port import PageRequest
from domain.measurements.reports import RESULT, TESTED, Point
from domain.writing.placing import contracts_with

_PAGE_BYTES = 16_000_000


class RunOutcome(msgspec.Struct, rename="camel"):
    """A contract that has a result by a run."""

    id: str
    fully_qualified_name: str
    contract_execution_status: Status


class ReportedRunAnswer(msgspec.Struct, rename="camel"):
    """The contracts that a run has tested."""

    run_id: str
    contracts: list[RunOutcome]
    not_tested: list[str]
    """Qualified names of contracts of the tested document that no check is about."""


def keep_run(services: Services, run: ReportedRun) -> ReportedRunAnswer:
    """Keep a run with each contract of the document that was tested, and the result that it has.

    A run that was reported before changes nothing. Raises NotFound where no contract has the
    document, and InvalidInput for a time that is too old or in the future.
    """
    contracts = _tested(services, run)
    if not contracts:
        raise NotFound(f"no contract has a document of the id {shown(run.data_contract_id)}")
    answer = ReportedRunAnswer(run_id=str(run.run_id), contracts=[], not_tested=[])
    points: dict[str, list[Point]] = {}
    for contract, tested in contracts:
        result = result_of(run, tested)
        if result is None:
            answer.not_tested.append(contract.fqn)
            continue
        status = result.contract_execution_status
        answer.contracts.append(RunOutcome(contract.id, contract.fqn, status))
        if services.measurements.newest_point(contract.id, TESTED, answer.run_id) is None:
            kept = msgspec.json.encode(result.of(contract.id, contract.fqn))
            body = kept_run(run, tested.checks_of(run), status)
            at = result.timestamp
            points[contract.id] = [
                Point(RESULT, "", at, kept),
                Point(TESTED, answer.run_id, at, body),
            ]
    services.measurements.write_all(points, clock.now())
    for contract_id in points:
        _forget_older(services, contract_id)
    return answer


def newest_run(services: Services, access: Access, contract: dict[str, Any]) -> KeptRun | None:
    """The newest run of a contract's tests, for callers who may see all of it and its entity."""
    about = contract.get(CONTRACT.parents[0])
    if about is None or not access.sees_whole.issuperset((CONTRACT.name, about["type"])):
        return None
    wanted = PageRequest(entity_id=contract["id"], series=TESTED, limit=1, most_bytes=1)
    points = services.measurements.page(wanted).points
    return msgspec.json.decode(points[0][1], type=KeptRun) if points else None


def _tested(services: Services, run: ReportedRun) -> list[tuple[Entity, ContractFacts]]:
    """The contracts that have the tested document, each with what of the run is about it."""
    known = known_contracts(services, run.data_contract_id)
    having = contracts_with(services.catalog.planner, known, run.data_contract_id)
    contracts = sorted(having, key=lambda contract: contract.fqn)
    return [(contract, _facts(contract, alone=len(contracts) == 1)) for contract in contracts]


def _facts(contract: Entity, *, alone: bool) -> ContractFacts:
    document = document_of(contract)
    objects = schema_objects(document)
    names = None
    if not alone or len(objects) > 1:
        own = object_of(contract.body)
        if not own:
            place = find_object(document, contract.value(CONTRACT.parents[0])["name"])
            own = object_at(document, place)
        held = (own.get(key) for key in ("physicalName", "name"))
        names = frozenset(each for each in held if isinstance(each, str))
    version = document.get("version")
    return ContractFacts(
        names=names,
        version=contract.version,
        document_version=None if version is None else str(version),
        rules=len(contract.value("odcsQualityRules") or ()),
    )


def _forget_older(services: Services, contract_id: str) -> None:
    """Delete all but the newest runs of a contract."""
    wanted = PageRequest(
        entity_id=contract_id, series=TESTED, limit=KEPT_RUNS, most_bytes=_PAGE_BYTES
    )
    page = services.measurements.page(wanted)
    if page.more:
        services.measurements.delete_before(contract_id, TESTED, page.points[-1][0])
