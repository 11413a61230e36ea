"""The results of a run of dbt for the contracts of a database service."""

from collections.abc import Mapping

import msgspec

from domain.contracts.validation.results import ContractResult, Status
from domain.dbt.contract_results import result_of
from domain.dbt.contracts import find_service
from domain.dbt.run_results import Run
from domain.dbt.telling import MOST_TOLD, told
from domain.dbt.tested_versions import TestedVersions
from domain.dbt.walking import contracts_below
from domain.measurements.port import Measurements
from domain.measurements.reports import RESULT, Point
from domain.writing.catalog import Catalog


class ContractOutcome(msgspec.Struct, rename="camel", kw_only=True):
    """The result that a contract has of a run."""

    unique_id: str
    """Unique id of the contract's model in dbt."""
    contract: str
    """Qualified name of the contract."""
    status: Status


class RunImport(msgspec.Struct, rename="camel", kw_only=True):
    """What a run means for the contracts of a service."""

    contracts: list[ContractOutcome] = []
    unmatched: list[str] = []
    """Unique ids of the models and tests that belong to no contract."""
    omitted: int = 0
    """Number of contracts and nodes that the lists above leave out."""


class RunResults(msgspec.Struct, frozen=True):
    """The results of a run, to be stored, and the report on them."""

    points: dict[str, list[Point]]
    """Id of each contract -> its result."""
    told: RunImport


def results_of(
    catalog: Catalog,
    measurements: Measurements,
    service: str,
    run: Run,
    statuses: Mapping[str, str],
) -> RunResults:
    """The result of a run for each contract of which it has run something.

    `service` is the name of a database service, and `statuses` has the status of each node. A
    contract has one result of a run, however often the run is reported: its time is that of the
    run, and its version the one that was tested. Reads all contracts of the service; raises
    NotFound where there is no such service.
    """
    below = find_service(catalog.store, service)
    versions = TestedVersions(catalog.store, measurements, below.id, run)
    points: dict[str, list[Point]] = {}
    contracts: list[ContractOutcome] = []
    matched = set[str]()
    for contract, origin in contracts_below(catalog, below):
        if (tested := versions.of(contract)) is None:
            continue
        matched |= {origin.model, *origin.tests}
        result = result_of(tested, sorted(origin.tests), origin.model, run, statuses)
        if result is None:
            continue
        kept: ContractResult = result.of(contract.id, contract.fqn)
        points[contract.id] = [Point(RESULT, "", run.at, msgspec.json.encode(kept))]
        status = kept.contract_execution_status
        contracts.append(
            ContractOutcome(unique_id=told(origin.model), contract=contract.fqn, status=status)
        )
    unmatched = [each for each in statuses if each not in matched]
    omitted = sum(max(0, len(each) - MOST_TOLD) for each in (contracts, unmatched))
    return RunResults(
        points,
        RunImport(
            contracts=contracts[:MOST_TOLD],
            unmatched=[told(each) for each in unmatched[:MOST_TOLD]],
            omitted=omitted,
        ),
    )
