"""The results of a run of dbt, and what they mean for a contract.

Results are read as raw JSON of any version from 4 on
(https://docs.getdbt.com/reference/artifacts/run-results-json).
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.contracts.elements import text
from domain.contracts.validation.results import (
    MOST_NAMED,
    ContractResult,
    QualityValidation,
    SchemaValidation,
    Status,
)
from domain.errors import InvalidInput, shown

OLDEST = 4
"""The oldest version of the results that is read (dbt 1.0)."""
_VERSION = re.compile(r".*/run-results/v(\d{1,4})(?:\.json)?")
_PASSED = frozenset(("pass", "warn"))
_FAILED = frozenset(("fail", "error", "runtime error"))
_NAMED = 20
"""Tests that the text of a result names."""
_BESIDE = ("semantics", "qualityExpectations", "sla")
"""Promises of a contract of which a run of dbt measures nothing."""


class Run(msgspec.Struct, kw_only=True):
    """A run of dbt."""

    invocation: str
    at: int
    """Milliseconds since 1970."""


class NodeResult(msgspec.Struct, kw_only=True):
    """The result of a model or a test."""

    unique_id: str
    status: str


class _Results(msgspec.Struct):
    metadata: dict[str, Any]
    results: list[msgspec.Raw]


def read_run(data: bytes) -> tuple[Run, Iterator[NodeResult]]:
    """A run, and the results of its nodes one after the other.

    Raises InvalidInput for what are no results of a run, or those of an older version.
    """
    try:
        found = msgspec.json.decode(data, type=_Results)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidInput(f"this is no run_results.json of dbt: {error}") from None
    given = found.metadata.get("dbt_schema_version")
    version = _VERSION.fullmatch(given) if isinstance(given, str) else None
    if version and int(version[1]) < OLDEST:
        raise InvalidInput(f"results of a run must be of version {OLDEST} or later, got {given}")
    invocation, generated = (text(found.metadata, key) for key in ("invocation_id", "generated_at"))
    try:
        moment = datetime.fromisoformat(generated or "")
    except ValueError:
        raise InvalidInput(
            f"metadata.generated_at of run_results.json must be a time, got {shown(generated)}"
        ) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    at = int(moment.timestamp() * 1_000)
    return Run(invocation=invocation or "unknown", at=at), _results(found.results)


def _results(nodes: Sequence[msgspec.Raw]) -> Iterator[NodeResult]:
    for raw in nodes:
        try:
            yield msgspec.json.decode(raw, type=NodeResult)
        except msgspec.ValidationError:
            continue


def result_of(
    contract: Entity, tests: Collection[str], model: str, run: Run, statuses: Mapping[str, str]
) -> ContractResult | None:
    """The result of a run for a contract; None where nothing of the contract was run.

    `tests` are the unique ids of the contract's tests, `model` that of its model; `statuses` has
    the status of each node of the run. A model that was built has all its columns, as dbt compares
    them first. A test that warns has passed, and the result is partial. What was not run, and what
    dbt does not measure, is named as not evaluated, and never makes a success.
    """
    if model not in statuses and not any(each in statuses for each in tests):
        return None
    result = ContractResult(
        timestamp=run.at,
        contract_execution_status="Success",
        data_contract_version=contract.version / 10,
    )
    failed, unmeasured = list[str](), list[str]()
    names = [each["name"] for each in contract.value("schema") or ()]
    status = statuses.get(model)
    if names and status in ("success", "error"):
        lost = names if status == "error" else []
        result.schema_validation = SchemaValidation(
            passed=len(names) - len(lost),
            failed=len(lost),
            total=len(names),
            failed_fields=lost[:MOST_NAMED] or None,
        )
        failed += ["the model"] if lost else []
    elif names:
        unmeasured.append("schema")
    rules = len(contract.value("odcsQualityRules") or ())
    found = {each: statuses.get(each) for each in tests}
    broken = [each for each, status in found.items() if status in _FAILED]
    passed = sum(status in _PASSED for status in found.values())
    if broken or passed:
        result.quality_validation = QualityValidation(
            passed=passed,
            failed=len(broken),
            total=rules,
            quality_score=100 * passed / (passed + len(broken)),
        )
    failed += broken
    if left := rules - passed - len(broken):
        unmeasured.append(f"quality: {left} rule{'' if left == 1 else 's'}")
    unmeasured += [key for key in _BESIDE if contract.value(key)]
    warned = [each for each, status in found.items() if status == "warn"]
    ended: Status = "Failed" if failed else "PartialSuccess" if warned or unmeasured else "Success"
    result.contract_execution_status = ended
    result.result = _text(contract, run, failed, warned, unmeasured)
    return result


def _text(contract: Entity, run: Run, *named: Sequence[str]) -> str:
    parts = [f"version {format_version(contract.version)}", f"dbt run {run.invocation[:100]}"]
    for word, each in zip(("failed", "warned", "not evaluated"), named, strict=True):
        if each:
            more = f" and {len(each) - _NAMED} more" if len(each) > _NAMED else ""
            parts.append(f"{word}: {', '.join(one[:300] for one in each[:_NAMED])}{more}")
    return "; ".join(parts)
