"""The validation of a contract of 13,000 columns, with rules about the entity."""

import json
import statistics
from functools import partial
from typing import Any

import msgspec

from benchmarks.figures import Figure, seconds
from benchmarks.waiting_loops import wait_figure
from benchmarks.workspace import Workspace
from domain.aggregate.entity import Entity
from domain.contracts.validation.results import ContractResult
from domain.contracts.validation.rules import RulesProcess
from domain.contracts.validation.verdict import Evidence, judge

COLUMNS = 13_000
_RULES = 10
_ROUNDS = 15


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """The validation, and how long the event loop waits beside it."""
    return figures_of(COLUMNS, _ROUNDS)


def figures_of(columns: int, rounds: int) -> list[Figure]:
    """The figures for a contract of so many columns."""
    made = [{"name": f"column_{n}", "dataType": "VARCHAR", "dataLength": n} for n in range(columns)]
    table = _entity("table", {"columns": made, "description": "Wide."})
    text = json.dumps({"name": "wide", "description": "Wide.", "columns": made}).encode()
    rule = {"name": "described", "rule": '{"!!": {"var": "description"}}', "enabled": True}
    contract = _entity("dataContract", {"schema": made, "semantics": [rule] * _RULES})
    evidence = Evidence(entity=table, entity_json=text)

    def work() -> ContractResult:
        with RulesProcess() as process:
            return judge(contract, evidence, 1_700_000_000_000, process, strict=False)

    assert work().contract_execution_status == "Success"
    median = statistics.median(seconds(work) for _ in range(rounds))
    read = statistics.median(seconds(partial(json.loads, text)) for _ in range(rounds))
    return [
        Figure(
            what=f"validate a contract of {columns:,} columns and {_RULES} rules",
            measured=f"{median * 1_000:.1f} ms",
            yardstick=f"{read * 1_000:.1f} ms (json reads the table)",
            ratio=median / read,
        ),
        wait_figure(work, median, rounds, "it"),
    ]


def _entity(kind: str, values: dict[str, Any]) -> Entity:
    return Entity(
        id="01890000-0000-7000-8000-000000000000",
        kind=kind,
        name="wide",
        fqn="wide",
        parent_id=None,
        body={key: msgspec.Raw(msgspec.json.encode(value)) for key, value in values.items()},
        version=1,
        stream_version=1,
        updated_at=1,
        updated_by="me",
        request_id="r",
    )
