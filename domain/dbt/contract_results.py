"""The result that a contract has of a run of dbt."""

from collections.abc import Collection, Mapping, Sequence

from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.contracts.validation.results import (
    MOST_NAMED,
    ContractResult,
    QualityValidation,
    SchemaValidation,
    Status,
)
from domain.dbt.run_results import Run

_PASSED = frozenset(("pass", "warn"))
_FAILED = frozenset(("fail", "error", "runtime error"))
_NAMED = 20
"""Tests that the text of a result names."""
_BESIDE = ("semantics", "qualityExpectations", "sla")
"""Promises of a contract of which a run of dbt measures nothing."""


def result_of(
    contract: Entity, tests: Collection[str], model: str, run: Run, statuses: Mapping[str, str]
) -> ContractResult | None:
    """The result of a run for a contract; None where nothing of the contract was run.

    `tests` are the unique ids of the contract's tests, `model` that of its model; `statuses` has
    the status of each node of the run. A model that was built has all its columns, as dbt compares
    them first. A test that warns has passed, and the result is partial. Promises whose tests were
    not run, or that dbt does not measure, are named as not evaluated, and never make a success.
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
    test_statuses = {each: statuses.get(each) for each in tests}
    broken = [each for each, status in test_statuses.items() if status in _FAILED]
    passed = sum(status in _PASSED for status in test_statuses.values())
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
    warned = [each for each, status in test_statuses.items() if status == "warn"]
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
