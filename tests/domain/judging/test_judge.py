"""The judge over a real log and real measurements: when it judges, and what it finds."""

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.contracts.validation.results import ContractResult, QualityValidation
from domain.contracts.validation.rules import RulesProcess
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.events import ContractBreaking, ContractJudged
from domain.judging.judge import Judge
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS
from domain.measurements.bounds import Bounds
from domain.measurements.opening import measurements_at
from domain.measurements.port import Measurements
from domain.measurements.reports import RESULT, SYSTEM, Point
from domain.write_context import WriteContext
from domain.writing.documents import DocumentRequest, plan_document

ME = WriteContext(actor="me", request_id="request")
NOW = 1_700_000_000_000
HOUR = 3_600_000
COLUMNS = [{"name": "id", "dataType": "BIGINT"}, {"name": "at", "dataType": "TIMESTAMP"}]
CONTRACT, TABLE = KINDS["dataContract"], KINDS["table"]


class World:
    """A table, whoever writes contracts about it, and the judge with a clock that stands."""

    def __init__(self, log: EventStore, measurements: Measurements) -> None:
        self.log, self.measurements, self.now = log, measurements, NOW
        self.catalog = DirectCatalog(log, now=lambda: self.now)
        create = partial(self.catalog.create, context=ME)
        create(KINDS["databaseService"], {"name": "s", "serviceType": "Mysql"})
        create(KINDS["database"], {"name": "d", "service": "s"})
        create(KINDS["databaseSchema"], {"name": "e", "database": "s.d"})
        made = create(TABLE, {"name": "t", "databaseSchema": "s.d.e", "columns": COLUMNS})
        self.table = made.entity.id
        self.judge = self.another_judge()

    def another_judge(self) -> Judge:
        return Judge(self.log, self.measurements, now=lambda: self.now)

    def contract(self, **body: Any) -> str:
        about = {"id": self.table, "type": "table"}
        values = {"name": "c", "entity": about, "schema": COLUMNS, **body}
        return self.catalog.create(CONTRACT, values, ME).entity.id

    def another_contract(self, name: str) -> str:
        """A contract about a table of its own."""
        values = {"name": name, "databaseSchema": "s.d.e", "columns": COLUMNS}
        table = self.catalog.create(TABLE, values, ME).entity.id
        about = {"id": table, "type": "table"}
        body = {"name": name, "entity": about, "schema": COLUMNS}
        return self.catalog.create(CONTRACT, body, ME).entity.id

    def give(self, document: dict[str, Any]) -> str:
        """A contract by a document."""
        about = Reference(type="table", id=self.table)
        request = DocumentRequest(document=document, entity=about)
        plan = partial(plan_document, self.catalog.planner, request, ME)
        return self.catalog.write(ME, plan).entity.id

    def patch(self, entity_id: str, *operations: dict[str, Any], kind: Any = CONTRACT) -> None:
        self.catalog.patch(kind, entity_id, operations, ME)

    def judge_all(self) -> None:
        while self.judge.step():
            pass

    def remarks(self, contract_id: str) -> list[Any]:
        events = (each.event for each in self.log.stream(contract_id))
        return [each for each in events if isinstance(each, ContractJudged | ContractBreaking)]

    def verdicts(self, contract_id: str) -> list[tuple[int, str]]:
        return [
            (each.version, each.verdict)
            for each in self.remarks(contract_id)
            if isinstance(each, ContractJudged)
        ]

    def report(
        self, contract_id: str, status: Any, *, version: float = 0.1, at: int = 0, failed: int = 0
    ) -> None:
        result = ContractResult(
            timestamp=self.now - 1_000 + at,
            contract_execution_status=status,
            data_contract_version=version,
            quality_validation=QualityValidation(passed=1, failed=failed, total=1 + failed),
        )
        point = Point(RESULT, "", result.timestamp, msgspec.json.encode(result))
        self.measurements.write(contract_id, [point], self.now)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    bounds = Bounds(days=30, most_bytes=1_000_000)
    with (
        closing(open_event_log(str(tmp_path / "events.db"))) as log,
        closing(measurements_at(tmp_path, None, bounds)) as measurements,
    ):
        yield World(log, measurements)


def test_new_contract_is_judged_and_keeps_version_author_and_tag(world: World) -> None:
    contract = world.contract()
    before = world.catalog.planner.live(CONTRACT, contract)
    world.judge_all()
    after = world.catalog.planner.live(CONTRACT, contract)

    (judged,) = world.remarks(contract)
    assert (judged.verdict, judged.reasons) == ("Success", "version 0.1")
    assert judged.position <= world.log.head() - 1
    same = ("version", "updated_at", "updated_by", "request_id", "last_change", "body")
    assert [getattr(before, key) for key in same] == [getattr(after, key) for key in same]
    assert after.last_event == f"{before.last_event}.1"


def test_nothing_is_stored_where_nothing_new_is_found(world: World) -> None:
    contract = world.contract()
    world.judge_all()
    world.patch(world.table, {"op": "add", "path": "/description", "value": "x"}, kind=TABLE)
    world.judge_all()
    assert world.verdicts(contract) == [(1, "Success")]
    assert world.judge.step() == 0


def test_judge_that_forgot_how_far_it_looked_stores_nothing_twice(world: World) -> None:
    contract = world.contract()
    world.judge_all()
    head = world.log.head()
    world.log.reaction("judge").settle(0, {})
    world.judge = world.another_judge()
    world.judge_all()
    assert (world.verdicts(contract), world.log.head()) == ([(1, "Success")], head)


def test_table_that_loses_a_column_fails_its_contract(world: World) -> None:
    contract = world.contract()
    world.judge_all()
    world.patch(world.table, {"op": "remove", "path": "/columns/1"}, kind=TABLE)
    world.judge_all()
    assert world.verdicts(contract) == [(1, "Success"), (1, "Failed")]
    assert "failed: 1 column" in world.remarks(contract)[-1].reasons


def test_reported_result_is_judged_and_does_not_vouch_for_another_version(world: World) -> None:
    rules = [{"name": "r", "type": "text", "description": "no duplicates"}]
    contract = world.contract(odcsQualityRules=rules)
    world.judge_all()
    world.report(contract, "Success")
    world.judge_all()
    world.patch(contract, {"op": "add", "path": "/description", "value": "x"})
    world.judge_all()
    world.report(contract, "Failed", version=0.2, at=1)
    world.judge_all()
    world.measurements.delete(contract, RESULT)
    world.judge_all()
    assert world.verdicts(contract) == [
        (1, "PartialSuccess"),
        (1, "Success"),
        (2, "PartialSuccess"),
        (2, "Failed"),
        (2, "PartialSuccess"),
    ]


def test_time_alone_changes_a_verdict_at_its_moment(world: World) -> None:
    refreshed = [Point(SYSTEM, "INSERT", NOW - HOUR, b"{}")]
    world.measurements.write(world.table, refreshed, NOW)
    promised = {"refreshFrequency": {"interval": 2, "unit": "hour"}}
    contract = world.contract(sla=promised)
    world.judge_all()
    (judged,) = world.remarks(contract)
    assert (judged.verdict, judged.valid_until) == ("Success", NOW + HOUR + 1)

    world.now = judged.valid_until - 1
    assert world.judge.step() == 0
    world.now = judged.valid_until
    world.judge_all()
    assert world.verdicts(contract) == [(1, "Success"), (1, "Failed")]
    assert world.remarks(contract)[-1].valid_until is None


def test_contract_out_of_its_time_is_unknown(world: World) -> None:
    contract = world.contract(
        effectiveFrom="2024-01-01T00:00:00Z", effectiveUntil="2024-02-01T00:00:00Z"
    )
    world.judge_all()
    world.now = world.remarks(contract)[-1].valid_until
    world.judge_all()
    world.now = world.remarks(contract)[-1].valid_until
    world.judge_all()
    assert world.verdicts(contract) == [(1, "Unknown"), (1, "Success"), (1, "Unknown")]


def test_break_of_an_active_contract_is_told_once(world: World) -> None:
    contract = world.contract(entityStatus="Active")
    world.judge_all()
    world.patch(contract, {"op": "remove", "path": "/schema/1"})
    world.patch(contract, {"op": "add", "path": "/description", "value": "x"})
    world.judge_all()
    world.log.reaction("judge").settle(0, {})
    world.judge = world.another_judge()
    world.judge_all()
    broken = [each for each in world.remarks(contract) if isinstance(each, ContractBreaking)]
    (only,) = broken
    assert (only.before, only.version, only.total, only.actor) == (1, 3, 1, "me")
    assert only.bump == "major"
    assert [each["rule"] for each in only.changes] == ["column.removed"]
    assert world.verdicts(contract) == [(1, "Success"), (3, "Success")]


def test_change_of_a_draft_breaks_nobody(world: World) -> None:
    contract = world.contract()
    world.patch(contract, {"op": "remove", "path": "/schema/1"})
    world.judge_all()
    assert [type(each) for each in world.remarks(contract)] == [ContractJudged]


def test_contract_that_is_deleted_is_left_alone_until_it_is_restored(world: World) -> None:
    contract = world.contract()
    world.judge_all()
    world.catalog.delete(CONTRACT, contract, ME, hard=False, recursive=False)
    world.judge_all()
    assert world.log.reaction("judge").watching([world.table]) == []
    assert world.verdicts(contract) == [(1, "Success")]
    world.catalog.restore(CONTRACT, contract, ME)
    world.judge_all()
    assert world.log.reaction("judge").watching([world.table]) == [contract]
    assert world.verdicts(contract) == [(1, "Success"), (3, "Success")]


def test_writer_that_was_first_is_judged_instead(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = world.contract()
    append, raced = world.log.append_group, []

    def second(*given: Any, **more: Any) -> Any:
        if not raced:
            raced.append(True)
            monkeypatch.undo()
            world.patch(contract, {"op": "add", "path": "/description", "value": "x"})
        return append(*given, **more)

    monkeypatch.setattr(world.log, "append_group", second)
    world.judge_all()
    assert world.verdicts(contract) == [(2, "Success")]


def test_contracts_for_which_a_step_has_no_time_are_judged_by_later_ones(
    world: World,
) -> None:
    contracts = [world.contract(), *(world.another_contract(f"t{n}") for n in range(3))]
    world.judge = Judge(world.log, world.measurements, now=lambda: world.now, step_seconds=0)
    world.judge.step()
    assert [len(world.verdicts(each)) for each in contracts] == [1, 0, 0, 0]
    world.judge_all()
    assert [world.verdicts(each) for each in contracts] == [[(1, "Success")]] * 4


FAR = {"refreshFrequency": {"interval": 2**63 - 1, "unit": "year"}}


def test_deadline_beyond_all_times_keeps_no_other_contract_from_being_judged(
    world: World,
) -> None:
    refreshed = [Point(SYSTEM, "INSERT", NOW - HOUR, b"{}")]
    world.measurements.write(world.table, refreshed, NOW)
    contract = world.contract(sla=FAR)
    other = world.another_contract("other")
    world.judge_all()
    (judged,) = world.remarks(contract)
    assert (judged.verdict, judged.valid_until) == ("Success", None)
    assert world.verdicts(other) == [(1, "Success")]


def test_contract_that_cannot_be_judged_is_unknown_and_the_others_are_judged(
    world: World,
) -> None:
    contract, other = world.contract(), world.another_contract("other")
    world.judge_all()
    world.measurements.write(contract, [Point(RESULT, "", NOW, b"[]")], NOW)
    world.report(other, "Failed")
    world.judge_all()
    assert world.verdicts(contract) == [(1, "Success"), (1, "Unknown")]
    assert world.verdicts(other) == [(1, "Success"), (1, "Failed")]


def test_report_counts_behind_any_number_of_the_catalogs_own_results(world: World) -> None:
    contract = world.contract()
    world.report(contract, "Failed")
    own = ContractResult(timestamp=NOW, contract_execution_status="Success", by_catalog=True)
    body = msgspec.json.encode(own)
    world.measurements.write(
        contract, [Point(RESULT, "", NOW - each, body) for each in range(200)], NOW
    )
    world.judge_all()
    assert world.verdicts(contract) == [(1, "Failed")]


def test_what_lies_in_the_future_counts_once_its_time_has_come(world: World) -> None:
    contract = world.contract()
    world.report(contract, "Failed", at=HOUR)
    world.report(contract, "Success")
    world.judge_all()
    (judged,) = world.remarks(contract)
    comes = NOW - 1_000 + HOUR
    assert (judged.verdict, judged.valid_until) == ("Success", comes)
    world.now = comes
    world.judge_all()
    assert world.verdicts(contract) == [(1, "Success"), (1, "Failed")]


def test_refresh_of_the_future_keeps_no_deadline(world: World) -> None:
    world.measurements.write(world.table, [Point(SYSTEM, "INSERT", NOW - 3 * HOUR, b"{}")], NOW)
    far = {"created": {"timestamp": NOW + 10**12}, "updated": {"timestamp": NOW + HOUR}}
    world.patch(world.table, {"op": "add", "path": "/lifeCycle", "value": far}, kind=TABLE)
    contract = world.contract(sla={"refreshFrequency": {"interval": 2, "unit": "hour"}})
    world.judge_all()
    (judged,) = world.remarks(contract)
    assert (judged.verdict, judged.valid_until) == ("Failed", NOW + HOUR)


def test_test_case_that_is_deleted_is_no_longer_measured(world: World) -> None:
    definition = world.catalog.create(
        KINDS["testDefinition"],
        {"name": "rows", "entityType": "TABLE", "testPlatforms": ["OpenMetadata"]},
        ME,
    )
    body = {
        "name": "case",
        "entityLink": "<#E::table::s.d.e.t>",
        "testDefinition": definition.entity.fqn,
    }
    case = world.catalog.create(KINDS["testCase"], body, ME).entity.id
    passed = b'{"timestamp":%d,"testCaseStatus":"Success"}' % NOW
    world.measurements.write(case, [Point(RESULT, "", NOW, passed)], NOW)
    contract = world.contract(qualityExpectations=[{"id": case, "type": "testCase"}])
    world.judge_all()
    world.catalog.delete(KINDS["testCase"], case, ME, hard=False, recursive=False)
    world.judge_all()
    assert world.verdicts(contract) == [(1, "Success"), (1, "PartialSuccess")]
    assert "not evaluated: quality: 1 test" in world.remarks(contract)[-1].reasons


def test_success_in_which_something_failed_has_failed(world: World) -> None:
    contract = world.contract()
    world.report(contract, "Success", failed=2)
    world.judge_all()
    (judged,) = world.remarks(contract)
    assert (judged.verdict, judged.reasons) == ("Failed", "version 0.1; failed: reported: 2 tests")


def test_report_vouches_for_as_many_rules_as_it_has_measured(world: World) -> None:
    rules = [{"name": name, "type": "text", "description": "x"} for name in "abc"]
    contract = world.contract(odcsQualityRules=rules)
    world.report(contract, "Success")
    world.judge_all()
    (judged,) = world.remarks(contract)
    assert judged.verdict == "PartialSuccess"
    assert judged.reasons == "version 0.1; not evaluated: quality: 2 rules"


@pytest.mark.parametrize(
    ("levels", "unmeasured"),
    [
        ([{"property": "frequency", "value": 5, "unit": "minutes"}], "frequency"),
        ([{"property": "latency", "value": 1.5, "unit": "h"}], "latency"),
        ([{"property": "throughput", "value": 4, "unit": "h"}], "throughput"),
        ([{"property": "latency", "value": 1, "unit": "h"}] * 2, "latency, sla: latency"),
        ([{"value": 4}], "slaProperties"),
        (["latency"], "slaProperties"),
        ({"latency": 4}, "slaProperties"),
    ],
)
def test_service_level_that_cannot_be_read_is_not_measured(
    world: World, levels: Any, unmeasured: str
) -> None:
    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "c",
        "version": "1.0.0",
        "status": "active",
        "schema": [{"name": "t", "properties": [{"name": "id"}]}],
        "slaProperties": levels,
    }
    contract = world.give(document)
    world.judge_all()
    (judged,) = world.remarks(contract)
    assert judged.verdict == "PartialSuccess"
    assert judged.reasons == f"version 0.1; not evaluated: sla: {unmeasured}"


def test_contract_whose_rules_take_long_lets_the_others_go_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RulesProcess, "seconds", RulesProcess.seconds / 2)
    pair = [{"var": "accumulator"}, {"var": "accumulator"}]
    beyond = json.dumps({"cat": [{"reduce": [list(range(200)), pair, 1]}]})
    rules = [{"name": "r", "description": "", "rule": beyond, "enabled": True}]
    slow, quick = world.contract(semantics=rules), world.another_contract("quick")
    world.judge = Judge(world.log, world.measurements, now=lambda: world.now, step_seconds=0)
    world.judge_all()
    for each in (slow, quick):
        world.patch(each, {"op": "add", "path": "/description", "value": "x"})
    world.judge.step()
    assert [len(world.verdicts(each)) for each in (slow, quick)] == [1, 2]
    world.now += 10_000
    world.judge_all()
    assert [world.verdicts(each)[-1] for each in (slow, quick)] == [(2, "Failed"), (2, "Success")]


def test_breaks_are_told_alike_whether_histories_are_read_again_or_not(world: World) -> None:
    contracts = [world.contract(entityStatus="Active")]
    told = []
    for remembers in (True, False):
        contract = contracts[0] if remembers else world.another_contract("twin")
        if not remembers:
            active = {"op": "add", "path": "/entityStatus", "value": "Active"}
            world.patch(contract, active)
        judge = world.judge
        for path, value in (
            ("/schema/1", None),
            ("/description", "text"),
            ("/entityStatus", "Deprecated"),
            ("/schema/0/dataType", "TEXT"),
            ("/entityStatus", "Active"),
            ("/schema/0/dataType", "BOOLEAN"),
        ):
            while judge.step():
                pass
            if not remembers:
                judge = world.another_judge()
            operation = {"op": "remove", "path": path}
            if value is not None:
                operation = {"op": "add", "path": path, "value": value}
            world.patch(contract, operation)
        while judge.step():
            pass
        broken = [each for each in world.remarks(contract) if isinstance(each, ContractBreaking)]
        told.append([([one["rule"] for one in each.changes], each.total) for each in broken])
    assert told[0] == told[1]
    assert len(told[0]) > 1


def test_constraints_are_promises_that_the_table_declares_or_a_run_vouches_for(
    world: World,
) -> None:
    columns = [{**COLUMNS[0], "constraint": "NOT_NULL"}, COLUMNS[1]]
    contract = world.contract(schema=columns)
    world.judge_all()
    (judged,) = world.remarks(contract)
    told = "version 0.1; not evaluated: schema: 1 constraint"
    assert (judged.verdict, judged.reasons) == ("PartialSuccess", told)
    world.report(contract, "Success")
    world.judge_all()
    assert world.verdicts(contract)[-1] == (1, "Success")
    another = world.another_contract("other")
    path = {"op": "add", "path": "/schema/0/constraint", "value": "NOT_NULL"}
    world.patch(another, path)
    table = world.catalog.planner.live(CONTRACT, another).parent_id
    assert table is not None
    declared = {"op": "add", "path": "/columns/0/constraint", "value": "PRIMARY_KEY"}
    world.patch(table, declared, kind=TABLE)
    world.judge_all()
    assert world.verdicts(another)[-1] == (2, "Success")
