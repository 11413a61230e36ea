"""What is known of the entity of a contract: its newest state, and what was measured of it."""

from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.contracts.validation.results import ContractResult, latest
from domain.contracts.validation.sla import Recorded
from domain.contracts.validation.verdict import Evidence
from domain.measurements.port import Measurements, PageRequest
from domain.measurements.reports import COLUMN, RESULT, SYSTEM, ColumnProfile, TestResult
from domain.openmetadata import document

_WRITING = ("INSERT", "UPDATE", "WRITE")
"""Operations on a table that renew its data."""
_MOST_REFRESHES = 1_000
_MOST_RESULTS = 50
"""Newest results of a contract among which one is sought that somebody has reported."""
_PAGE_BYTES = 1_000_000


def gather_evidence(measurements: Measurements, contract: Entity, entity: Entity) -> Evidence:
    """What a contract is held against; raises StoreUnavailable."""
    promised = contract.value("sla") or {}
    return Evidence(
        entity=entity,
        entity_json=document.encode(document.fields(entity)),
        tests={each: _test_status(measurements, each) for each in expected_tests(contract)},
        recorded=_recorded(measurements, entity, promised) if promised else Recorded(),
        reported=_reported(measurements, contract),
    )


def newest_result(measurements: Measurements, contract_id: str) -> dict[str, Any] | None:
    """What the newest result of a contract says of itself, without its words; None without any."""
    newest = measurements.latest(contract_id, RESULT)
    if newest is None:
        return None
    held: dict[str, Any] = msgspec.to_builtins(latest(newest, with_message=False))
    return held


def expected_tests(contract: Entity) -> list[str]:
    """The ids of the test cases that a contract names."""
    return [each["id"] for each in contract.value("qualityExpectations") or ()]


def _test_status(measurements: Measurements, case_id: str) -> str | None:
    newest = measurements.latest(case_id, RESULT)
    if newest is None:
        return None
    return msgspec.json.decode(newest, type=TestResult).test_case_status


def _reported(measurements: Measurements, contract: Entity) -> ContractResult | None:
    """The newest result that somebody else than the catalog has found."""
    wanted = PageRequest(
        entity_id=contract.id,
        series=RESULT,
        part="",
        limit=_MOST_RESULTS,
        most_bytes=_PAGE_BYTES,
    )
    for _, body in measurements.page(wanted).points:
        held = msgspec.json.decode(body, type=ContractResult)
        if not held.by_catalog:
            return held
    return None


def _recorded(measurements: Measurements, entity: Entity, promised: dict[str, Any]) -> Recorded:
    """What is known of the data of a table."""
    refreshes = []
    for operation in _WRITING:
        wanted = PageRequest(
            entity_id=entity.id,
            series=SYSTEM,
            part=operation,
            limit=_MOST_REFRESHES,
            most_bytes=_PAGE_BYTES,
        )
        refreshes += [at for at, _ in measurements.page(wanted).points]
    life_cycle = entity.value("lifeCycle") or {}
    touched = (life_cycle.get(key) for key in ("created", "updated"))
    refreshes += [each["timestamp"] for each in touched if each]
    profile = None
    if column := promised.get("columnName"):
        newest = measurements.newest_point(entity.id, COLUMN, column)
        profile = msgspec.json.decode(newest[1], type=ColumnProfile) if newest else None
    return Recorded(
        refreshes=refreshes,
        profiled_at=profile.timestamp if profile else None,
        newest_value=profile.max if profile else None,
    )
