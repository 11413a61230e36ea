"""What the results of runs mean for contracts."""

from typing import Any

import pytest

from domain.aggregate.entity import Entity
from domain.dbt.contract_results import result_of
from domain.dbt.run_results import Run
from domain.events import encode

RUN = Run(invocation="abc", at=1_000)
MODEL = "model.shop.orders"
TESTS = ("test.shop.one", "test.shop.two")


def contract(**body: Any) -> Entity:
    values = {"schema": [{"name": "id"}, {"name": "at"}], "odcsQualityRules": [{}, {}], **body}
    return Entity(
        id="6d8f4a52-8a3c-4a2e-9a60-1d1f6f6f2f11",
        kind="dataContract",
        fqn="a.b.c.d.dataContract_d",
        name="d",
        body={key: encode(value) for key, value in values.items() if value},
        version=12,
        parent_id=None,
        stream_version=3,
        updated_at=1,
        updated_by="ann",
        request_id="r",
    )


def judged(statuses: dict[str, str], **body: Any) -> tuple[str, str]:
    found = result_of(contract(**body), TESTS, MODEL, RUN, statuses)
    assert found is not None
    assert found.timestamp == RUN.at
    assert found.data_contract_version == 1.2
    assert found.result is not None
    return found.contract_execution_status, found.result.removeprefix("version 1.2; dbt run abc")


@pytest.mark.parametrize(
    ("statuses", "status", "text"),
    [
        (("success", "pass", "pass"), "Success", ""),
        (("success", "pass", "warn"), "PartialSuccess", "; warned: test.shop.two"),
        (("success", "pass", "fail"), "Failed", "; failed: test.shop.two"),
        (("success", "error", "warn"), "Failed", "; failed: test.shop.one; warned: test.shop.two"),
        (("success", "pass", "skipped"), "PartialSuccess", "; not evaluated: quality: 1 rule"),
        (("success", "pass", "new word"), "PartialSuccess", "; not evaluated: quality: 1 rule"),
        (
            ("error", "skipped", "skipped"),
            "Failed",
            "; failed: the model; not evaluated: quality: 2 rules",
        ),
        (("skipped", "pass", "pass"), "PartialSuccess", "; not evaluated: schema"),
        ((None, "pass", "pass"), "PartialSuccess", "; not evaluated: schema"),
        (("success", None, None), "PartialSuccess", "; not evaluated: quality: 2 rules"),
    ],
)
def test_run_is_a_result(statuses: tuple[str | None, ...], status: str, text: str) -> None:
    ran = zip((MODEL, *TESTS), statuses, strict=True)

    assert judged({each: found for each, found in ran if found is not None}) == (status, text)


def test_what_dbt_does_not_measure_is_no_success() -> None:
    statuses = {MODEL: "success", **dict.fromkeys(TESTS, "pass")}
    promised = {
        "sla": {"maxLatency": {"value": 1, "unit": "day"}},
        "semantics": [{"name": "a"}],
        "odcsQualityRules": [{}, {}, {"type": "text"}],
    }

    assert judged(statuses, **promised) == (
        "PartialSuccess",
        "; not evaluated: quality: 1 rule, semantics, sla",
    )


def test_run_of_other_nodes_is_no_result() -> None:
    assert result_of(contract(), TESTS, MODEL, RUN, {"model.shop.customers": "success"}) is None
