"""Bodies of an attacker: bytes that are no text inside of facets, which nobody reads before."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, RunFilled
from tests.api.openlineage.captured import edge, run_event, shop

_NO_TEXT = b"\xff\xfe"


def sent(client: Client, event: Any, *, batch: bool = False) -> Any:
    """The answer to an event in which bytes that are no text stand for the word `broken`."""
    path = "/api/v1/lineage/batch" if batch else "/api/v1/lineage"
    body = json.dumps(event).encode().replace(b"broken", _NO_TEXT)
    headers = {"Content-Type": "application/json"}
    response = client.request("POST", path, content=body, headers=headers, role="bot")
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize(
    ("facets", "told"),
    [
        ({"documentation": {"description": "broken"}}, ["facet documentation left out"]),
        ({"documentation": {"_deleted": "broken"}}, []),
        ({"broken": {}}, ["facets left out"]),
        ({"columnLineage": {"fields": {"broken": {}}}}, ["facet columnLineage left out"]),
    ],
)
def test_bytes_that_are_no_text_leave_a_facet_out(
    tmp_path: Path, run_filled: RunFilled, facets: Any, told: list[str]
) -> None:
    broken = run_event(reads=("orders",), writes=("daily_revenue",))
    broken["outputs"][0]["facets"] = facets
    other = run_event(run="other", reads=("raw_orders",), writes=("stg_orders",))
    with shop(run_filled, tmp_path) as client:
        answer = sent(client, broken)
        assert answer["edges"] == 1
        assert [each.split(": ")[1] for each in answer["ignored"]] == told
        assert sent(client, [broken, other], batch=True)["status"] == "success"
        assert edge(client, "raw_orders", "stg_orders")


@pytest.mark.parametrize("path", ["/api/v1/lineage", "/api/v1/lineage/batch"])
@pytest.mark.parametrize("value", [b"1", b"{}"])
def test_body_of_very_many_values_is_refused(
    tmp_path: Path, run_filled: RunFilled, path: str, value: bytes
) -> None:
    body = b"[" + b",".join([value] * 1_600_000) + b"]"
    headers = {"Content-Type": "application/json"}
    with shop(run_filled, tmp_path) as client:
        answer = client.request("POST", path, content=body, headers=headers, role="bot")
    assert answer.status_code == 400
    assert answer.json()["message"] == "a body may have 1,500,000 commas and opening brackets"
