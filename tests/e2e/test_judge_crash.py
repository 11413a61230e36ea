"""A result that was acknowledged comes to a verdict, once, though the server is killed between."""

import os
import random
import re
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from domain.event_store.opening import open_event_log
from domain.events import ContractJudged
from tests.e2e import forked
from tests.e2e.conftest import NO_AUTHORITIES, admin_token
from tests.waiting import until

COLUMNS = [{"name": "id", "dataType": "BIGINT"}]
LONGEST_LIFE = 0.3
"""Seconds that a server lives at most after it has acknowledged a result."""


@contextmanager
def killed(directory: Path) -> Iterator[httpx.Client]:
    """A server that is killed at the end of the block, and a client of it."""
    with open(os.devnull, "w") as nobody:
        process = forked.serve(directory, err=nobody)
    assert process.stdout is not None
    try:
        with process.stdout:
            said = process.stdout.readline()
            address = re.search(r"http://\S+(?=,)", said)
            assert address is not None, said
            headers = {"Authorization": f"Bearer {admin_token(directory)}"}
            with httpx.Client(
                base_url=address[0], headers=headers, timeout=300, verify=NO_AUTHORITIES
            ) as http:
                yield http
                process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait(300)


def made(http: httpx.Client) -> str:
    """Path of a contract whose rules only a reported result can vouch for."""
    answer: Any = None
    for path, body in (
        ("services/databaseServices", {"name": "s", "serviceType": "Mysql"}),
        ("databases", {"name": "d", "service": "s"}),
        ("databaseSchemas", {"name": "e", "database": "s.d"}),
        ("tables", {"name": "t", "databaseSchema": "s.d.e", "columns": COLUMNS}),
    ):
        answer = http.put(f"/v1/{path}", json=body)
        assert answer.status_code == 201, answer.text
    body = {
        "name": "c",
        "entity": {"id": answer.json()["id"], "type": "table"},
        "odcsQualityRules": [{"name": "r", "type": "text", "description": "right"}],
    }
    answer = http.put("/v1/dataContracts", json=body)
    assert answer.status_code == 201, answer.text
    return f"/v1/dataContracts/{answer.json()['id']}"


def verdict(http: httpx.Client, path: str) -> str | None:
    with suppress(httpx.TransportError):
        answer = http.get(path, params={"fields": "verdict"})
        if answer.status_code == 200:
            status: str = answer.json()["verdict"]["status"]
            return status
    return None


def until_verdict(http: httpx.Client, path: str, status: str) -> None:
    until(lambda: verdict(http, path) == status)


@pytest.mark.parametrize("rounds", [4, pytest.param(60, marks=pytest.mark.deep)])
def test_each_acknowledged_result_comes_to_one_verdict(tmp_path: Path, rounds: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    drawn, path, expected = random.Random(seed), "", "PartialSuccess"
    for number in range(rounds):
        with killed(tmp_path) as http:
            path = path or made(http)
            until_verdict(http, path, expected)
            expected = "Failed" if number % 2 else "Success"
            result = {
                "timestamp": int(time.time() * 1_000),
                "contractExecutionStatus": expected,
                "qualityValidation": {"passed": 1, "failed": 0, "total": 1},
            }
            answer = http.put(f"{path}/results", json=result)
            assert answer.status_code == 200, answer.text
            time.sleep(drawn.uniform(0, LONGEST_LIFE))
    with killed(tmp_path) as http:
        until_verdict(http, path, expected)

    with closing(open_event_log(tmp_path / "events.db")) as log:
        stream = [each.event for each in log.stream(path.rpartition("/")[2])]
    judged = [each.verdict for each in stream if isinstance(each, ContractJudged)]
    reported = ["Failed" if number % 2 else "Success" for number in range(rounds)]
    assert judged == ["PartialSuccess", *reported]
