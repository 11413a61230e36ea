"""The result that a contract has by a reported run."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.contracts.validation.kept_runs import KeptRun, kept_run
from domain.contracts.validation.reported_runs import (
    Check,
    ContractFacts,
    Log,
    ReportedRun,
    result_of,
)
from domain.measurements.bounds import TESTED_BYTES

CONTRACT = ContractFacts(names=frozenset({"orders"}), version=3, document_version="1.0.0")
CHECKS = {
    "passed": Check(category="quality", type="row_count", model="orders", result="passed"),
    "warning": Check(category="quality", type="row_count", model="orders", result="warning"),
    "failed": Check(category="quality", type="row_count", model="orders", result="failed"),
    "error": Check(category="quality", type="row_count", model="orders", result="error"),
    "unrun": Check(category="schema", type="field_type", model="orders"),
    "other": Check(category="quality", type="row_count", model="customers", result="failed"),
    "general": Check(type="general", name="Read", result="failed", reason="no file"),
    "lint": Check(type="lint", name="Valid", result="passed"),
    "sla": Check(category="servicelevel", type="servicelevel_freshness", result="passed"),
}


def run(*names: str, **more: Any) -> ReportedRun:
    checks = [CHECKS[name] for name in names]
    return ReportedRun(
        run_id=UUID(int=1),
        data_contract_id="urn",
        data_contract_version="1.0.0",
        timestamp_end=datetime(2026, 1, 1, tzinfo=UTC),
        checks=checks,
        **more,
    )


@pytest.mark.parametrize(
    ("names", "of_run", "status"),
    [
        ("passed", "passed", "Success"),
        ("passed other", "failed", "Success"),
        ("passed sla", "passed", "Success"),
        ("passed warning", "warning", "PartialSuccess"),
        ("passed warning failed", "failed", "Failed"),
        ("passed failed", "passed", "Failed"),
        ("failed error", "error", "Aborted"),
        ("general unrun", "failed", "Aborted"),
        ("general failed", "failed", "Failed"),
        ("passed unrun", "passed", "PartialSuccess"),
        ("passed", "failed", "Failed"),
        ("passed", "error", "Aborted"),
        ("passed", "unknown", "Aborted"),
        ("", "error", "Aborted"),
        ("", "unknown", "Aborted"),
        ("", "passed", None),
        ("lint", "passed", None),
        ("other", "failed", None),
        ("unrun", "skipped", None),
        ("", "a word of the future", None),
    ],
)
def test_worst_check_of_the_contract_counts(names: str, of_run: str, status: str | None) -> None:
    result = result_of(run(*names.split(), result=of_run), CONTRACT)

    assert (result and result.contract_execution_status) == status


def test_rows_that_were_filtered_out_are_no_success() -> None:
    result = result_of(run("passed", result="passed", filters={"orders": "id > 7"}), CONTRACT)

    assert result is not None
    assert result.contract_execution_status == "PartialSuccess"
    assert result.result == "version 0.3; not evaluated: rows that were filtered out"
    other = result_of(run("passed", result="passed", filters={"customers": "x"}), CONTRACT)
    assert other is not None
    assert other.contract_execution_status == "Success"


def test_rules_that_a_run_has_no_check_of_are_no_success() -> None:
    ruled = msgspec.structs.replace(CONTRACT, rules=3)
    result = result_of(run("passed", "sla", "unrun", result="passed"), ruled)

    assert result is not None
    assert result.contract_execution_status == "PartialSuccess"
    assert result.result == "version 0.3; not evaluated: 1 check, 2 rules"
    whole = result_of(run("passed", "passed", "passed", result="passed"), ruled)
    assert whole is not None
    assert whole.contract_execution_status == "Success"


def test_a_plan_of_a_run_is_no_result() -> None:
    assert result_of(run("passed", result="skipped", dry_run=True), CONTRACT) is None


_texts = st.none() | st.text(max_size=5) | st.sampled_from(["failed", "passed", "error", "orders"])
_checks = st.builds(
    Check,
    type=st.text(max_size=3),
    category=_texts,
    name=_texts,
    model=_texts,
    field=_texts,
    result=_texts,
    reason=_texts | st.just("\x00€" * 3_000),
)


@given(st.lists(_checks, max_size=8), st.integers(1, 200), st.sampled_from(["passed", "failed"]))
def test_any_run_has_a_result_that_counts_its_checks_and_is_kept_in_bounds(
    checks: list[Check], times: int, of_run: str
) -> None:
    given_run = run(result=of_run, logs=[Log(message="\x01" * 2_000)] * 300)
    given_run.checks = checks * times
    result = result_of(given_run, CONTRACT)

    body = kept_run(given_run, CONTRACT.checks_of(given_run), "Success")

    assert len(body) <= TESTED_BYTES
    kept = msgspec.json.decode(body, type=KeptRun)
    assert len(kept.checks) <= 500
    assert len(kept.checks) + kept.omitted == len(CONTRACT.checks_of(given_run))
    if result is not None:
        assert len(result.result or "") <= 20_000
        failed = [each for each in CONTRACT.checks_of(given_run) if each.result == "failed"]
        assert not failed or result.contract_execution_status in ("Failed", "Aborted")
