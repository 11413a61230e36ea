"""Evidence of the entity of a contract: its newest state, and the measurements of it."""

from collections.abc import Callable, Iterator
from itertools import islice
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
_AT_ONCE = 50
"""Points that are read at a time."""
_PAGE_BYTES = 1_000_000


def gather_evidence(
    measurements: Measurements,
    contract: Entity,
    entity: Entity,
    now: int,
    newest: Callable[[str], Entity | None],
) -> Evidence:
    """Gather the evidence that a contract is judged by at a time, in milliseconds since 1970.

    A measurement of a later time does not count yet: the clock or the time zone of its reporter may
    be wrong. `newest` gives the newest state of the entity with an id. Raises StoreUnavailable.
    """
    promised = contract.value("sla") or {}
    known = _Known(measurements, now)
    tests: dict[str, str | None] = {}
    for case_id in expected_tests(contract):
        case = newest(case_id)
        is_there = case is not None and not case.deleted and not case.purged
        tests[case_id] = _test_status(known, case_id) if is_there else None
    return Evidence(
        entity=entity,
        entity_json=document.encode(document.fields(entity)),
        tests=tests,
        recorded=_recorded(known, entity, promised) if promised else Recorded(),
        reported=_reported(known, contract),
        changes_at=known.changes_at,
    )


def newest_result(measurements: Measurements, contract_id: str) -> dict[str, Any] | None:
    """The newest result of a contract without its words; None where there is no result."""
    newest = measurements.latest(contract_id, RESULT)
    if newest is None:
        return None
    held: dict[str, Any] = msgspec.to_builtins(latest(newest, with_message=False))
    return held


def expected_tests(contract: Entity) -> list[str]:
    """The ids of the test cases that a contract names."""
    return [each["id"] for each in contract.value("qualityExpectations") or ()]


class _Known:
    """The measurements up to `now`; of later ones only the first time is noted."""

    def __init__(self, measurements: Measurements, now: int) -> None:
        self._measurements = measurements
        self.now = now
        self.changes_at: int | None = None
        """Time of the first measurement after `now`, None without one."""

    def comes(self, at: int) -> None:
        """Note that there is a measurement for a later time."""
        self.changes_at = at if self.changes_at is None else min(self.changes_at, at)

    def points(
        self, entity_id: str, series: str, part: str = "", limit: int = _AT_ONCE
    ) -> Iterator[tuple[int, bytes]]:
        """Time and JSON of the points of a series, the newest first."""
        later = PageRequest(
            entity_id=entity_id,
            series=series,
            part=part,
            since=self.now + 1,
            limit=_AT_ONCE,
            most_bytes=_PAGE_BYTES,
        )
        if coming := self._measurements.page(later).points:
            self.comes(coming[-1][0])
        before: int | None = self.now + 1
        while before is not None:
            wanted = PageRequest(
                entity_id=entity_id,
                series=series,
                part=part,
                before=before,
                limit=limit,
                most_bytes=_PAGE_BYTES,
            )
            page = self._measurements.page(wanted)
            yield from page.points
            before = page.points[-1][0] if page.more else None


def _test_status(known: _Known, case_id: str) -> str | None:
    for _, body in known.points(case_id, RESULT, limit=1):
        return msgspec.json.decode(body, type=TestResult).test_case_status
    return None


def _reported(known: _Known, contract: Entity) -> ContractResult | None:
    """The newest result that somebody else than the catalog has found."""
    for _, body in known.points(contract.id, RESULT):
        held = msgspec.json.decode(body, type=ContractResult)
        if not held.by_catalog:
            return held
    return None


def _recorded(known: _Known, entity: Entity, promised: dict[str, Any]) -> Recorded:
    """The refreshes and the profile that were recorded of a table."""
    refreshes = []
    for operation in _WRITING:
        points = known.points(entity.id, SYSTEM, operation, limit=_MOST_REFRESHES)
        refreshes += [at for at, _ in islice(points, _MOST_REFRESHES)]
    life_cycle = entity.value("lifeCycle") or {}
    touched = (life_cycle.get(key) for key in ("created", "updated"))
    for at in (each["timestamp"] for each in touched if each):
        if at <= known.now:
            refreshes.append(at)
        else:
            known.comes(at)
    profile = None
    if column := promised.get("columnName"):
        newest = next(known.points(entity.id, COLUMN, column, limit=1), None)
        profile = msgspec.json.decode(newest[1], type=ColumnProfile) if newest else None
    return Recorded(
        refreshes=refreshes,
        profiled_at=profile.timestamp if profile else None,
        newest_value=profile.max if profile else None,
    )
