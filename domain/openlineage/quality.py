"""Assertions of events: test cases of tables, and results of runs."""

from collections.abc import Iterator

from domain.errors import RequestRefused, shown
from domain.event_store.stored import Claim
from domain.kinds.names import child, quote
from domain.kinds.registry import KINDS
from domain.measurements.reports import Point, SystemProfile, TestResult
from domain.openlineage.facets import Told
from domain.openlineage.statements import CheckedAssertion
from domain.write_context import WriteContext
from domain.writing.edge_columns import column_names
from domain.writing.staged_plans import StagedPlans

CASE, DEFINITION = KINDS["testCase"], KINDS["testDefinition"]
DEFINITION_NAME = "openLineageAssertion"
_DEFINED = {
    "name": DEFINITION_NAME,
    "displayName": "Assertion of a pipeline",
    "description": "An assertion that a pipeline has checked itself and told by OpenLineage.",
    "entityType": "TABLE",
    "testPlatforms": ["Other"],
}


def test_case(
    plans: StagedPlans, table: Claim, said: CheckedAssertion, context: WriteContext, told: Told
) -> tuple[str, str] | None:
    """Id and qualified name of the test case of an assertion, which is made if there is none."""
    below, link = table.fqn, f"<#E::table::{table.fqn}>"
    if said.column is not None:
        column = child(table.fqn, said.column)
        if column in column_names(plans.entities.known(table.id)):
            below, link = column, f"<#E::table::{table.fqn}::columns::{said.column}>"
        else:
            told.add(
                f"{table.fqn!r} has no column {shown(said.column)}: its test is one of the table"
            )
    fqn = child(below, said.name)
    claim = plans.log.claim(CASE.name, fqn)
    if claim is not None:
        return None if claim.deleted else (claim.id, claim.fqn)
    try:
        if plans.log.claim(DEFINITION.name, quote(DEFINITION_NAME)) is None:
            plans.stage(plans.planner.create(DEFINITION, _DEFINED, context))
        values = {
            "name": said.name,
            "displayName": said.test,
            "entityLink": link,
            "testDefinition": DEFINITION_NAME,
        }
        plan = plans.planner.put(CASE, values, context)
        plans.stage(plan)
    except RequestRefused as error:
        told.add(f"assertion {shown(said.name)} left out: {error.message}")
        return None
    return plan.own.after.id, plan.own.after.fqn


def result_points(case_id: str, fqn: str, said: CheckedAssertion, at: int) -> Iterator[Point]:
    """The point of a result at the time at which its run has ended."""
    result = TestResult(
        timestamp=at,
        test_case_status="Success" if said.success else "Failed",
        result=said.outcome,
    )
    yield from result.of(case_id, fqn).points()


def written_points(rows: int, at: int) -> Iterator[Point]:
    """The point of rows that a run has written into a table."""
    yield from SystemProfile(timestamp=at, operation="WRITE", rows_affected=rows).points()
