"""Requests that official clients were recorded to send are answered as they were then."""

import json
from pathlib import Path

import pytest

from tests.api.conftest import Client

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))
"""For each client its requests, in order, with the statuses of their answers."""


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_recorded_client_is_answered(empty: Client, file: Path) -> None:
    requests = json.loads(file.read_text())
    assert len(requests) >= 5
    for request in requests:
        body = request["body"]
        response = empty.request(request["method"], "/mcp", json=body, headers=request["headers"])
        assert response.status_code == request["status"]
        if response.status_code != 200:
            continue
        answer = response.json()
        assert answer["id"] == body["id"]
        asks_for_nothing = body.get("params", {}).get("name") == "nothing"
        assert ("error" in answer) is asks_for_nothing
